"""What the agent tells of its turns; without tracing, nothing is loaded for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from agent_core.callbacks import AgentCallbacks
    from agent_core.turn.turn import Turn


class TurnTrace(Protocol):
    """The trace of one turn."""

    def heard(self, callbacks: AgentCallbacks) -> AgentCallbacks:
        """The listeners, which are heard here too."""
        ...

    def end(self, turn: Turn | None, outcome: str, failure: Exception | None) -> None:
        """The turn is over; `turn` is None where it could not begin, `failure` is what ended it, if something did."""
        ...


class SessionTrace(Protocol):
    """Traces the turns of one session."""

    def begin(self, session_id: str, turn_id: str) -> TurnTrace:
        """A turn begins."""
        ...

    def of_sub_agent(self) -> SessionTrace:
        """The same for a sub-agent that works for the turn that runs now."""
        ...


class NoTrace:
    """Nobody collects traces."""

    def heard(self, callbacks: AgentCallbacks) -> AgentCallbacks:
        """The listeners as they are."""
        return callbacks

    def end(self, turn: Turn | None, outcome: str, failure: Exception | None) -> None:
        """Nothing."""


def begin_trace(tracing: SessionTrace | None, session_id: str, turn_id: str) -> TurnTrace:
    """The trace of a turn that begins."""
    return NoTrace() if tracing is None else tracing.begin(session_id, turn_id)
