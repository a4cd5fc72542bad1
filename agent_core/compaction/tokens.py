"""How many tokens a request will be: what servers have counted, and an estimate for the rest."""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

from agent_core.messages import Message, Part
from agent_core.providers.base import ModelRequest, Usage
from agent_core.providers.choice import ModelChoice, ServedWindow
from tools.images import image_facts
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

# platform.claude.com/docs/en/build-with-claude/vision: pixels / 750, and larger images are made smaller first.
_PIXELS_A_TOKEN, _LEAST_IMAGE, _MOST_IMAGE, _USUAL_IMAGE = 750, 85, 1_600, 1_200
_HEAD_OF_IMAGE = 4_096
_PAGE_BYTES, _PAGE_TOKENS = 40_000, 2_000
_AUDIO_BYTES_A_TOKEN = {"wav": 2_000}
_USUAL_AUDIO = 800
_MOST_ATTACHMENT = 100_000


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


def tools_tokens(tools: Sequence[Mapping[str, Any]]) -> float:
    """About the tokens of tool definitions."""
    return sum(_PER_TOOL + text_tokens(json.dumps(tool, ensure_ascii=False)) for tool in tools)


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
            return _image_tokens(part["image_url"]["url"])
        case "input_audio":
            data = part["input_audio"]
            each = _AUDIO_BYTES_A_TOKEN.get(data["format"], _USUAL_AUDIO)
            return min(len(data["data"]) * 3 / 4 / each, _MOST_ATTACHMENT)
        case "file":
            pages = math.ceil(len(part["file"]["file_data"]) * 3 / 4 / _PAGE_BYTES)
            return min(_PAGE_TOKENS * max(pages, 1), _MOST_ATTACHMENT)


def _image_tokens(url: str) -> float:
    head, comma, data = url.partition(",") if url.startswith("data:") else ("", "", "")
    if not comma or ";base64" not in head:
        return _USUAL_IMAGE
    start = data[:_HEAD_OF_IMAGE]
    try:
        facts = image_facts(base64.b64decode(start[: len(start) // 4 * 4]))
    except (binascii.Error, ValueError):
        return _USUAL_IMAGE
    if facts is None or not facts.width:
        return _USUAL_IMAGE
    return min(max(facts.width * facts.height / _PIXELS_A_TOKEN, _LEAST_IMAGE), _MOST_IMAGE)


# What a model's server has counted, and an estimate for what came since.

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
    _summed: tuple[tuple[Message, ...], float] = ((), 0.0)

    def tokens(self, model: str, request: ModelRequest) -> int:
        """The tokens of a request to `model` (provider:model): messages, system prompt and tools."""
        known = self._learnt.get(model)
        if known is None:
            return math.ceil(self.estimate(request))
        if not _extends(request, known):
            return math.ceil(known.beside + known.ratio * self.estimate(request))
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
        estimate = self.estimate(request)
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
        # The system prompt apart: it may change, and what follows it stays. Each request adds to the one before.
        messages = tuple(request.messages[1:])
        known, total = self._summed
        if messages[: len(known)] != known:
            known, total = (), 0.0
        total += self._sum(messages[len(known) :])
        self._summed = messages, total
        return self._of_tools(request.tools) + self._sum(request.messages[:1]) + total

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


def _extends(request: ModelRequest, known: _Learnt) -> bool:
    count = len(known.messages)
    same = len(request.messages) >= count and tuple(request.messages[:count]) == known.messages
    return same and tuple(request.tools) == known.tools


def _plausible(usage: Usage, estimate: float, least: int) -> int | None:
    """The count of a request; None where what was reported cannot be one.

    Some servers report 0, some only what their cache did not have: with the cached part it may be the whole.
    """
    beside = (usage.cached_tokens or 0) + (usage.written_tokens or 0)
    found = (_count(usage), (usage.input_tokens or 0) + beside)
    return next((count for count in found if _LEAST * estimate <= count <= _MOST * estimate and count >= least), None)


# Notices a server that silently cuts prompts to its window: it counts far fewer tokens than it was sent.
# Counts are not to be trusted blindly: estimates err, some servers leave out what their cache had, and images count
# differently everywhere. So only what nothing else explains is called cut.

_LEAST_COUNT, _LEAST_SENT = 512, 3_000
_ESTIMATE_ERRS, _FITS = 1.1, 1.02
_FAR_FEWER = 0.5
_NEW_MAY_COUNT, _ADDED_BY_SERVER = 2.0, 1_000
_SAME, _GREW = 16, 500
_ENOUGH_DOUBTS = 2


@dataclass(frozen=True, slots=True)
class Counted:
    """A request that was answered.

    Attributes:
        sent: tokens that it was, estimated without what its server's counts have taught.
        new: of these, tokens that the server cannot have had in its cache; None where that is not known.
        count: what the server said; 0 for nothing.
    """

    model: str
    messages: tuple[Message, ...]
    sent: float
    new: float | None
    count: int


@dataclass(slots=True)
class CutPrompts:
    """What a session has seen of its servers' counts.

    Attributes:
        last: the request that was answered last.
        told: the person knows; once a session is enough.
    """

    last: Counted | None = None
    told: bool = False
    _before: dict[str, Counted] = field(default_factory=dict)
    _doubts: int = 0

    def counted(self, choice: ModelChoice, request: ModelRequest, usage: Usage, sent: float) -> None:
        """A request has its answer; `sent` is the estimate of all of it."""
        if self.last is not None:
            self._before[self.last.model] = self.last
        messages = tuple(request.messages)
        self.last = Counted(choice.name, messages, sent, self._new(choice.name, messages), _count(usage))

    def is_cut(self, window: int | None) -> bool:
        """Whether the server has read only a part of the last request.

        Args:
            window: of its model; None where it is not known.
        """
        now = self.last
        if now is None or now.count < _LEAST_COUNT or now.sent < _LEAST_SENT or _has_attachment(now.messages):
            return False
        if window is not None and now.count <= _FITS * window and now.sent > _ESTIMATE_ERRS * window:
            return True
        if now.new is None:
            return False
        if now.count < _FAR_FEWER * now.new:
            return True
        before = self._before.get(now.model)
        if before is not None and abs(now.count - before.count) <= _SAME and now.new >= _GREW:
            return True  # as much as before, though there is more
        # Too few for all of it, and too many for what was new alone. Once may be a cache that was lost in part.
        if now.count < _FAR_FEWER * now.sent and now.count > _NEW_MAY_COUNT * now.new + _ADDED_BY_SERVER:
            self._doubts += 1
        return self._doubts >= _ENOUGH_DOUBTS

    def words(self, choice: ModelChoice, served: ServedWindow | None) -> str:
        """A message to the person about the last request, with what to type."""
        from agent_core.providers.model_windows import advice  # noqa: PLC0415 - few servers cut

        self.told = True
        window, sent, count = choice.context_length, 0.0 if self.last is None else self.last.sent, self._last_count
        its = f"its window of {window:,} tokens" if window else "its window"
        known = served if served is not None and served.kind else ServedWindow(choice.provider)
        return (
            f"{choice.endpoint} has read only {count:,} of about {round(sent, -2):,.0f} tokens: it cuts what does "
            f"not fit into {its}, without saying so, and {choice.model} does not know what was in there. "
            f"{advice(known, choice.model, round(sent))}"
        )

    @property
    def _last_count(self) -> int:
        return 0 if self.last is None else self.last.count

    def _new(self, model: str, messages: tuple[Message, ...]) -> float | None:
        before = self._before.get(model)
        if before is None:
            # Of a session that goes on in a new process, the server may still have everything.
            return None if len(messages) > 2 else sum(map(message_tokens, messages[1:]))  # noqa: PLR2004
        if messages[: len(before.messages)] != before.messages:
            return None
        return sum(map(message_tokens, messages[len(before.messages) :]))


def _count(usage: Usage) -> int:
    """What a server has counted; 0 where it has not."""
    given = usage.input_tokens or 0
    beside = (usage.cached_tokens or 0) + (usage.written_tokens or 0)
    # More from the cache than there was in all: it stands beside.
    return given + beside if beside > given else given


def _has_attachment(messages: tuple[Message, ...]) -> bool:
    return any(
        part["type"] != "text"
        for message in messages
        if isinstance(message["content"], list)
        for part in message["content"]
    )
