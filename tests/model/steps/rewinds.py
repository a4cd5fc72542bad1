"""Turns are taken back and brought again, with their files; what the person has written meanwhile stays."""

from __future__ import annotations

from tests.model.calls import PATHS
from tests.model.invariants.files import on_disk
from tests.model.lived import Lived
from tests.model.person import Person
from tests.model.world import World


async def undo(world: World, session: Lived) -> None:
    """`/undo` or `/rewind N`."""
    count = world.chance.choice((1, 1, 2, 3))
    text = "/undo" if count == 1 else f"/rewind {count}"
    world.did(f"undo: {text} in {session.id}")
    person = world.person(is_careful=True)
    had = bool(session.real_turns)
    _, said = await world.command(session, text, person)
    if not had:
        assert "nothing to undo" in said, said
        return
    assert "taken back" in said, said
    gone = session.undo(count)
    wanted = {path: content for turn in gone for path, content in turn.before.items()}
    _settle(session, wanted, person)


async def redo(world: World, session: Lived) -> None:
    """`/redo`."""
    world.did(f"redo: in {session.id}")
    person = world.person(is_careful=True)
    had = bool(session.undone)
    _, said = await world.command(session, "/redo", person)
    if not had:
        assert "nothing to redo" in said, said
        return
    assert "brought back" in said, said
    wanted = {path: content for turn in session.redo() for path, content in turn.after.items()}
    _settle(session, wanted, person)


async def foreign(world: World, session: Lived) -> None:
    """The person writes a file."""
    path = world.chance.choice(PATHS)
    world.did(f"person writes: {path} in {session.cwd.name}")
    content = f"written by hand {len(world.acts)}\n"
    place = session.cwd / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(content, encoding="utf-8")
    session.files[path] = content
    session.foreign.add(path)


def _settle(session: Lived, wanted: dict[str, str | None], person: Person) -> None:
    """Each file is as it was wanted; one that the person has written stays where they did not say yes."""
    found = on_disk(session.cwd)
    said_yes = any(answer.startswith("allow_") for answer in person.answers.values())
    for path, content in wanted.items():
        before = session.files.get(path)
        possible = {content} if path not in session.foreign else ({content, before} if said_yes else {before})
        if path not in session.foreign and person.answers:
            possible |= {before}
        assert found.get(path) in possible, f"{path} holds {found.get(path)!r}, not one of {possible!r}"
        if found.get(path) != before:
            session.foreign.discard(path)
        session.files.pop(path, None)
        if path in found:
            session.files[path] = found[path]
