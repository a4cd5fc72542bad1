"""What the model was sent is what is stored: every message, in order, as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.model.invariants.stored import stored_of

if TYPE_CHECKING:
    from tests.model.lived import Lived, Turn
    from tests.model.world import World


def check_sent(world: World, session: Lived, turn: Turn) -> None:
    """The last request of a turn that is over, against what is stored now.

    Raises:
        AssertionError: the model saw something else, or was asked with another model's name than was chosen.
    """
    assert not world.model.problems, world.model.problems
    requests = world.model.requests(turn.name)
    if not requests or turn.end == "killed":
        return
    asked = {body["model"] for body in requests}
    assert asked == {session.model.partition(":")[2]}, f"{turn.name} asked {asked}, chosen was {session.model}"
    sent = [_plain(message) for message in requests[-1]["messages"] if message["role"] != "system"]
    stored = [_plain(message) for message in stored_of(world, session)]
    for number, (one, other) in enumerate(zip(sent, stored, strict=False)):
        assert one == other, f"message {number} of {turn.name}'s last request: {one}, stored: {other}"
    assert len(sent) <= len(stored), f"the model was sent what is not stored: {sent[len(stored) :]}"
    if turn.end == "whole" and session.turns[-1] is turn:
        assert len(stored) == len(sent) + 1, f"stored behind the last request: {stored[len(sent) :]}"


def _plain(message: Any) -> tuple[str, str, tuple[str, ...], str]:
    calls = tuple(f"{call['id']} {call['function']['arguments']}" for call in message.get("tool_calls") or ())
    return message["role"], message.get("content") or "", calls, message.get("tool_call_id", "")
