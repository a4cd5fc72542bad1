"""How many tokens a request will be: what its model's server has counted, and an estimate for what came since."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

from agent_core.context.estimate import message_tokens, text_tokens, texts_tokens, tools_tokens
from agent_core.messages import Message
from agent_core.providers.base import ModelRequest, Usage
from tools.light_dataclass import dataclass

_LEAST, _MOST = 0.25, 4.0
"""Times the estimate that a server's count may be; what is beyond is no count of the request."""

_REMEMBERED_TEXTS = 8_192
_SHORT = 48


_AT_FIRST, _FADING = 3_000.0, 0.8
"""The first request counts as so many tokens of what came later; each later one makes the earlier ones count less."""


@dataclass(frozen=True, slots=True)
class _Learnt:
    """What the requests to a model have told.

    Attributes:
        messages, tools, tokens: the last request, as its server has counted it.
        ratio: how many tokens one of the estimate is.
        beside: tokens that no estimate knows of: what the server itself adds.
        counted, estimated: of what came between requests.
    """

    messages: tuple[Message, ...]
    tools: tuple[Mapping[str, Any], ...]
    tokens: int
    ratio: float
    beside: float
    counted: float
    estimated: float


@dataclass(slots=True)
class TokenMeter:
    """Counts tokens for one session, and learns from what the servers report. Used on one thread.

    What a model's server has counted holds for the messages that it has counted; only what came since is estimated,
    times the ratio of its counts to our estimates. Models differ, so each has a ratio of its own; one that was not
    asked yet has 1.
    """

    _learnt: dict[str, _Learnt] = field(default_factory=dict)
    _texts: dict[str, float] = field(default_factory=dict)
    _tools: tuple[tuple[Mapping[str, Any], ...], float] = ((), 0.0)
    _first: tuple[tuple[Message, ...], float] = ((), 0.0)
    _summed: tuple[tuple[Message, ...], float] = ((), 0.0)

    def tokens(self, model: str, request: ModelRequest) -> int:
        """The tokens of a request to `model` (provider:model): messages, system prompt and tools."""
        known = self._learnt.get(model)
        if known is None:
            return math.ceil(self._estimate(request))
        if not _extends(request, known):
            return math.ceil(known.beside + known.ratio * self._estimate(request))
        return known.tokens + math.ceil(known.ratio * self._sum(request.messages[len(known.messages) :]))

    def fixed(self, model: str, system: str, tools: Sequence[Mapping[str, Any]]) -> int:
        """The tokens of system prompt and tools, and of what the server adds: what is there without any message."""
        known = self._learnt.get(model)
        words = message_tokens({"role": "system", "content": system}, self._text) + self._of_tools(tools)
        return math.ceil(words if known is None else max(0.0, known.beside + known.ratio * words))

    def measure(self, model: str) -> Callable[[Sequence[Message]], int]:
        """What counts tokens of messages as `model` would."""
        known = self._learnt.get(model)
        ratio = 1.0 if known is None else known.ratio
        return lambda messages: math.ceil(ratio * self._sum(messages))

    def measure_tools(self, model: str, tools: Sequence[Mapping[str, Any]]) -> int:
        """The tokens of tool definitions as `model` would count them."""
        known = self._learnt.get(model)
        return math.ceil((1.0 if known is None else known.ratio) * tools_tokens(tools))

    def learn(self, model: str, request: ModelRequest, usage: Usage) -> None:
        """What the server says that `request` was. A count that cannot be is passed over."""
        last = self._learnt.get(model)
        before = last if last is not None and _extends(request, last) else None
        estimate = self._estimate(request)
        count = _plausible(usage, estimate, 0 if before is None else before.tokens)
        if count is None:
            return
        if last is None:
            counted, estimated = count * _AT_FIRST / max(estimate, 1.0), _AT_FIRST
        elif before is None:
            counted, estimated = last.counted, last.estimated
        else:
            counted = _FADING * before.counted + (count - before.tokens)
            estimated = _FADING * before.estimated + self._sum(request.messages[len(before.messages) :])
        ratio = min(max(counted / estimated, _LEAST), _MOST)
        beside = count - ratio * estimate
        self._learnt[model] = _Learnt(
            tuple(request.messages), tuple(request.tools), count, ratio, beside, counted, estimated
        )

    def forget(self, model: str) -> None:
        """What was learnt of a model's counts was wrong: its server has not read all of the requests."""
        self._learnt.pop(model, None)

    def estimate(self, request: ModelRequest) -> float:
        """The tokens of a request, as far as its text tells: without what counts have taught."""
        return self._estimate(request)

    def _estimate(self, request: ModelRequest) -> float:
        return self._of_tools(request.tools) + self._of_messages(tuple(request.messages))

    def _of_messages(self, messages: tuple[Message, ...]) -> float:
        # The system prompt apart: it may change, and what follows it stays.
        if self._first[0] != messages[:1]:
            self._first = messages[:1], self._sum(messages[:1])
        return self._first[1] + self._of_rest(messages[1:])

    def _of_rest(self, messages: tuple[Message, ...]) -> float:
        # Each request adds to the one before: only what is new is counted.
        known, total = self._summed
        if known and messages[: len(known)] == known:
            total += self._sum(messages[len(known) :])
        else:
            total = _sum_of_unknown(messages)
        self._summed = (messages, total)
        return total

    def _sum(self, messages: Sequence[Message]) -> float:
        text = self._text
        return sum(message_tokens(message, text) for message in messages)

    def _of_tools(self, tools: Sequence[Mapping[str, Any]]) -> float:
        # They are the same all session long.
        if self._tools[0] != tuple(tools):
            self._tools = (tuple(tools), tools_tokens(tools))
        return self._tools[1]

    def _text(self, text: str) -> float:
        if len(text) < _SHORT:
            return text_tokens(text)
        known = self._texts.get(text)
        if known is None:
            if len(self._texts) >= _REMEMBERED_TEXTS:
                self._texts.clear()
            known = self._texts[text] = text_tokens(text)
        return known


def _sum_of_unknown(messages: Sequence[Message]) -> float:
    """The tokens of messages of which nothing is remembered: a conversation that was just read, as a rule."""
    texts: list[str] = []

    def later(text: str) -> float:
        texts.append(text)
        return 0.0

    beside = sum(message_tokens(message, later) for message in messages)
    return beside + texts_tokens(texts)


def _extends(request: ModelRequest, known: _Learnt) -> bool:
    count = len(known.messages)
    same = len(request.messages) >= count and tuple(request.messages[:count]) == known.messages
    return same and tuple(request.tools) == known.tools


def _plausible(usage: Usage, estimate: float, least: int) -> int | None:
    """The count of a request; None where what was reported cannot be one.

    Some servers report 0, some only what their cache did not have: with the cached part it may be the whole.
    """
    given = usage.input_tokens or 0
    beside = (usage.cached_tokens or 0) + (usage.written_tokens or 0)
    # More from the cache than there was in all: it stands beside.
    found = (given + beside,) if beside > given else (given, given + beside)
    return next((count for count in found if _LEAST * estimate <= count <= _MOST * estimate and count >= least), None)
