"""The texts of a command that patterns are searched in.

Where the grammar has read it, they are the programs that it runs. Where it could not, the text is cut by hand: as
written, without its disguises, and into the simple commands inside. Separators inside quotes cut as well, so that a
text may show more commands than would run, and hardly ever fewer.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable, Iterator

from tools.bash.reading import Reading
from tools.bash.wrappers import WRAPPERS, Wrapper

_SUBSTITUTION = re.compile(r"\$\(|[()`]|(?<!\$)\{(?=\s)")
_STATEMENT = re.compile(r"[;&|\n]+")
_ASSIGNMENT = r"""[A-Za-z_]\w*\+?=(?:"[^"]*"|'[^']*'|[^\s"'])*+\s+"""
_ASSIGNMENTS = re.compile(rf"(?:{_ASSIGNMENT})+")
_OPTIONS = r"(?:\s+(?:(?:--(?:project|directory|prefix|cwd|dir|env|filter)|-[CFepn])\s+\S+|-\S*))*+\s+"


def _wrapper_pattern(name: str, wrapper: Wrapper) -> str:
    if not wrapper.subcommand:
        return rf"{re.escape(name)}(?!\s+-v\b)" if name == "command" else re.escape(name)
    return rf"{re.escape(name)}{_OPTIONS}(?:{'|'.join(sorted(map(re.escape, wrapper.subcommand)))})"


def _pattern_of(*, has_place: bool) -> str:
    names = (
        _wrapper_pattern(name, wrapper)
        for name, wrapper in WRAPPERS.items()
        if has_place is bool(wrapper.may_lead or wrapper.needs_dashes or wrapper.operands)
    )
    return "|".join(names)


# Words after which the real command comes.
_WRAPPER = re.compile(
    rf"""
    (?: (?:if|then|else|elif|do|while|until|!|\{{)
      | (?:\S*/)?(?:xargs|(?:ba|z|da|k)?sh|{_pattern_of(has_place=False)}|(?P<place>{_pattern_of(has_place=True)}))
    )
    (?=\s)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_WORD = re.compile(r"\S+")
_HEAD_FOLDER = re.compile(r"^[^\s=]*/(?=\S)")
_MAX_LINES = 40
# Nobody wraps a command in so many others: it asks like the text that `eval` hides.
_TOO_NESTED = "eval"


def readings(command: str) -> tuple[str, ...]:
    """The texts to search for patterns: the whole command, and one text per simple command, its program's bare name
    first.

    Where it is certain what is quoted, the lines of the whole texts do not start with a program, so that a pattern
    for `grep -i` does not look beyond a pipe.
    """
    plain = _undisguised(command)
    texts = (command, plain)
    blanked = outside_quotes(command)
    if blanked is not None:
        simple = dict.fromkeys(line for text in (*texts, blanked) for line in _simple_commands(text))
        return (*(_not_at_start(text) for text in texts), *simple)
    simple = dict.fromkeys(line for text in texts for line in _simple_commands(text))
    return (*dict.fromkeys(texts), *simple)


def outside_quotes(command: str) -> str | None:
    """`command` with quoted text blanked; None where it is not certain what is quoted."""
    if re.search(r"<<|#|\$'|`|\$\(|\\", command):
        return None
    blanked = re.sub(r"""'[^']*'|"[^"]*\"""", "Q", command)
    # A quote that is left has no partner.
    return None if re.search(r"['\"]", blanked) else blanked


def lines_of(command: str, reading: Reading) -> tuple[str, ...]:
    """The texts to search for patterns in a command that was read: the whole, and a line for each program."""
    lines = (
        " ".join((call.program, *(one.text for one in call.arguments)))
        for call in reading.invocations
        if call.program
    )
    return (_not_at_start(command), *dict.fromkeys(" ".join(line.split("\n")) for line in lines))


def first_match(patterns: Iterable[tuple[str, str]], texts: Iterable[str]) -> tuple[str, ...]:
    """The description of the first pattern that is found in any of the texts; none where none is."""
    given = tuple(texts)
    for pattern, why in patterns:
        if any(_compiled(pattern).search(text) for text in given):
            return (why,)
    return ()


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.MULTILINE)


def _not_at_start(text: str) -> str:
    return "\n".join(f"; {line}" for line in text.split("\n"))


def _undisguised(command: str) -> str:
    """Without quotes, escapes, `$IFS` and continued lines."""
    plain = command.replace("\\\n", "")
    plain = re.sub(r"\$\{IFS\}|\$IFS(?:\$\d)?", " ", plain)
    plain = re.sub(r"\\(.)", r"\1", plain)
    return re.sub(r"[\"']", "", plain)


def _simple_commands(text: str) -> Iterator[str]:
    for statement in _STATEMENT.split(text):
        for part in dict.fromkeys((statement, *_SUBSTITUTION.split(statement))):
            yield from _unwrapped(part)


def _unwrapped(statement: str) -> Iterator[str]:
    """The statement, and what is left of it after each word that only introduces another command."""
    lines = [statement.strip()]
    for _ in range(_MAX_LINES):
        if not lines:
            return
        line = lines.pop()
        if not line:
            continue
        yield _HEAD_FOLDER.sub("", line)
        if assigned := _ASSIGNMENTS.match(line):
            lines.append(line[assigned.end() :])
        elif wrapper := _WRAPPER.match(line):
            lines.extend(_wrapped(line[wrapper.end() :], has_place=wrapper["place"] is not None))
    if lines:
        yield _TOO_NESTED


def _wrapped(rest: str, *, has_place: bool) -> Iterator[str]:
    """Where the wrapped command may start in `rest`: an option may have taken a word of its own (`sudo -u name rm`).

    Args:
        has_place: the wrapper takes a word before the command (`direnv exec . rm`).
    """
    if has_place and (after := re.search(r"\s--\s+", rest)):
        yield rest[after.end() :]
    after_option = has_place
    for word in itertools.islice(_WORD.finditer(rest), _MAX_LINES):
        text = word[0]
        if text == "--":
            yield rest[word.end() :].lstrip()
            return
        if text.startswith("-"):
            after_option = "=" not in text or has_place
            continue
        yield rest[word.start() :]
        if text[0].isdigit():
            continue
        if not after_option:
            return
        after_option = False
    if len(rest.split(None, _MAX_LINES)) > _MAX_LINES:
        yield _TOO_NESTED
