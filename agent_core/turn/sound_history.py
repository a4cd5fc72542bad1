"""A session's history as every server takes it, from turn to turn: each message is looked at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from agent_core.messages import Message, repaired, unanswered
from tools.light_dataclass import dataclass


@dataclass(slots=True)
class SoundHistory:
    """Takes a session's messages up when a turn begins. Used by one turn at a time."""

    _sound: list[Message] = field(default_factory=list)

    def take_up(self, messages: Sequence[Message], call_ids: set[str]) -> list[Message]:
        """The messages, repaired; a list of one's own.

        Args:
            call_ids: gets the ids of the calls in messages that were not seen before.
        """
        known = len(self._sound)
        if list(messages[:known]) != self._sound:
            known = 0
        # Those that are known themselves, where they were read anew: what was made of them is found by them.
        whole = repaired([*self._sound[:known], *messages[known:]], known)
        self._sound = [] if unanswered(whole) else whole.copy()
        call_ids.update(call["id"] for message in whole[known:] for call in message.get("tool_calls", ()))
        return whole
