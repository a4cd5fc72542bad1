"""Refuses new texts that would lose lines which nobody meant to delete."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from enum import Enum
from pathlib import Path

from tools.errors import ToolError
from tools.files.seen import Lines, SeenFile
from tools.light_dataclass import dataclass

# Lines that stand for text which somebody left out: `# ... rest of the file unchanged ...`. A tool writes what it is
# given, and such a line in the place of the lines that it means loses them.

_DOTS = r"(?:\.{3,}|…+)"
_COMMENTS = (
    r"(?:\#+|//+|--+|;+|%+|'|(?i:rem\b))(?P<line>.*)",
    r"/\*+(?P<block>.*?)\*+/",
    r"<!--+(?P<markup>.*?)--+>",
    r"\{\s*/\*+(?P<jsx>.*?)\*+/\s*\}",
    r"\{\#(?P<template>.*?)\#\}",
    r"\(\*(?P<ml>.*?)\*\)",
)
_COMMENT = re.compile("|".join(_COMMENTS))
_BRACKETED = re.compile(r"\[(?P<square>[^\[\]]*)\]|\((?P<round>[^()]*)\)|<(?P<angle>[^<>]*)>")
_ONLY_DOTS = re.compile(_DOTS)
# `...rest,` is a spread, and `... print(x)` goes on with an example: both are code.
_CODE_AFTER_DOTS = re.compile(r"(?:\.{3}|…)[\w$.(\[{]*[\w$.)\]}]*[,;]?")
_PROSE = re.compile(r"[\w\s,:'’&/()\[\]\-.…]+")

_WHAT = (
    r"(?:file|code|class|module|function|functions|method|methods|body|implementation|content|contents|document|"
    r"script|page|component|text|lines?|imports?|logic|tests?|definitions?|handlers?|routes?|fields?|properties|"
    r"props|styles?|rules?|config|configuration|settings|entries|items|sections?|statements?|cases?|program|block|"
    r"stuff|constants?|variables?|helpers?|types?|options?|markup|html|css|json|data|elements?|parts?|components)"
)
_AS_IT_WAS = (
    r"(?:un(?:changed|modified|touched|altered)|the same|same|as (?:is|before|above|it (?:is|was))|omitted|elided|"
    r"not shown|goes? here|continues?|stays?|remains?|intact|here)"
)
_HOW = (
    rf"(?:\s*(?:[-,:(]\s*)?(?:(?:is|are|stays?|remains?|kept|left|goes?|all|for brevity|exactly)\s+)*"
    rf"{_AS_IT_WAS}\)?)"
)
_WHERE = r"(?: (?:here|below|above|from here|after this|needed))?"
_KEPT = r"(?:existing|previous|original|remaining|rest|unchanged|other|earlier|current|same)"
_KEEP = r"(?:keep|leave|retain|preserve) (?:the |all |your )?"
_THE_REST = rf"(?:the )?(?:rest|remainder)(?: of)?(?: (?:the|this|your|my|its))?(?: \w+)?(?: {_WHAT})?"
_EXPLICIT = re.compile(
    "|".join(
        (
            rf"{_THE_REST}{_HOW}",
            rf"(?:the )?(?:rest|remainder) of (?:the |this |your )?(?:existing |original |\w+ )?{_WHAT}",
            rf"(?:the |all |your )?(?:{_KEPT} )+(?:\w+ )?{_WHAT}{_HOW}",
            rf"(?:{_WHAT} )?(?:un(?:changed|modified|touched)|no(?: further| other)? changes?)(?: {_WHAT})?{_WHERE}",
            rf"(?:the |your |all )?(?:existing|unchanged) {_WHAT}",
            rf"(?:everything|all)(?: else)?(?: \w+)?(?! (?:is )?here){_HOW}",
            rf"{_KEEP}(?:{_KEPT} )+(?:\w+ )?(?:of (?:the |this |your )?)?{_WHAT}{_WHERE}",
            r"(?:same|as) (?:as )?(?:before|above|in the original)",
            r"(?:(?:code|content|lines?|text) )?(?:omitted|elided|truncated)(?: for brevity)?",
            r"snip(?:ped)?",
            rf"\d+ (?:more |other |unchanged |remaining )+{_WHAT}",
        )
    ),
    re.IGNORECASE,
)
_NAMED = re.compile(rf"(?:the |all |your )?(?:{_KEPT} )+(?:\w+ )?{_WHAT}", re.IGNORECASE)
_HINT = re.compile(
    rf"\b(?:{_KEPT}|{_AS_IT_WAS}|{_WHAT}|remainder|more|omitted|snip|truncated|etc|and so on|keep|brevity)\b",
    re.IGNORECASE,
)
_CANDIDATE = re.compile(
    rf"{_DOTS}|\b(?:rest|remainder|remaining|existing|previous|original|unchanged|unmodified|untouched|same|omitted|"
    r"elided|snip|snipped|changes?|everything|else|brevity|truncated|keep|leave|more|other|earlier|current|all)\b",
    re.IGNORECASE,
)
_MAX_LINE_CHARS = 200
_PROSE_FILES = frozenset({".md", ".mdx", ".markdown", ".rst", ".txt", ".adoc", ".org", ".tex"})
_STUBS = frozenset({".py", ".pyi", ".pyw", ".pyx"})
_YADA = frozenset({".pl", ".pm", ".t", ".raku", ".rakumod"})
_YAML = frozenset({".yaml", ".yml"})
_DATA = frozenset({".json", ".jsonc"})
_RULES = "-=*~_# \t"
_HAS_WORD = re.compile(r"\w")


class _Kind(Enum):
    NONE = 0
    DOTS = 1
    """Dots alone, which may mean something else."""
    SAID = 2
    """It says in words that something was left out."""


@dataclass(frozen=True, slots=True)
class Elision:
    """A line (1-based) of a new text that stands for others, and how many lines of the old text would be lost."""

    line: int
    text: str
    lost: int


def elision_in(before: str, after: str, suffix: str) -> Elision | None:
    """The first line of `after` that only stands for lines of `before` which `after` does not have; None for none.

    A line that `before` has as often is text like any other, and so is one that takes nothing's place.

    Args:
        suffix: of the file's name, as `.py`: what dots mean depends on the language.
    """
    lines = after.split("\n")
    there = Counter(map(str.strip, before.split("\n")))
    found = [
        (index, kind)
        for index in range(len(lines))
        if (kind := _kind_of(lines, index, suffix.lower())) is not _Kind.NONE
    ]
    elided = Counter(lines[index].strip() for index, _ in found)
    new = [(index, kind) for index, kind in found if elided[lines[index].strip()] > there[lines[index].strip()]]
    if not new:
        return None
    now = Counter(map(str.strip, lines))
    lost = sum(count for line, count in (there - now).items() if _HAS_WORD.search(line))
    came = sum(count for line, count in (now - there).items() if line not in elided)
    for index, kind in new:
        if lost > (0 if kind is _Kind.SAID else came):
            return Elision(index + 1, lines[index].strip(), lost)
    return None


def elided_line(text: str, suffix: str) -> str:
    """The first line of a text that stands for others, '' for none."""
    lines = text.split("\n")
    found = (line for index, line in enumerate(lines) if _kind_of(lines, index, suffix.lower()) is not _Kind.NONE)
    return next(found, "").strip()


def _kind_of(lines: Sequence[str], index: int, suffix: str) -> _Kind:
    line = lines[index].strip()
    if len(line) > _MAX_LINE_CHARS or _CANDIDATE.search(line) is None:
        return _Kind.NONE
    comment = _COMMENT.fullmatch(line)
    if comment is not None:
        return _of_words(_inner(comment), suffix)
    if _ONLY_DOTS.fullmatch(line):
        return _Kind.NONE if suffix in _PROSE_FILES or _means_something(lines, index, suffix) else _Kind.DOTS
    if _CODE_AFTER_DOTS.fullmatch(line) or _goes_on_example(lines, index):
        return _Kind.NONE
    bracketed = _BRACKETED.fullmatch(line)
    return _of_words(line, suffix, is_bare=bracketed is None)


def _inner(found: re.Match[str]) -> str:
    return next((part for part in found.groups() if part is not None), "").strip()


def _of_words(text: str, suffix: str, *, is_bare: bool = False) -> _Kind:
    """What the words of a comment say, or of a line in brackets, or of a bare line."""
    text, in_brackets = _unwrapped(text)
    if _ONLY_DOTS.fullmatch(text):
        return _Kind.NONE if suffix in _PROSE_FILES else _Kind.DOTS
    words = re.sub(rf"^{_DOTS}\s*|\s*{_DOTS}$", "", text).strip()
    dotted = words != text.strip()
    words, in_inner_brackets = _unwrapped(words)
    if not _PROSE.fullmatch(words := words.rstrip(".")):
        return _Kind.NONE
    if _EXPLICIT.fullmatch(words) or (_NAMED.fullmatch(words) and (in_brackets or in_inner_brackets)):
        # Prose has such lines by themselves: «the rest of the text» may end a sentence.
        return _Kind.NONE if is_bare and not dotted else _Kind.SAID
    begins = re.match(_DOTS, text) is not None
    return _Kind.SAID if dotted and begins and _HINT.search(words) else _Kind.NONE


def _unwrapped(text: str) -> tuple[str, bool]:
    """The text without rules (`---`) and brackets around it, and whether it had brackets."""
    text = text.strip(_RULES)
    bracketed = _BRACKETED.fullmatch(text)
    return (_inner(bracketed), True) if bracketed else (text, False)


def _means_something(lines: Sequence[str], index: int, suffix: str) -> bool:
    """Whether three dots alone are what the language, or an example in a text, has there."""
    before, after = _near(lines, index, -1), _near(lines, index, 1)
    if suffix in _YAML:
        return any(line.startswith(("---", "%YAML")) for line in lines)
    if suffix in _STUBS and (suffix == ".pyi" or _opens_body(lines, index) or _goes_on_example(lines, index)):
        return True
    if suffix in _YADA and before.endswith("{") and after.startswith("}"):
        return True
    return suffix not in _DATA and before.endswith((",", "(", "[")) and after.startswith((")", "]"))


def _opens_body(lines: Sequence[str], index: int) -> bool:
    """Whether the line is the first of a block of Python, but for a docstring and comments."""
    above = (line.partition(" #")[0].rstrip() for line in reversed(lines[:index]))
    before = next((line for line in above if line.strip() and not line.lstrip().startswith("#")), "")
    return before.endswith((":", '"""', "'''"))


def _goes_on_example(lines: Sequence[str], index: int) -> bool:
    """Whether the line belongs to an example of Python's prompt."""
    return _near(lines, index, -1).startswith((">>>", "... "))


def _near(lines: Sequence[str], index: int, step: int) -> str:
    """The next line before or after that is not blank, '' for none."""
    near = lines[index + 1 :] if step > 0 else reversed(lines[:index])
    return next((stripped for line in near if (stripped := line.strip())), "")


_SHORT_FILE = 50
"""Lines; a shorter file is read whole, as a rule, and quickly written again."""
_MAX_RANGES = 5
_MAX_SHOWN_CHARS = 80


class TextLost(ToolError):
    """A new text would lose lines of the old one that its author does not know, or meant to keep."""


def check_elisions(name: str, path: Path, before: str, after: str, *, whole: bool) -> None:
    """Refuse a line like `# ... existing code ...` in the place of the lines that it stands for.

    Args:
        name: the file's, for messages.
        whole: `after` was sent as the file's whole text, not made by changing a part.

    Raises:
        TextLost: there is one.
    """
    if (elision := elision_in(before, after, path.suffix)) is not None:
        raise TextLost(_elided(elision, name, whole=whole))


def check_unread(name: str, path: Path, before: str, after: str, known: SeenFile | None) -> None:
    """Refuse a text less than half as long as the file that it replaces, where lines vanish that nobody has read.

    Raises:
        TextLost: there are such lines. The text says which, and how to go on.
    """
    old, new = (text.removesuffix("\n").split("\n") for text in (before, after))
    # A notebook's lines are not those that read_file shows of it.
    if known is None or known.whole or len(old) < _SHORT_FILE or path.suffix.lower() == ".ipynb":
        return
    if 2 * len(new) >= len(old):
        return
    unread = known.unread(len(old))
    there = Counter(map(str.strip, new))
    lines = (line.strip() for first, last in unread for line in old[first - 1 : last])
    if any(line and not there[line] for line in lines):
        raise TextLost(_unread(name, unread, len(old), len(new)))


def _elided(elision: Elision, name: str, *, whole: bool) -> str:
    count = f"{elision.lost} line{'' if elision.lost == 1 else 's'}"
    shown = elision.text if len(elision.text) <= _MAX_SHOWN_CHARS else f"{elision.text[:_MAX_SHOWN_CHARS]}…"
    what = f"What you send is written as it is: the line `{shown}`"
    meant = "If that line itself belongs in the file, add it with a patch that removes nothing."
    if whole:
        return (
            f"{what} (line {elision.line} of content) would replace {count} of {name}. Nothing was written. "
            f"To change a part of the file use patch; to replace all of it send its whole text. {meant}"
        )
    return (
        f"{what} would replace {count} of {name}. Nothing was changed. Patch only the lines that change, and write "
        f"out those that stay between them. {meant}"
    )


def _unread(name: str, unread: Sequence[Lines], old: int, new: int) -> str:
    ranges = [f"{first}–{last}" if first < last else str(first) for first, last in unread[:_MAX_RANGES]]
    more = " …" if len(unread) > _MAX_RANGES else ""
    return (
        f"You have not read lines {', '.join(ranges)}{more} of {name}, and the {new} lines that you sent in place of "
        f"its {old} would lose them. Nothing was written. Read them first (read_file with offset={unread[0][0]}), or "
        "change a part of the file with patch. If all of it may go, delete the file first."
    )
