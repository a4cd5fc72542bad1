"""A turn's dealings with memory: what is recalled for its prompt, what the provider is told at its end."""

from __future__ import annotations

from agent_core.callbacks import Status
from agent_core.memory.session_memory import SessionMemory
from agent_core.messages import Content, text_of
from agent_core.turn.turn import Turn


class TurnMemory:
    """The memory of a session as one turn uses it; all of it does nothing where there is none."""

    def __init__(self, memory: SessionMemory | None, turn: Turn, prompt: Content) -> None:
        """Begin to recall, in the background."""
        self._memory = memory
        self._turn = turn
        self._prompt = text_of(prompt)
        if memory is not None:
            memory.begin_turn(self._prompt)

    def beside(self, note: str) -> str:
        """What the model is told beside the prompt: `note`, and what was recalled by now."""
        if self._memory is None:
            return note
        recalled = self._memory.recalled(self._turn.token)
        self._tell()
        return "\n\n".join(part for part in (recalled, note) if part)

    def over(self, answer: str) -> None:
        """The turn has come to its end."""
        if self._memory is not None:
            self._memory.end_turn(self._prompt, answer)
            self._tell()

    def _tell(self) -> None:
        listener = self._turn.callbacks.status_callback
        if self._memory is None or listener is None:
            return
        for text in self._memory.warnings():
            listener(Status("memory", text))
