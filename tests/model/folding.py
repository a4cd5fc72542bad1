"""From what was answered and shown of a turn to what its files must be now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.model.calls import Behind, Call, Serve
from tests.model.invariants.files import on_disk
from tests.model.lived import Lived, changed
from tests.model.world import Running, World
from tests.support.editor_frames import merged_cards

_UNKNOWN = "What it did so far is unknown"


def fold_whole(world: World, running: Running) -> None:
    """Take in a turn that came to its end: each call was asked about, done and shown exactly as it had to be."""
    session, turn, kept = running.session, running.turn, _kept(world, running.session)
    cards, before = merged_cards(turn.updates), dict(session.files)
    for call_id, call in turn.calls():
        is_possible = _is_possible(world, running, call_id, call)
        is_done = _allowed(running, call_id, call, kept, is_possible=is_possible)
        card = cards.get(call_id)
        assert card is not None, f"the call {call_id} was not shown"
        after = call.after(session.files) if is_done else None
        wanted = "completed" if after is not None else "failed"
        assert card["status"] == wanted, f"{call_id} is {card['status']}, not {wanted}: {call}, {card}"
        if after is not None:
            _changes(session, call, after)
            session.behind += isinstance(call, Behind)
    _note_changes(running, before)


def fold_cut(world: World, running: Running) -> None:
    """Take in a turn that was cut off: nothing was done without a yes, and what is shown as done is done."""
    session, turn, kept = running.session, running.turn, _kept(world, running.session)
    cards, before = merged_cards(turn.updates), dict(session.files)
    disk = on_disk(session.cwd)
    possible: dict[str, list[str | None]] = {path: [content] for path, content in before.items()}
    states = dict(before)
    for call_id, call in turn.calls():
        card = cards.get(call_id, {"status": "unseen"})
        is_allowed = _allowed(running, call_id, call, kept)
        if isinstance(call, Behind) and card["status"] != "unseen" and turn.end != "killed":
            session.behind += card["status"] == "completed"
            session.may_be_behind += card["status"] != "completed"
        assert is_allowed or card["status"] != "completed", f"{call_id} was done without a yes: {card}"
        if card["status"] == "failed" and _UNKNOWN not in str(card.get("content")) and turn.end == "cancelled":
            continue
        after = call.after(states) if is_allowed else None
        if after is None:
            assert card["status"] != "completed", f"{call_id} cannot have been done: {card}"
            continue
        is_there = call.path not in after or after[call.path] == disk.get(call.path)
        contents = possible.setdefault(call.path, [None])
        if card["status"] == "completed":
            contents.clear()
        if call.path or contents:
            contents.append(after.get(call.path))
        if card["status"] == "completed" or is_there:
            states = dict(after)
    for path in {*possible, *disk} - {""}:
        allowed = possible.get(path, [None])
        assert disk.get(path) in allowed, f"{path} of {turn.name} holds {disk.get(path)!r}, not one of {allowed!r}"
    session.files = disk
    session.foreign -= {path for path in before if disk.get(path) != before[path]}
    _note_changes(running, before)


def _is_possible(world: World, running: Running, call_id: str, call: Call) -> bool:
    """Whether a call of a whole turn can be done as things are now. A server may come up after the first request."""
    if isinstance(call, Serve) and not world.model.offered(running.turn.name, int(call_id.split("-")[1]), call.path):
        return False
    return call.after(running.session.files) is not None


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


def _changes(session: Lived, call: Call, after: Mapping[str, str]) -> None:
    if dict(after) != session.files:
        session.foreign.discard(call.path)
    session.files = dict(after)


def _note_changes(running: Running, before: Mapping[str, str]) -> None:
    now: dict[str, Any] = running.session.files
    running.turn.after = dict(changed(before, now))
    running.turn.before = {path: before.get(path) for path in running.turn.after}
