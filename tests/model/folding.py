"""From what was answered and shown of a turn to what its files must be now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.model.calls import Behind, Call, Remove, Serve
from tests.model.ground import Ground
from tests.model.invariants.files import on_disk
from tests.model.invariants.shown import in_editors_terminal
from tests.model.lived import Lived, changed
from tests.model.world import Running, World
from tests.support.editor_frames import merged_cards

_UNKNOWN = "What it did so far is unknown"


def fold_whole(world: World, running: Running) -> None:
    """Take in a turn that came to its end: each call was asked about, done and shown exactly as it had to be."""
    session, turn, kept = running.session, running.turn, _kept(world, running.session)
    cards, ground = merged_cards(turn.updates), session.ground
    for call_id, call in turn.calls():
        is_possible = _is_possible(world, running, ground, call_id, call)
        is_done = _allowed(running, call_id, call, kept, is_possible=is_possible)
        card = cards.get(call_id)
        assert card is not None, f"the call {call_id} was not shown"
        if running.typed is not None and running.typed.call_id == call_id:
            # What the person has agreed to is not what is there any more.
            ground, is_done = running.typed.on(ground), False
            session.foreign |= {call.path} if running.typed.is_saved else set()
        after = ground.after(call) if is_done else None
        wanted = "completed" if after is not None else "failed"
        assert card["status"] == wanted, f"{call_id} is {card['status']}, not {wanted}: {call}, {card}"
        if after is None:
            continue
        if after is not ground:
            session.foreign.discard(call.path)
        ground = after
        session.behind += isinstance(call, Behind)
        if isinstance(call, Remove):
            assert in_editors_terminal(card) == session.terminals, f"{call_id} did not run where it should: {card}"
    session.files, session.unsaved = dict(ground.files), dict(ground.unsaved)
    turn.after = {path: text for path, text in ground.made.items() if text != ground.was[path]}
    turn.before = {path: ground.was[path] for path in turn.after}


def fold_cut(world: World, running: Running) -> None:
    """Take in a turn that was cut off: nothing was done without a yes, and what is shown as done is done."""
    session, turn, kept = running.session, running.turn, _kept(world, running.session)
    cards, before = merged_cards(turn.updates), dict(session.files)
    disk, ground = on_disk(session.cwd), session.ground
    possible: dict[str, list[str | None]] = {path: [content] for path, content in before.items()}
    for call_id, call in turn.calls():
        card = cards.get(call_id, {"status": "unseen"})
        is_allowed = _allowed(running, call_id, call, kept)
        if isinstance(call, Behind) and card["status"] != "unseen" and turn.end != "killed":
            session.behind += card["status"] == "completed"
            session.may_be_behind += card["status"] != "completed"
        assert is_allowed or card["status"] != "completed", f"{call_id} was done without a yes: {card}"
        if card["status"] == "failed" and _UNKNOWN not in str(card.get("content")) and turn.end == "cancelled":
            continue
        after = ground.after(call) if is_allowed else None
        if after is None:
            assert card["status"] != "completed", f"{call_id} cannot have been done: {card}"
            continue
        is_there = call.path not in after.files or after.files[call.path] == disk.get(call.path)
        contents = possible.setdefault(call.path, [None])
        if card["status"] == "completed":
            contents.clear()
        if call.path or contents:
            contents.append(after.files.get(call.path))
        if card["status"] == "completed" or is_there:
            ground = after
    for path in {*possible, *disk} - {""}:
        allowed = possible.get(path, [None])
        assert disk.get(path) in allowed, f"{path} of {turn.name} holds {disk.get(path)!r}, not one of {allowed!r}"
    session.files = disk
    session.foreign -= {path for path in before if disk.get(path) != before[path]}
    turn.after = dict(changed(before, disk))
    turn.before = {path: ground.was.get(path, before.get(path)) for path in turn.after}
    _take_unsaved(world, session, possible)


def _is_possible(world: World, running: Running, ground: Ground, call_id: str, call: Call) -> bool:
    """Whether a call of a whole turn can be done as things are now. A server may come up after the first request."""
    if isinstance(call, Serve) and not world.model.offered(running.turn.name, int(call_id.split("-")[1]), call.path):
        return False
    return ground.after(call) is not None


def _allowed(
    running: Running, call_id: str, call: Call, kept: set[tuple[str, str]], *, is_possible: bool | None = None
) -> bool:
    """Whether a call may be done.

    Args:
        is_possible: whether it can be, in a whole turn: then it was asked about where it has to be, and only there.
    """
    session, answers = running.session, running.person.answers
    if running.switch is not None and running.switch[0] == call_id:
        session.mode = running.switch[1]
    if is_possible is False:
        assert call_id not in answers, f"{call_id} was asked about, which cannot be done: {call}"
        return False
    verdict = session.verdict(call, kept)
    if verdict != "asks":
        assert call_id not in answers, f"{call_id} was asked about, though it {verdict}: {call}"
        return verdict == "runs"
    answer = answers.get(call_id)
    if answer is None:
        card = merged_cards(running.turn.updates).get(call_id)
        assert is_possible is None, (
            f"{call_id} was not asked about: {call}, mode {session.mode}, {session.edits}: {card}"
        )
        return False
    return session.answered(call, answer, kept)


def _kept(world: World, session: Lived) -> set[tuple[str, str]]:
    return world.kept.setdefault(session.cwd, set())


def _take_unsaved(world: World, session: Lived, possible: Mapping[str, Sequence[str | None]]) -> None:
    """After a turn that was cut off: what was not saved still is not, or is what a call has written there."""
    for path, text in list(session.unsaved.items()):
        now = world.process.files.buffers[str(session.cwd / path)]
        assert now == text or now in possible[path], f"unsaved {text!r} of {path} has become {now!r}"
        if now != text:
            del session.unsaved[path]
