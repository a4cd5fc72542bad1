"""The person before one turn: answers its questions in every way there is, and keeps what was answered."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field
from typing import Any

_ONCE = {"allow_once": 8, "reject_once": 3, "cancelled": 1, "rubbish": 1, "no option": 1}
_LASTING = {"allow_session": 3, "allow_directory": 2, "allow_kept": 1, "reject_always": 1}
_NO_OPTIONS = ("cancelled", "rubbish", "no option")


@dataclass(slots=True)
class Person:
    """Whoever is asked in a turn.

    Attributes:
        is_careful: gives no answer that reaches further than the call; for turns that may be cut off while one is on
            its way.
        silent_from: questions before they do not answer any more; None for never.
        answers: what was answered, by the call's id; '' is none.
        is_asked: set once a question stays without an answer.
    """

    chance: random.Random
    is_careful: bool = False
    silent_from: int | None = None
    answers: dict[str, str] = field(default_factory=dict)
    is_asked: asyncio.Event = field(default_factory=asyncio.Event)

    async def decide(self, params: dict[str, Any]) -> str | dict[str, Any] | None:
        """An `OnPermission` for `Editor`."""
        call = str(params["toolCall"]["toolCallId"])
        assert call not in self.answers, f"asked twice about {call}"
        if self.silent_from is not None and len(self.answers) >= self.silent_from:
            self.answers[call] = ""
            self.silent_from = None
            self.is_asked.set()
            return None
        offered = {str(option["optionId"]) for option in params["options"]}
        ways = _ONCE if self.is_careful else _ONCE | _LASTING
        possible = [way for way in ways if way in offered or way in _NO_OPTIONS]
        way = self.chance.choices(possible, [ways[each] for each in possible])[0]
        self.answers[call] = way
        match way:
            case "rubbish":
                return {"outcome": {"outcome": "maybe", "optionId": 7}}
            case "no option":
                return {"outcome": {"outcome": "selected", "optionId": f"{call}-unheard-of"}}
        return way
