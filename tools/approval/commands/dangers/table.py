"""The table of dangerous calls, and who reads it.

A row says which programs it is about, and what they are given when they are dangerous; the family and the reason,
which completes «because it …», stand above the rows that share them, with conditions of each of them:

    [services, outside] controls services or power  none --help|--version
        systemctl           verb! status|show|cat
        apachectl httpd     any stop|restart

A row is the names of programs, then conditions that all hold, with two blanks or more between them. A line that
ends in a backslash goes on in the next. A command of git is named as git names it (`git-reset`), `git-*` is any of
them, and a script that starts a service is `init.d`. The conditions, each with an expression (but for `has` and
`lacks`, which have names):

    verb      the operands begin with it: whole words, with one blank between two of them and `_` for those inside one
    verb!     there is an operand, and the first one is another
    first     the first argument is it, whole; `first!`: it is not
    early     one of the first three operands is it, whole
    said      one of the first two operands is it, or an option
    any       one argument is it, whole; `none`: none is
    has       one of these options is given, in a cluster of letters or shortened, too; `lacks`: none is
    line      all arguments together begin with it, written likewise
    told      it is found in the arguments or the words of the text that comes in, a line for each
    splits    an argument that nobody knows may become several

Options whose value may be the next argument are listed in `VALUES`: such a value is no operand.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase

from tools.approval.commands.bash import lines_of_table
from tools.approval.commands.bash.reading import Argument, Invocation
from tools.approval.commands.classes import WORST_FIRST, Finding
from tools.approval.commands.dangers.scene import Words, sort_words, texts
from tools.light_dataclass import dataclass

_EARLY, _SAID = 3, 2
_COLUMNS = re.compile(r"\s{2,}")
_HEAD = re.compile(r"\[(?P<family>[a-z ]+)(?P<outside>, outside)?\] (?P<why>.*?)(?:  (?P<always>.*))?")


@dataclass(frozen=True, slots=True)
class Row:
    """Calls of some programs, and what they do.

    Attributes:
        programs: their names; `*` may stand for a part of one.
        conditions: what is looked at, and what it has to be.
        finding: `{}` in its reason stands for the program.
    """

    programs: tuple[str, ...]
    conditions: tuple[tuple[str, str], ...]
    finding: Finding


def rows(table: str) -> Iterator[Row]:
    """The rows of a text; a line that begins with `#` is a remark."""
    finding, always = Finding("dangerous", "hidden", ""), ""
    for line in lines_of_table(table):
        if line.startswith("#"):
            continue
        if head := _HEAD.fullmatch(line):
            family = next(one for one in WORST_FIRST if one == head["family"])
            finding, always = Finding("dangerous", family, head["why"], outside=bool(head["outside"])), head["always"]
            continue
        programs, *conditions = _COLUMNS.split(f"{line}  {always or ''}".strip())
        named = (condition.partition(" ") for condition in conditions)
        yield Row(tuple(programs.split()), tuple((kind, expected) for kind, _, expected in named), finding)


def options_with_values(table: str) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Of each program the letters and the longer options whose value may be the next argument; `-` for no letters."""
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    for line in lines_of_table(table):
        programs, options = _COLUMNS.split(line, 1)
        letters, *longer = options.split()
        found.update(dict.fromkeys(programs.split(), (letters.strip("-"), tuple(longer))))
    return found


@dataclass(frozen=True, slots=True)
class Given:
    """What a program is given, in the ways that a row asks for it."""

    texts: tuple[str, ...]
    words: Words
    call: Invocation
    arguments: tuple[Argument, ...]

    @property
    def line(self) -> str:
        """All arguments together."""
        return _one_line(self.texts)

    @property
    def told(self) -> str:
        """The arguments, and the words of the text that comes in, a line for each."""
        return "\n".join((*self.texts, *self.call.input.text.split()))

    @property
    def said(self) -> tuple[str, ...]:
        """The options as they are written, and the first two operands."""
        return (*(text for text in self.texts if text.startswith("-")), *self.words.plain[:_SAID])


def _one_line(given: tuple[str, ...]) -> str:
    return " ".join(re.sub(r"\s", "_", text) for text in given)


@functools.cache
def _compiled(expression: str) -> re.Pattern[str]:
    return re.compile(expression, re.DOTALL)


def _fits(expected: str, found: tuple[str, ...]) -> bool:
    return any(map(_compiled(expected).fullmatch, found))


CONDITIONS: Mapping[str, Callable[[Given, str], bool]] = {
    "verb": lambda given, it: _compiled(f"(?:{it})(?: |$)").match(_one_line(given.words.plain)) is not None,
    "verb!": lambda given, it: bool(given.words.operands) and not _fits(it, given.words.plain[:1]),
    "first": lambda given, it: _fits(it, given.texts[:1]),
    "first!": lambda given, it: not _fits(it, given.texts[:1]),
    "early": lambda given, it: _fits(it, given.words.plain[:_EARLY]),
    "said": lambda given, it: _fits(it, given.said),
    "any": lambda given, it: _fits(it, given.texts),
    "none": lambda given, it: not _fits(it, given.texts),
    "has": lambda given, it: given.words.has(*it.split()),
    "lacks": lambda given, it: not given.words.has(*it.split()),
    "line": lambda given, it: _compiled(it).match(given.line) is not None,
    "told": lambda given, it: _compiled(it).search(given.told) is not None,
    "splits": lambda given, _: any(one.splits for one in given.arguments),
}


class Table:
    """Rows, by their programs.

    Args:
        make: the rows, called with the first question.
        values: as `options_with_values` has them.
    """

    def __init__(self, make: Callable[[], Iterator[Row]], values: Mapping[str, tuple[str, tuple[str, ...]]]) -> None:
        self._make = make
        self._values = values

    @functools.cached_property
    def rows(self) -> tuple[Row, ...]:
        """All of them."""
        return tuple(self._make())

    @functools.cached_property
    def _by_name(self) -> Mapping[str, list[Row]]:
        found: dict[str, list[Row]] = {}
        for row in self.rows:
            for program in row.programs:
                found.setdefault(program, []).append(row)
        return found

    @functools.cached_property
    def _by_form(self) -> Mapping[str, list[Row]]:
        return {name: found for name, found in self._by_name.items() if "*" in name}

    def words_of(self, name: str, arguments: tuple[Argument, ...]) -> Words:
        """The arguments of a program, sorted."""
        return sort_words(arguments, *self._values.get(name, ()))

    def findings(self, name: str, arguments: tuple[Argument, ...], call: Invocation) -> Iterator[Finding]:
        """What the rows say of a program, or a command of one, that `call` runs with these arguments."""
        found = [*self._by_name.get(name, ())]
        found += (row for form, some in self._by_form.items() if fnmatchcase(name, form) for row in some)
        if not found:
            return
        given = Given(texts(arguments), self.words_of(name, arguments), call, arguments)
        for row in found:
            if all(CONDITIONS[kind](given, expected) for kind, expected in row.conditions):
                yield _named(row.finding, call)


def _named(finding: Finding, call: Invocation) -> Finding:
    if "{}" not in finding.why:
        return finding
    return Finding(finding.level, finding.family, finding.why.replace("{}", call.program), outside=finding.outside)
