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
    wanted = {path: content for turn in gone.turns for path, content in turn.before.items()}
    was_foreign, gone.files = set(session.foreign), _settle(session, wanted, person)
    gone.foreign = was_foreign & gone.files.keys()


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
    back = session.redo()
    session.foreign |= back.foreign & _settle(session, back.files, person).keys()


async def foreign(world: World, session: Lived) -> None:
    """The person writes a file."""
    path = world.chance.choice([path for path in PATHS if path not in session.unsaved] or PATHS)
    world.did(f"person writes: {path} in {session.cwd.name}")
    _keeps(world, session, path, f"written by hand {len(world.acts)}\n")


async def types(world: World, session: Lived) -> None:
    """The person changes a file in the editor, and does not save it."""
    if not session.files:
        return
    path = world.chance.choice(sorted(session.files))
    world.did(f"person types: {path} in {session.cwd.name}")
    session.unsaved[path] = f"typed {len(world.acts)}\n"
    world.types(session, path, session.unsaved[path], is_saved=False)


async def saves(world: World, session: Lived) -> None:
    """The person saves what is unsaved, or throws it away."""
    for path, text in list(session.unsaved.items()):
        is_saved = world.chance.random() < 0.6
        world.did(f"person {'saves' if is_saved else 'discards'}: {path} in {session.cwd.name}")
        if is_saved:
            _keeps(world, session, path, text)
        del session.unsaved[path]


def _keeps(world: World, session: Lived, path: str, text: str) -> None:
    world.types(session, path, text, is_saved=True)
    session.files[path] = text
    session.foreign.add(path)


def _settle(session: Lived, wanted: dict[str, str | None], person: Person) -> dict[str, str | None]:
    """Each file is as it was wanted; one that the person has written stays where they did not say yes.

    Returns:
        of those that were changed, what was in them.
    """
    found, replaced = on_disk(session.cwd), dict[str, str | None]()
    said_yes = any(answer.startswith("allow_") for answer in person.answers.values())
    for path, content in wanted.items():
        before = session.files.get(path)
        if path in session.unsaved and before is not None:
            assert found.get(path) == before, f"{path} was changed under what is unsaved: {found.get(path)!r}"
            continue
        possible = {content} if path not in session.foreign else ({content, before} if said_yes else {before})
        if path not in session.foreign and person.answers:
            possible |= {before}
        assert found.get(path) in possible, f"{path} holds {found.get(path)!r}, not one of {possible!r}"
        if found.get(path) != before:
            session.foreign.discard(path)
            replaced[path] = before
        session.files.pop(path, None)
        if path in found:
            session.files[path] = found[path]
    return replaced
