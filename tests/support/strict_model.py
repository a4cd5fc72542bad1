"""A model server's side of a long session: it refuses what a provider would, and looks whether all is still there."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from tests.support.model_replies import Answer, Hang, Recorded, Reply, Status
from tests.support.strict_protocols import PROBLEMS
from tests.support.wire_entries import PARTS, entries, head

_TOKEN = re.compile(r" ?[A-Za-z]{1,7}|\d{1,3}|\s+|[^\sA-Za-z\d]{1,2}")
_SEALS = {
    "anthropic_messages": re.compile(r'"signature": "signature-(\d+)="'),
    "codex_responses": re.compile(r'"encrypted_content": "sealed-(\d+)"'),
}
_BY_ENTRY = 4
_AFTER_UNDO = 2


@lru_cache(maxsize=20_000)
def tokens_of(text: str) -> int:
    """The server's own way to count, which the program does not know."""
    return _BY_ENTRY + sum(1 for _ in _TOKEN.finditer(text))


@lru_cache(maxsize=20_000)
def words_of(entry: str) -> str:
    """All texts of a part of a request, as a model reads them."""
    return "\n".join(_leaves(json.loads(entry)))


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _leaves(inner)


@dataclass
class StrictModel:
    """Answers with what was planned, and notes what is wrong with a request.

    Attributes:
        window: tokens that fit with the answer.
        summaries: what is answered in turn where a summary is asked for.
        active: what the person said last: there word for word, while a turn runs.
        facts: what has to be in every request.
        gone: what must be in none.
        problems: what was wrong with requests.
        breaks: how often a request did not begin with the whole of the one before, by conversation.
        seals: sealed blocks that came back.
        largest: tokens of the largest request.
    """

    protocol: str
    window: int
    summaries: tuple[Reply, ...]
    active: str = ""
    facts: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    breaks: dict[str, int] = field(default_factory=dict)
    seals: int = 0
    largest: int = 0
    asked: int = 0
    summed: int = 0
    _plan: deque[Reply | Hang] = field(default_factory=deque)
    _conversation: str = ""
    _last: dict[str, tuple[str, list[str]]] = field(default_factory=dict)
    _sealed: dict[int, list[str]] = field(default_factory=dict)
    _is_undone: bool = False

    def plan(self, active: str, replies: Iterable[Reply | Hang]) -> None:
        """What the person says next, and what is answered to it."""
        self.active = active
        self._plan.extend(replies)

    @property
    def planned(self) -> int:
        """Answers that nobody has asked for yet."""
        return len(self._plan)

    def talks(self, conversation: str, *, like: str = "") -> None:
        """The next requests belong to this conversation; a new one may begin as another has gone so far."""
        self._conversation = conversation
        if like:
            self._last[conversation] = self._last[like]

    def undone(self) -> None:
        """The next request lacks the end of the one before."""
        self._is_undone = True

    def answer(self, request: Recorded) -> Answer:
        """The answer to a request."""
        if b'"tools"' not in request.raw:
            self.summed += 1
            return self.summaries[self.summed % len(self.summaries)]
        self.asked += 1
        before, part = len(self.problems), PARTS[self.protocol]
        beginning, said = head(request.body, part), entries(request.body, part)
        counted = tokens_of(beginning) + sum(map(tokens_of, said))
        self.largest = max(self.largest, counted)
        reserved = request.body.get("max_tokens") or request.body.get("max_output_tokens") or 0
        if counted + reserved > self.window:
            self._note(request, f"{counted} + {reserved} tokens do not fit {self.window}")
            message = f"prompt is too long: {counted} tokens > {self.window} maximum"
            return Status(400, {"error": {"message": message, "type": "invalid_request_error"}})
        for problem in PROBLEMS[self.protocol](request.body):
            self._note(request, problem)
        self._look_at_seals(request, said)
        self._look_at_beginning(request, beginning, said)
        self._look_at_facts(request, said)
        if len(self.problems) > before:
            return Status(400, {"error": {"message": self.problems[-1], "type": "invalid_request_error"}})
        self._sealed[request.number] = said
        planned = self._plan.popleft() if self._plan else Reply("Nothing more.")
        if isinstance(planned, Hang):
            return planned
        seal = f"sealed-{request.number}" if planned.reasoning else ""
        usage = replace(planned.usage, prompt=counted) if planned.usage is not None else None
        return replace(planned, usage=usage, sealed_reasoning=seal)

    def _note(self, request: Recorded, problem: str) -> None:
        self.problems.append(f"request {request.number}, at «{self.active[:40]}»: {problem}")

    def _look_at_seals(self, request: Recorded, said: list[str]) -> None:
        """What was sealed belongs to the very conversation that it was sealed for."""
        if self.protocol not in _SEALS:
            return
        for position, entry in enumerate(said):
            if (found := _SEALS[self.protocol].search(entry)) is None:
                continue
            self.seals += 1
            covered = self._sealed[int(found[1])]
            if said[: len(covered)] != covered or position < len(covered):
                self._note(request, f"what was sealed in {found[1]} stands behind another beginning")

    def _look_at_beginning(self, request: Recorded, beginning: str, said: list[str]) -> None:
        last = self._last.get(self._conversation)
        self._last[self._conversation] = beginning, said
        is_undone, self._is_undone = self._is_undone, False
        if last is None:
            return
        if beginning != last[0]:
            self._note(request, "system prompt or tools have changed")
        known = last[1]
        if is_undone:
            known = known[: max(len(said) - _AFTER_UNDO, 0)]
        if said[: len(known)] != known:
            self.breaks[self._conversation] = self.breaks.get(self._conversation, 0) + 1

    def _look_at_facts(self, request: Recorded, said: list[str]) -> None:
        text = "\n".join(map(words_of, said))
        for fact in (self.active, *self.facts):
            if fact not in text:
                self._note(request, f"«{fact}» is not there")
        for text_gone in self.gone:
            if text_gone in text:
                self._note(request, f"«{text_gone}» is there")
