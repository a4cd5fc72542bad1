"""Thoughts and tool calls within an answer's text, told apart from what the person is shown."""

from __future__ import annotations

import functools
import re
from collections.abc import Collection
from typing import Literal

# Thoughts: models write them between tags, and not every server takes them out.
# Only what an answer begins with counts, so that an answer about such tags, or code that has them, stays as it is.
# Some templates write the opening tag themselves: then the text has only the closing one, on a line of its own, and
# what stands before it has been shown as text by the time that one comes. Where a server and model have done so
# again, this is known in advance of their next answer.

Kind = Literal["thoughts", "words", "were_thoughts", "were_words"]
"""What a piece is. `were_thoughts`: all words so far were thoughts, and these too; `were_words` is the other way."""

Piece = tuple[Kind, str]

# What the parsers of llama.cpp, vLLM and SGLang know.
_NAMES = ("think", "thinking", "thought", "thoughts", "reasoning", "seed:think")
_TAGS = {f"<{name}>": f"</{name}>" for name in _NAMES} | {
    "[think]": "[/think]",
    "◁think▷": "◁/think▷",
    "<|start_thinking|>": "<|end_thinking|>",
    "<|begin_of_thought|>": "<|end_of_thought|>",
    "<|inner_prefix|>": "<|inner_suffix|>",
}
# Their ends mean too much else to be known without a beginning.
_CHANNELS = {
    "<|channel|>analysis<|message|>": "<|end|>",
    "<|start|>assistant<|channel|>analysis<|message|>": "<|end|>",
    "<|channel>thought": "<channel|>",
    "<unused94>thought": "<unused95>",
}
# What stands between such thoughts and the answer.
_HEADS = tuple(
    f"{start}<|channel|>{channel}<|message|>"
    for start in ("<|start|>assistant", "")
    for channel in ("final", "commentary")
)
_PAIRS = _TAGS | _CHANNELS
_BEGINNINGS = (*_PAIRS, *_HEADS)
_STARTS, _ENDS = tuple(_TAGS), tuple(_TAGS.values())
_LONGEST = max(map(len, _BEGINNINGS))
_SIGN = re.compile(f"[{re.escape(''.join({end[0] for end in _PAIRS.values()}))}]")
# These are elements of documents as well: an answer that is one and nothing else is words.
_ELEMENTS = frozenset(f"<{name}>" for name in ("thinking", "thought", "thoughts", "reasoning"))
_FENCE = re.compile(r"[ ]{0,3}(`{3,}|~{3,})(.*)")
_TO_LINE_END = " \t\r"
_CODE = 4  # blanks that a line of code begins with in Markdown
_IN_PROSE_BEFORE, _IN_PROSE_AFTER = tuple(" \"'“‘("), tuple(" \"'”’).,;:!?")


class ThoughtReader:
    """Tells the thoughts from the words of one answer whose text comes in pieces, cut anywhere.

    Attributes:
        knows: whether the text has shown how this server does it: thoughts without their beginning (True) or without
            any although they were assumed (False); None: neither.
    """

    __slots__ = (
        "_all",
        "_assumed",
        "_ends",
        "_fed",
        "_held",
        "_last",
        "_read",
        "_recent",
        "_state",
        "_watches",
        "knows",
    )

    def __init__(self, *, assumed: bool = False, only_ended: bool = True) -> None:
        """Make it.

        Args:
            assumed: the text is taken for thoughts from its first character on, until they end.
            only_ended: thoughts may come without their beginning.
        """
        self.knows: bool | None = None
        self._assumed = assumed
        self._state: Literal["begin", "thoughts", "words"] = "begin"
        self._ends = _ENDS
        self._held = ""
        self._recent = ""
        self._last = ""
        self._read = False
        self._watches = only_ended
        # All that came, while it may be one element and nothing else.
        self._fed: list[str] | None = []
        # Of words that may yet prove to be thoughts, or the other way, all that was given out.
        self._all: list[str] = []

    def marked(self) -> None:
        """The server marks the answer's thoughts itself: they need not be looked for."""
        self._assumed = self._watches = False

    def feed(self, piece: str) -> list[Piece]:
        """The next piece; what can be said of the text so far."""
        if self._state == "words" and not self._watches:
            return [("words", piece)] if piece else []
        if self._fed is not None:
            self._fed.append(piece)
        self._held += piece
        return self._pieces(at_end=False)

    def close(self, *, cut: bool = False, calls: bool = False) -> list[Piece]:
        """The text is over (`cut`: at its limit; `calls`: tool calls come with it): the rest of it."""
        found = self._pieces(at_end=True)
        rest, self._held = self._held, ""
        if self._state == "begin" and self._fed is not None and self._read and not calls:
            found.append(("were_words", "".join(self._fed).strip()))
        elif self._state == "thoughts" and self._assumed:
            self.knows = None if cut else False
            found.append(("were_words", "".join((*self._all, rest))))
        elif self._state == "thoughts":
            found += _piece("thoughts", rest.rstrip())
        elif not (self._read and rest.isspace()):
            found += _piece("words", rest)
        self._state, self._watches, self._assumed, self._fed = "words", False, False, None
        return found

    def break_off(self) -> list[Piece]:
        """The text breaks off: the rest of it, as what it is so far."""
        rest, self._held = self._held, ""
        kind: Kind = "thoughts" if self._state == "thoughts" else "words"
        self._state, self._watches, self._assumed = "words", False, False
        return _piece(kind, rest)

    def _pieces(self, *, at_end: bool) -> list[Piece]:
        steps = {"begin": self._begin, "thoughts": self._think, "words": self._say}
        found: list[Piece] = []
        while self._held and steps[self._state](found, at_end):
            pass
        return found

    def _begin(self, _found: list[Piece], at_end: bool) -> bool:
        lead = self._held.lstrip()
        start = lead[:_LONGEST].lower()
        for beginning in _BEGINNINGS:
            if start.startswith(beginning):
                is_second = self._read
                self._held, self._read = lead[len(beginning) :], True
                if is_second or beginning not in _ELEMENTS:
                    self._fed = None
                if beginning in _PAIRS:
                    self._state, self._ends, self._assumed = "thoughts", (_PAIRS[beginning],), False
                return True
        if not lead or (not at_end and any(beginning.startswith(start) for beginning in _BEGINNINGS)):
            return False
        self._fed = None
        if self._assumed:
            self._state = "thoughts"
        else:
            self._state, self._held = "words", lead if self._read else self._held
            self._watches = self._watches and not self._read
        return True

    def _think(self, found: list[Piece], at_end: bool) -> bool:
        if not self._last:
            self._held = self._held.lstrip()
        place, end = self._end(0, at_end=at_end)
        if end and self._assumed and self._is_spoken_of(place, end):
            said = self._held[: place + len(end)]
            found += _piece("thoughts", said)
            self._all.append(said)
            self._last, self._held = said[-1:], self._held[len(said) :]
            return True
        before = self._held[:place].rstrip()
        found += _piece("thoughts", before)
        if self._assumed:
            self._all.append(before)
        self._last = before[-1:] or self._last
        self._held = self._held[len(before) :]
        if not end:
            return False
        self._held = self._held.lstrip()[len(end) :]
        self.knows = True if self._assumed else self.knows
        self._state, self._read, self._assumed, self._last = "begin", True, False, ""
        self._all.clear()
        return True

    def _say(self, found: list[Piece], at_end: bool) -> bool:
        if not self._watches:
            found += _piece("words", self._held)
            self._held = ""
            return False
        place, end = self._end(0, at_end=at_end)
        words, behind = self._held[:place], self._held[place + len(end) :]
        self._recent += words
        if _finder(_STARTS).search(self._recent):
            self._watches = False  # an answer about them
            return True
        self._recent = self._recent[-_LONGEST:]
        if end and _on_its_own("".join((*self._all, words)), behind):
            found.append(("were_thoughts", words.rstrip()))
            self._state, self._read, self._watches, self._held, self.knows = "begin", True, False, behind, True
            self._all.clear()
            return True
        found += _piece("words", words + end)
        self._all.append(words + end)
        self._last = (words + end)[-1:] or self._last
        self._held = behind
        return bool(end)

    def _is_spoken_of(self, place: int, end: str) -> bool:
        """Whether a tag in assumed thoughts is none: within a sentence, or in code."""
        before, behind = "".join((*self._all, self._held[:place])), self._held[place + len(end) :]
        return _in_code(before) or (before.endswith(_IN_PROSE_BEFORE) and behind.startswith(_IN_PROSE_AFTER))

    def _end(self, start: int, *, at_end: bool) -> tuple[int, str]:
        """Where the next closing tag stands, and the tag; else where what may become one begins, and ''."""
        text = self._held
        found = _finder(self._ends).search(text, start)
        if found is None:
            return len(text) - (0 if at_end else _length_of_start(text, self._ends)), ""
        place, end = found.span()
        before, behind = text[place - 1] if place else self._last, text[end : end + 1]
        if not at_end and not text[end:].lstrip(_TO_LINE_END):
            return place, ""  # what comes next tells whether it is a quotation
        return self._end(end, at_end=at_end) if before == behind == "`" else (place, found[0])


def _piece(kind: Kind, text: str) -> list[Piece]:
    return [(kind, text)] if text else []


@functools.cache
def _finder(tags: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, tags)), re.IGNORECASE)


def _length_of_start(text: str, ends: tuple[str, ...]) -> int:
    """How much of the text's end is the beginning of one of `ends`."""
    # Each piece of an answer passes here, and hardly one has such a sign.
    for found in _SIGN.finditer(text, max(len(text) - _LONGEST, 0)):
        tail = text[found.start() :].lower()
        if any(end.startswith(tail) for end in ends):
            return len(tail)
    return 0


def _on_its_own(before: str, behind: str) -> bool:
    """Whether a closing tag has a line for itself, outside of code."""
    line = before[before.rfind("\n") + 1 :]
    is_alone = not line.strip(" ") and len(line) < _CODE and behind.lstrip(_TO_LINE_END)[:1] in {"", "\n"}
    return is_alone and not _in_code(before)


def _in_code(before: str) -> bool:
    """Whether a text ends within a block of code, or between backticks."""
    fence, paragraph = "", ""
    *lines, last = before.split("\n")
    for line in lines:
        found = _FENCE.match(line)
        if found is not None and not fence:
            fence, paragraph = found[1], ""
        elif found is not None and found[1].startswith(fence) and not found[2].strip():
            fence, paragraph = "", ""
        else:
            paragraph = f"{paragraph}\n{line}" if line.strip() else ""
    return bool(fence) or (paragraph + last).count("`") % 2 == 1


# What may be a tool call is held back, so that nobody is shown its text before it is read.
# Calls begin with a mark of their own in most forms; in some they are a JSON object, bare or in a fenced block. Marks
# that are quoted, and those in other blocks of code, are words.

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

_BACKTICKS = "```"
_START = re.compile(r"^[ \t]*(?:```|[{\[])|[<\[]|f(?=unctools)", re.MULTILINE)
_MARK_SIGN = re.compile(r"[<\[f]")
_BEHIND_MARK = re.compile(r"\s*(?:\Z|[\[{<\"']|[\w.:-]+\s*(?:\Z|[\[{<>`(\"']))")
_LONGEST_MARK = max(map(len, _MARKS))
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
            is_block = found[0].endswith(_BACKTICKS)
            is_object = found[0].endswith(("{", "[")) and _may_be_json_call(self._held[found.end() - 1 :])
            if before == "\n" and (is_block or is_object):
                self._show(shown, place if self._begun or self._held[:place].strip() else 0)
                self._state, self._object = "perhaps", _ObjectWatch(self._names)
                return True
        self._show(shown, len(self._held) - _length_of_mark_start(self._held))
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
        if end is None or not behind or behind.startswith(_BACKTICKS) or _BACKTICKS.startswith(behind):
            return False
        self._show(shown, end.end())
        self._state = "words"
        return True

    def _perhaps_bare(self, shown: list[str]) -> bool:
        lead = self._held.lstrip()
        if lead.startswith(_BACKTICKS):
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
    return len(text) < _LONGEST_MARK and any(mark.startswith(text) for mark in _MARKS)


def _length_of_mark_start(text: str) -> int:
    """How much of the text's end is the beginning of a mark or of a fence."""
    for found in _MARK_SIGN.finditer(text, max(len(text) - _LONGEST_MARK + 1, 0)):
        if _is_start(text[found.start() :]):
            return len(text) - found.start()
    line = text[text.rfind("\n") + 1 :]
    return len(line) if line and _FENCE_BEGUN.fullmatch(line) else 0
