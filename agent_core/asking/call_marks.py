"""Holds back what may be a tool call in an answer's text, so that nobody is shown its text before it is read.

Calls begin with a mark of their own in most forms; in some they are a JSON object, bare or in a fenced block. Marks
that are quoted, and those in other blocks of code, are words.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Literal

# Hermes, Qwen, GLM, Granite, Nemotron, Qwen Coder, MiniMax, Llama, Mistral, LM Studio, DeepSeek, Kimi, Command,
# Apertus, Phi, gpt-oss.
_MARKS = (
    "<tool_call>",
    "<tool_calls>",
    "<tools>",
    "<|tool_call|>",
    "<TOOLCALL>",
    "<function=",
    "<function_call>",
    "<function_calls>",
    "<invoke name=",
    "<minimax:tool_call>",
    "<|python_tag|>",
    "[TOOL_CALLS]",
    "[TOOL_REQUEST]",
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁call▁begin｜>",
    "<｜DSML｜function_calls>",
    "<｜DSML｜tool_calls>",
    "<｜DSML｜invoke name=",
    "<|tool_calls_section_begin|>",
    "<|tool_call_begin|>",
    "<|START_ACTION|>",
    "<|tools_prefix|>",
    "functools[",
    "<|channel|>commentary to=",
    "<|start|>assistant<|channel|>commentary to=",
)
KEYS = frozenset(
    (
        *("name", "tool_name", "tool", "function_name", "function", "type", "id", "tool_call_id"),
        *("arguments", "parameters", "args", "input", "tool_input"),
    )
)
"""What the keys of a call are called that is written as JSON."""

_FENCE = "```"
_START = re.compile(r"^[ \t]*(?:```|[{\[])|[<\[]|f(?=unctools)", re.MULTILINE)
_SIGN = re.compile(r"[<\[f]")
_BEHIND_MARK = re.compile(r"\s*(?:\Z|[\[{<\"']|[\w.:-]+\s*(?:\Z|[\[{<>`(\"']))")
_LONGEST = max(map(len, _MARKS))
_QUOTES = tuple("`\"'“‘")
_HEAD = re.compile(r"[ \t]*```([\w-]*)[ \t]*(\n|\Z)")
_LANGUAGES = frozenset({"", "json", "jsonc", "tool_call", "tool_calls", "tool_code", "tool", "xml"})
_LEAD = re.compile(r"[\s\[]*")
_KEY = re.compile(r"\{\s*(?:\Z|[\"'](\w*)(\Z|[\"']))")
_FENCE_BEGUN = re.compile(r"[ \t]*`{0,2}")
_BLOCK_END = re.compile(r"\n[ \t]*```[ \t]*(?=\n)")
_BLOCK_END_BEGUN = re.compile(r"\n[ \t]*`*[ \t]*\Z")
_DECIDED = 400
_TOOL_NAMES = frozenset({"name", "tool_name", "tool", "function_name"})
_REST_OF_TEXT = {quote: re.compile(rf"[^{quote}\\]*(?:\\.[^{quote}\\]*)*", re.DOTALL) for quote in "\"'"}
_UP_TO_SIGN = re.compile(r"[^\"'{}\[\],:]*")


class _ObjectWatch:
    """Follows a JSON object while it comes, and tells whether it may still be a call."""

    __slots__ = ("_at", "_depth", "_key", "_names", "_quote", "_start", "_value")

    def __init__(self, names: Collection[str] | None) -> None:
        self._names = names
        self._at = -1
        self._depth = 0
        self._quote = ""
        self._start = 0
        self._key = ""
        self._value = False

    def may_be_call(self, text: str, begin: int) -> bool:
        """Whether `text` may be one from `begin` on; it has grown since the last time."""
        if self._at < 0:
            lead = _LEAD.match(text, begin)
            self._at = begin if lead is None else lead.end()
            if text[self._at : self._at + 1] != "{":
                self._at = -1
                return True
        while self._at < len(text):
            if self._quote:
                rest = _REST_OF_TEXT[self._quote].match(text, self._at)
                self._at = self._at if rest is None else rest.end()
                if text[self._at : self._at + 1] != self._quote:
                    return True
                self._quote = ""
                if not self._fits(text[self._start : self._at]):
                    return False
                self._at += 1
            elif not self._step(text):
                return True
        return True

    def _step(self, text: str) -> bool:
        """To behind the next sign; False: there is none, or the object is over."""
        found = _UP_TO_SIGN.match(text, self._at)
        self._at = self._at if found is None else found.end()
        sign = text[self._at : self._at + 1]
        if not sign:
            return False
        if sign in "\"'":
            self._quote, self._start = sign, self._at + 1
        elif sign in "{[":
            self._depth += 1
        elif sign in "}]":
            self._depth -= 1
            if not self._depth:
                return False
        elif self._depth == 1:
            self._value = sign == ":"
        self._at += 1
        return True

    def _fits(self, string: str) -> bool:
        """Whether a call may have this string where it stands."""
        if self._depth != 1:
            return True
        if not self._value:
            self._key = string
            return string in KEYS
        is_tool = self._names is None or string.rpartition("functions.")[2] in self._names
        return self._key not in _TOOL_NAMES or is_tool


class CallWatch:
    """Lets an answer's text through, up to where a call may begin."""

    __slots__ = ("_begun", "_held", "_last", "_names", "_object", "_state")

    def __init__(self, names: Collection[str] | None = None) -> None:
        """Make it; `names` are those of the tools that were offered, None: they are not known."""
        self._names = names
        self._object = _ObjectWatch(names)
        self._state: Literal["words", "code", "perhaps", "call"] = "words"
        self._held = ""
        self._last = "\n"
        self._begun = False

    def feed(self, piece: str) -> str:
        """The next piece; what of the text may be shown."""
        self._held += piece
        shown: list[str] = []
        steps = {"words": self._words, "code": self._code, "perhaps": self._perhaps, "call": self._call}
        while self._held and steps[self._state](shown):
            pass
        return "".join(shown)

    @property
    def has_shown(self) -> bool:
        """Whether it has let words through."""
        return self._begun

    def close(self) -> str:
        """The text is over: what was held back of it."""
        rest, self._held, self._state = self._held, "", "words"
        return rest

    def _show(self, shown: list[str], size: int) -> None:
        text, self._held = self._held[:size], self._held[size:]
        shown.append(text)
        self._last = text[-1:] or self._last
        self._begun = self._begun or bool(text.strip())

    def _words(self, shown: list[str]) -> bool:
        if not self._begun and not self._held.strip():
            return False
        for found in _START.finditer(self._held):
            place = found.start()
            before = self._held[place - 1] if place else self._last
            if before not in _QUOTES and _mark_at(self._held, found.end() - 1):
                self._show(shown, found.end() - 1)
                self._state = "call"
                return True
            is_block = found[0].endswith(_FENCE)
            is_object = found[0].endswith(("{", "[")) and _may_be_json_call(self._held[found.end() - 1 :])
            if before == "\n" and (is_block or is_object):
                self._show(shown, place if self._begun or self._held[:place].strip() else 0)
                self._state, self._object = "perhaps", _ObjectWatch(self._names)
                return True
        self._show(shown, len(self._held) - _length_of_start(self._held))
        return False

    def _code(self, shown: list[str]) -> bool:
        """Within a block of code that is no call: up to its end."""
        text = self._last + self._held
        end = _BLOCK_END.search(text)
        if end is None:
            begun = _BLOCK_END_BEGUN.search(text)
            self._show(shown, max((begun.start() if begun else len(text)) - 1, 0))
            return False
        self._show(shown, end.end() - 1)
        self._state = "words"
        return True

    def _perhaps(self, shown: list[str]) -> bool:
        """A block of code, or an object that a line begins with."""
        head = _HEAD.match(self._held)
        if head is None:
            return self._perhaps_bare(shown)
        if head[2] == "" and any(language.startswith(head[1]) for language in _LANGUAGES):
            return False
        is_call = head[1] in _LANGUAGES and _may_be_call(self._held[head.end() :])
        if not is_call or not self._object.may_be_call(self._held, head.end()):
            self._show(shown, head.end())
            self._state = "code"
            return True
        end = _BLOCK_END.search(self._held, head.end() - 1)
        behind = self._held[end.end() :].lstrip() if end else ""
        if end is None or not behind or behind.startswith(_FENCE) or _FENCE.startswith(behind):
            return False
        self._show(shown, end.end())
        self._state = "words"
        return True

    def _perhaps_bare(self, shown: list[str]) -> bool:
        lead = self._held.lstrip()
        if lead.startswith(_FENCE):
            self._state = "code"
        elif _is_start(lead):
            return False
        elif _may_be_json_call(lead):
            if self._object.may_be_call(self._held, 0):
                return False
            self._show(shown, self._held.index("{") + 1)
            self._state = "words"
        else:
            self._begun, self._state = True, "words"
        return True

    def _call(self, shown: list[str]) -> bool:
        """Behind a mark: unless what follows it can be none, all the rest."""
        mark = _mark_at(self._held, 0)
        if len(self._held) > _DECIDED or _BEHIND_MARK.match(self._held, len(mark)):
            return False
        self._show(shown, len(mark))
        self._state = "words"
        return True


def is_marked(text: str) -> bool:
    """Whether the text begins with the mark of a call, in a fenced block or bare."""
    head = _HEAD.match(text)
    return bool(_mark_at(text.lstrip() if head is None else text[head.end() :].lstrip(), 0))


def has_mark(text: str) -> bool:
    """Whether the mark of a call stands in a text."""
    return any(mark in text for mark in _MARKS)


def _mark_at(text: str, place: int) -> str:
    return next((mark for mark in _MARKS if text.startswith(mark, place)), "")


def _may_be_call(text: str) -> bool:
    lead = text.lstrip()
    return not lead or bool(_mark_at(lead, 0)) or _is_start(lead) or _may_be_json_call(text)


def _may_be_json_call(text: str) -> bool:
    """Whether the text begins like a JSON object, or a list of them, whose first key is one of a call's."""
    lead = _LEAD.match(text)
    rest = text[lead.end() if lead else 0 :]
    if not rest:
        return True
    found = _KEY.match(rest)
    if found is None:
        return False
    key, is_whole = found[1] or "", bool(found[2])
    return key in KEYS if is_whole else any(name.startswith(key) for name in KEYS)


def _is_start(text: str) -> bool:
    return len(text) < _LONGEST and any(mark.startswith(text) for mark in _MARKS)


def _length_of_start(text: str) -> int:
    """How much of the text's end is the beginning of a mark or of a fence."""
    for found in _SIGN.finditer(text, max(len(text) - _LONGEST + 1, 0)):
        if _is_start(text[found.start() :]):
            return len(text) - found.start()
    line = text[text.rfind("\n") + 1 :]
    return len(line) if line and _FENCE_BEGUN.fullmatch(line) else 0
