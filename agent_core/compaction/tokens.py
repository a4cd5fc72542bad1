"""How many tokens a request will be: what servers have counted, and an estimate for the rest."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

from agent_core.messages import Message, Part
from agent_core.model_request.history_filter import Omissions, has_images
from agent_core.providers.base import ModelRequest, Usage
from agent_core.providers.choice import ModelChoice, ServedWindow
from tools.light_dataclass import dataclass

# About how many tokens a text, a message or a tool's definition is, without a tokenizer.
# Tokenizers of today agree on what is cheap (common words with their space) and what is dear (digits, odd signs,
# other scripts than Latin). So each sign adds a weight that depends on its class and on that of the sign before it.
# The weights were fitted once to two public vocabularies (o200k and cl100k) over code and prose in several languages,
# JSON, logs, diffs and random text; `tests/data/tokens/README.md` says how.

_NAMES = "lUdstnpxgraiycwf"
"""Small and capital letters, digits, spaces, tabs, line ends, punctuation; by their first byte of UTF-8: other Latin,
Greek and the like, Cyrillic, Semitic, Indic and Thai, typographic signs, Chinese with Japanese and Korean, full-width
signs, and what is beyond, as emoji."""

_LEADS = (
    (0xF0, "f"), (0xEE, "w"), (0xE3, "c"), (0xE1, "y"), (0xE0, "i"), (0xD4, "a"), (0xD0, "r"), (0xC6, "g"),
    (0xC0, "x"),
)  # fmt: skip
# In 64ths of a token: a row for the class of the sign before, a column for the sign's own, both as in `_NAMES`.
_WEIGHTS = bytes.fromhex(
    "00 2d 25 21 36 3c 1d 5c 2e 20 25 2e 40 40 43 cd"  # l
    "23 09 58 00 32 40 23 6f 2c 20 25 2e 41 37 41 cd"  # U
    "70 ab 04 00 34 45 1c 59 2c 20 25 2e 40 37 40 cd"  # d
    "22 25 73 04 37 25 2d 82 2b 00 2a 2e 3e 32 40 c9"  # s
    "00 16 05 08 2d 1d 27 5a 2c 20 25 2e 40 37 40 cd"  # t
    "3a 54 00 42 2f 0b 38 59 2c 1e 25 2e 40 38 40 cd"  # n
    "41 0b 82 1f 3e 05 19 57 2d 33 26 2f 41 42 41 cd"  # p
    "3e 0d 01 0d 31 1d 0d 52 2d 20 25 2e 41 37 40 cd"  # x
    "0d 0e 02 00 31 1d 11 5a 2b 20 25 2e 40 36 40 cd"  # g
    "0c 0e 02 00 31 23 01 5a 2c 1b 25 2e 40 36 40 cd"  # r
    "0c 0e 02 05 31 1d 11 5a 2c 20 22 2e 40 36 40 cd"  # a
    "0c 0e 02 00 31 1d 11 5a 2c 20 25 2e 40 36 40 cd"  # i
    "0d 0e 02 00 31 1e 13 5a 2c 20 25 2e 46 37 40 cd"  # y
    "0d 0f 02 05 31 2d 03 5a 2c 20 25 2e 41 37 4b cd"  # c
    "0c 0e 02 01 31 1d 15 5a 2c 20 25 2e 40 3f 42 cd"  # w
    "0c 0e 02 00 31 1d 0f 5a 2c 20 25 2e 3f 36 3f cd"  # f
)
_UNIT = 64


def _class_of(byte: int) -> str:
    if byte >= 0xC0:  # noqa: PLR2004 - the first byte of a longer sign
        return next(name for first, name in _LEADS if byte >= first)
    sign = chr(byte)
    if sign.isascii() and sign.isalpha():
        return "l" if sign.islower() else "U"
    if sign.isascii() and sign.isdigit():
        return "d"
    return {" ": "s", "\t": "t", "\n": "n", "\r": "n"}.get(sign, "p")


_CLASSES = bytes(_NAMES.index(_class_of(byte)) for byte in range(256))
_CONTINUATIONS = bytes(range(0x80, 0xC0))
_BEGINNING = bytes([_NAMES.index("n")])

_LONG, _WINDOWS, _WINDOW = 2_400, 4, 400
_PER_MESSAGE, _PER_CALL, _PER_RESULT, _PER_TOOL = 4, 9, 8, 8
# Of attachments servers count pixels, pages and seconds: about as much as usual ones have.
_IMAGE, _AUDIO_BYTES, _PAGE_BYTES, _PAGE, _MOST_ATTACHMENT = 1_200, 1_500, 40_000, 2_000, 100_000


def text_tokens(text: str) -> float:
    """About the tokens of a text; of a long one some pieces are looked at."""
    size = len(text)
    if size <= _LONG:
        return _counted(text)
    step = (size - _WINDOW) // (_WINDOWS - 1)
    pieces = "\n".join(text[start : start + _WINDOW] for start in range(0, step * _WINDOWS, step))
    return _counted(pieces) * size / len(pieces)


def message_tokens(message: Message, text: Callable[[str], float] = text_tokens) -> float:
    """About the tokens of a message with all that is sent of it.

    Args:
        text: counts a text; `text_tokens`, or what remembers its answers.
    """
    content = message["content"]
    total: float = _PER_RESULT if message["role"] == "tool" else _PER_MESSAGE
    if isinstance(content, str):
        total += text(content)
    elif content:
        total += sum(_part_tokens(part, text) for part in content)
    for call in message.get("tool_calls", ()):
        total += _PER_CALL + text(call["function"]["arguments"])
    if "sealed" in message:
        # What is sealed goes back with its reasoning; servers count the reasoning.
        total += text(message.get("reasoning", ""))
    return total


def tools_tokens(tools: Sequence[Mapping[str, Any]], text: Callable[[str], float] = text_tokens) -> float:
    """About the tokens of tool definitions."""
    return sum(_PER_TOOL + text(json.dumps(tool, ensure_ascii=False)) for tool in tools)


def _counted(text: str) -> float:
    raw = text.encode("utf-8", "surrogatepass")
    classes = raw.translate(_CLASSES, b"" if len(raw) == len(text) else _CONTINUATIONS)
    if not classes:
        return 0.0
    # Each class has four bits: as one long number, the signs and the signs before them make a byte a pair.
    before = int.from_bytes(_BEGINNING + classes[:-1])
    pairs = (before << 4 | int.from_bytes(classes)).to_bytes(len(classes))
    return max(sum(pairs.translate(_WEIGHTS)) / _UNIT, 1.0)


def _part_tokens(part: Part, text: Callable[[str], float]) -> float:
    match part["type"]:
        case "text":
            return text(part["text"])
        case "image_url":
            return _IMAGE
        case "input_audio":
            return min(len(part["input_audio"]["data"]) * 3 / 4 / _AUDIO_BYTES, _MOST_ATTACHMENT)
        case "file":
            pages = math.ceil(len(part["file"]["file_data"]) * 3 / 4 / _PAGE_BYTES)
            return min(_PAGE * max(pages, 1), _MOST_ATTACHMENT)


# What a model's server has counted, and an estimate for what came since.

_LEAST, _MOST = 0.25, 4.0
"""Times the estimate that a server's count may be; what is beyond is no count of the request."""

_REMEMBERED_TEXTS = 8_192


@dataclass(frozen=True, slots=True)
class _Counted:
    """The last request to a model, as its server has counted it; `ratio`: how many tokens one of the estimate is."""

    messages: tuple[Message, ...]
    tools: tuple[Mapping[str, Any], ...]
    tokens: int
    ratio: float


@dataclass(slots=True)
class TokenMeter:
    """Counts tokens for one session, and learns from what the servers report. Used on one thread.

    What a model's server has counted holds for the messages that it has counted; only what came since is estimated,
    times the ratio of its counts to our estimates. Models differ, so each has a ratio of its own; one that was not
    asked yet has 1.
    """

    _counted: dict[str, _Counted] = field(default_factory=dict)
    _texts: dict[str, float] = field(default_factory=dict)

    def tokens(self, model: str, request: ModelRequest) -> int:
        """The tokens of a request to `model` (provider:model): messages, system prompt and tools."""
        known = self._counted.get(model)
        if known is not None and _extends(request, known):
            return known.tokens + math.ceil(known.ratio * self._sum(request.messages[len(known.messages) :]))
        return math.ceil(self._ratio(model) * self.estimate(request))

    def fixed(self, model: str, system: str, tools: Sequence[Mapping[str, Any]]) -> int:
        """The tokens of system prompt and tools: what is there without any message."""
        return self.measure(model)([{"role": "system", "content": system}]) + self.measure_tools(model, tools)

    def measure(self, model: str) -> Callable[[Sequence[Message]], int]:
        """What counts tokens of messages as `model` would."""
        ratio = self._ratio(model)
        return lambda messages: math.ceil(ratio * self._sum(messages))

    def measure_tools(self, model: str, tools: Sequence[Mapping[str, Any]]) -> int:
        """The tokens of tool definitions as `model` would count them."""
        return math.ceil(self._ratio(model) * tools_tokens(tools, self._text))

    def learn(self, model: str, request: ModelRequest, usage: Usage) -> None:
        """What the server says that `request` was. A count that cannot be is passed over."""
        last, estimate = self._counted.get(model), self.estimate(request)
        least = last.tokens if last is not None and _extends(request, last) else 0
        # Some servers report 0, some only what their cache did not have: with the cached part it may be the whole.
        cached = (usage.cached_tokens or 0) + (usage.written_tokens or 0)
        for count in (_count(usage), (usage.input_tokens or 0) + cached):
            if _LEAST * estimate <= count <= _MOST * estimate and count >= least:
                self._counted[model] = _Counted(
                    tuple(request.messages), tuple(request.tools), count, count / max(estimate, 1.0)
                )
                return

    def forget(self, model: str) -> None:
        """What was learnt of a model's counts was wrong: its server has not read all of the requests."""
        self._counted.pop(model, None)

    def estimate(self, request: ModelRequest) -> float:
        """The tokens of a request, as far as its text tells: without what counts have taught."""
        return tools_tokens(request.tools, self._text) + self._sum(request.messages)

    def _ratio(self, model: str) -> float:
        known = self._counted.get(model)
        return 1.0 if known is None else known.ratio

    def _sum(self, messages: Sequence[Message]) -> float:
        return sum(message_tokens(message, self._text) for message in messages)

    def _text(self, text: str) -> float:
        known = self._texts.get(text)
        if known is None:
            if len(self._texts) >= _REMEMBERED_TEXTS:
                self._texts.clear()
            known = self._texts[text] = text_tokens(text)
        return known


def _extends(request: ModelRequest, known: _Counted) -> bool:
    return _begins_with(request.messages, known.messages) and tuple(request.tools) == known.tools


def _begins_with(messages: Sequence[Message], beginning: tuple[Message, ...]) -> bool:
    return tuple(messages[: len(beginning)]) == beginning


# Notices a server that silently cuts prompts to its window: it counts far fewer tokens than it was sent.
# Counts are not to be trusted blindly: estimates err, some servers leave out what their cache had, and images count
# differently everywhere. So only what nothing else explains is called cut.

_LEAST_COUNT, _LEAST_SENT = 512, 3_000
_ESTIMATE_ERRS, _FITS = 1.1, 1.02
_FAR_FEWER = 0.5
_SAME, _GREW = 16, 500


@dataclass(slots=True)
class CutPrompts:
    """What a session has seen of its servers' counts.

    Attributes:
        is_cut: the server has read only a part of the last request.
        told: the person knows; once a session is enough.
    """

    is_cut: bool = False
    told: bool = False
    _sent: float = 0.0
    _count: int = 0
    _before: dict[str, tuple[tuple[Message, ...], int]] = field(default_factory=dict)

    def counted(self, choice: ModelChoice, request: ModelRequest, usage: Usage, sent: float) -> None:
        """A request has its answer; `sent` is the estimate of all of it."""
        messages = tuple(request.messages)
        before, count = self._before.get(choice.name), _count(usage)
        self._before[choice.name] = messages, count
        self._sent, self._count = sent, count
        self.is_cut = (
            count >= _LEAST_COUNT
            and sent >= _LEAST_SENT
            and not has_images(messages, Omissions())
            and self._is_too_few(messages, before, choice.context_length)
        )

    def _is_too_few(
        self, messages: tuple[Message, ...], before: tuple[tuple[Message, ...], int] | None, window: int | None
    ) -> bool:
        if window is not None and self._count <= _FITS * window and self._sent > _ESTIMATE_ERRS * window:
            return True
        if before is None:
            # Of a session that goes on in a new process, the server may still have everything.
            known, last = 1 if len(messages) <= 2 else len(messages), -math.inf  # noqa: PLR2004 - the prompt alone
        elif _begins_with(messages, before[0]):
            known, last = len(before[0]), before[1]
        else:
            return False
        new = sum(map(message_tokens, messages[known:]))  # what the server cannot have had in its cache
        as_before = abs(self._count - last) <= _SAME and new >= _GREW
        return as_before or self._count < _FAR_FEWER * new

    def words(self, choice: ModelChoice, served: ServedWindow | None) -> str:
        """A message to the person about the last request, with what to type."""
        from agent_core.providers.model_windows import advice  # noqa: PLC0415 - few servers cut

        self.told = True
        window = choice.context_length
        its = f"its window of {window:,} tokens" if window else "its window"
        known = served if served is not None and served.kind else ServedWindow(choice.provider)
        return (
            f"{choice.endpoint} has read only {self._count:,} of about {round(self._sent, -2):,.0f} tokens: it cuts "
            f"what does not fit into {its}, without saying so, and {choice.model} does not know what was in there. "
            f"{advice(known, choice.model, round(self._sent))}"
        )


def _count(usage: Usage) -> int:
    """What a server has counted; 0 where it has not."""
    given = usage.input_tokens or 0
    cached = (usage.cached_tokens or 0) + (usage.written_tokens or 0)
    # More from the cache than there was in all: it stands beside.
    return given + cached if cached > given else given
