"""Reads a shell text into simple commands, and what their words stand for. Nothing runs."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from fnmatch import translate
from typing import Literal, Protocol

from tools.changes.scan import DiskView
from tools.light_dataclass import dataclass

# What is left of a shell text after reading it: simple commands in their order, and the subshells around them.


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a word.

    Attributes:
        kind: `text` as written, a `variable` to look up, or something that only the shell can know.
        text: the text, or the variable's name.
        quoted: the shell neither splits it nor looks for globs, braces or a tilde in it.
    """

    kind: Literal["text", "variable", "unknown"]
    text: str = ""
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Word:
    """One word. `scripts` are the commands that run to make it: `$(…)`, backticks, `<(…)`."""

    parts: tuple[Part, ...]
    scripts: tuple[Script, ...] = ()

    @property
    def literal(self) -> str | None:
        """The word's text where nothing in it has to be looked up; globs and braces are as written."""
        if any(part.kind != "text" for part in self.parts):
            return None
        return "".join(part.text for part in self.parts)

    @property
    def bare(self) -> str | None:
        """The word where it is written without any quoting, as keywords are."""
        if len(self.parts) != 1 or self.parts[0].kind != "text" or self.parts[0].quoted:
            return None
        return self.parts[0].text


@dataclass(frozen=True, slots=True)
class Redirect:
    """A redirection. For `<<` the target is the text that follows in the script."""

    operator: str
    target: Word


@dataclass(frozen=True, slots=True)
class Simple:
    """A simple command. `is_piped`: its input is the output of the one before."""

    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...] = ()
    is_piped: bool = False


@dataclass(frozen=True, slots=True)
class Subshell:
    """Where a `( … )` begins or ends."""

    begins: bool


@dataclass(frozen=True, slots=True)
class Script:
    """Commands in the order of the text. `is_certain`: the shell surely reads the text in the same way."""

    items: tuple[Simple | Subshell, ...]
    is_certain: bool


# Words: quotes, escapes, variables, and the scripts inside of a word.

_PLAIN = re.compile(r"[^ \t\n'\"`$\\;&|()<>]+")
_PLAIN_QUOTED = re.compile(r"[^\"\\$`]+")
_VARIABLE = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})", re.ASCII)
_PARAMETER = re.compile(r"\$[0-9@*#?$!-]")
# Those of `${…}` that neither assign nor run anything, and `$((…))` without names.
_HARMLESS = re.compile(r"#?\w+(?:(?:%%?|##?|//?|:?-|:?\+|\^\^?|,,?)[^$`(){}\[\]@!='\"\\]*)?", re.ASCII)
_NUMBERS = re.compile(r"[\d\s+*/%<>=!&|^~?:()-]*", re.ASCII)
_BACKTICKS = re.compile(r"`((?:[^`\\]|\\.)*+)`", re.DOTALL)
_ESCAPED_IN_BACKTICKS = re.compile(r"\\([`$\\])")
_ESCAPED_IN_QUOTED_BACKTICKS = re.compile(r"\\([`$\\\"])")
_ANSI_QUOTED = re.compile(r"\$'((?:[^'\\]|\\.)*+)'", re.DOTALL)
_ANSI_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|u[0-9a-fA-F]{1,4}|.)", re.DOTALL)
_ANSI_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}
_BRACES, _PARENTHESES = re.compile(r"[{}]"), re.compile(r"[()]")
_MAX_DEPTH = 20
_UNKNOWN = Part("unknown")


class TooMuch(Exception):
    """The text is too long or too nested to be read on."""


class Budget:
    """How many steps a reading may still take, nested scripts included."""

    def __init__(self, steps: int = 4_000) -> None:
        self._left = steps

    def spend(self) -> None:
        """Take one step.

        Raises:
            TooMuch: none is left.
        """
        if self._left <= 0:
            raise TooMuch
        self._left -= 1


class NestedReader(Protocol):
    """Reads the script at a reader's place."""

    def __call__(self, words: WordReader, *, closed: bool) -> Script:
        """Up to a closing parenthesis, which is taken too (`closed`), or to the end of the text."""
        ...


class WordReader:
    """A place in a text, and what stands there.

    Attributes:
        at: the place; readers of scripts move it on.
        is_certain: False once something was met that is not followed exactly.
    """

    def __init__(self, text: str, budget: Budget, nested: NestedReader, depth: int = 0) -> None:
        if depth > _MAX_DEPTH:
            raise TooMuch
        self.text = text
        self.at = 0
        self.budget = budget
        self.is_certain = True
        self._nested = nested
        self._depth = depth
        self._parts: list[Part] = []
        self._scripts: list[Script] = []

    def word(self) -> Word:
        """The word at this place; empty where an operator or a blank stands there."""
        outer = self._parts, self._scripts
        self._parts, self._scripts = [], []
        try:
            while self.at < len(self.text) and self._unquoted():
                self.budget.spend()
            return Word(tuple(self._parts), tuple(self._scripts))
        finally:
            self._parts, self._scripts = outer

    def document(self, delimiter: Word, *, strips_tabs: bool) -> Word:
        """The text from here to the line that is `delimiter`, as one quoted word."""
        tabs = r"\t*" if strips_tabs else ""
        end = re.compile(rf"^{tabs}{re.escape(delimiter.literal or '')}$", re.MULTILINE).search(self.text, self.at)
        self.is_certain = self.is_certain and end is not None and delimiter.literal is not None
        body = self.text[self.at : end.start() if end else len(self.text)]
        self.at = end.end() if end else len(self.text)
        is_quoted = any(part.quoted for part in delimiter.parts)
        # A line that goes on in the next one may hide the delimiter, or make it.
        self.is_certain = self.is_certain and (is_quoted or "\\\n" not in body)
        if is_quoted or not re.search(r"[$`\\]", body):
            return Word((Part("text", body, quoted=True),))
        inner = WordReader(body, self.budget, self._nested, self._depth + 1)
        while inner.at < len(body):
            inner.budget.spend()
            if not inner._quoted():
                inner._take(1)  # a quotation mark is nothing special here
        self.is_certain = self.is_certain and inner.is_certain
        return Word(tuple(inner._parts), tuple(inner._scripts))

    def _take(self, length: int, *, quoted: bool = True) -> None:
        self._parts.append(Part("text", self.text[self.at : self.at + length], quoted))
        self.at += length

    def _unquoted(self) -> bool:
        """Take the next piece outside of quotes; False where the word ends."""
        if plain := _PLAIN.match(self.text, self.at):
            self._take(plain.end() - self.at, quoted=False)
            return True
        match self.text[self.at]:
            case "\\":
                self._escape()
            case "'":
                self._single()
            case '"':
                self._double()
            case "$":
                self._dollar(quoted=False)
            case "`":
                self._backticks(quoted=False)
            case "<" | ">" if not self._parts and self.text.startswith("(", self.at + 1):
                self._substitution(2, quoted=False)
            case _:
                return False
        return True

    def _escape(self) -> None:
        escaped = self.text[self.at + 1 : self.at + 2]
        self.at += 2
        if escaped != "\n":
            self._parts.append(Part("text", escaped or "\\", quoted=True))

    def _single(self) -> None:
        end = self._found(self.text.find("'", self.at + 1))
        self._parts.append(Part("text", self.text[self.at + 1 : end], quoted=True))
        self.at = end + 1

    def _found(self, end: int) -> int:
        """`end`, or the end of the text where the search for it failed."""
        if end >= 0:
            return end
        self.is_certain = False
        return len(self.text)

    def _double(self) -> None:
        self._parts.append(Part("text", "", quoted=True))
        self.at += 1
        while self.at < len(self.text):
            self.budget.spend()
            if not self._quoted():
                self.at += 1
                return
        self.is_certain = False

    def _quoted(self) -> bool:
        """Take the next piece inside of double quotes; False at their end."""
        if plain := _PLAIN_QUOTED.match(self.text, self.at):
            self._take(plain.end() - self.at)
            return True
        match self.text[self.at]:
            case "\\" if self.text[self.at + 1 : self.at + 2] in set('$`"\\\n'):
                self._escape()
            case "\\":
                self._take(1)
            case "$":
                self._dollar(quoted=True)
            case "`":
                self._backticks(quoted=True)
            case _:
                return False
        return True

    def _dollar(self, *, quoted: bool) -> None:
        if name := _VARIABLE.match(self.text, self.at):
            self._parts.append(Part("variable", name[1] or name[2], quoted))
            self.at = name.end()
        elif parameter := _PARAMETER.match(self.text, self.at):
            self._unknown(parameter.end(), quoted=quoted)
        elif self.text.startswith("$((", self.at):
            self._arithmetic(quoted=quoted)
        elif self.text.startswith("$(", self.at):
            self._substitution(2, quoted=quoted)
        elif self.text.startswith("${", self.at):
            end = self._balanced(_BRACES, self.at + 1)
            self.is_certain = self.is_certain and bool(_HARMLESS.fullmatch(self.text, self.at + 2, end))
            self._unknown(end + 1, quoted=quoted)
        elif not quoted and (ansi := _ANSI_QUOTED.match(self.text, self.at)):
            self._parts.append(Part("text", _ANSI_ESCAPE.sub(_ansi, ansi[1]), quoted=True))
            self.at = ansi.end()
        elif not quoted and self.text.startswith('$"', self.at):
            self.at += 1
            self._double()
        else:
            self.is_certain = self.is_certain and not self.text.startswith(("$[", "$'"), self.at)
            self._take(1)

    def _unknown(self, end: int, *, quoted: bool) -> None:
        self._parts.append(Part("unknown", "", quoted) if quoted else _UNKNOWN)
        self.at = end

    def _balanced(self, brackets: re.Pattern[str], start: int) -> int:
        """Where the bracket at `start` is closed."""
        depth = 0
        for bracket in brackets.finditer(self.text, start):
            depth += 1 if bracket[0] in "({" else -1
            if depth == 0:
                return bracket.start()
        return self._found(-1)

    def _arithmetic(self, *, quoted: bool) -> None:
        end = self._balanced(_PARENTHESES, self.at + 1)
        if end < len(self.text) and self.text[end - 1] != ")":
            self._substitution(2, quoted=quoted)  # `$((a) | b)`
            return
        self.is_certain = self.is_certain and bool(_NUMBERS.fullmatch(self.text, self.at + 3, end - 1))
        self._unknown(end + 1, quoted=quoted)

    def _substitution(self, opening: int, *, quoted: bool) -> None:
        self.at += opening
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise TooMuch
        self._scripts.append(self._nested(self, closed=True))
        self._depth -= 1
        self._unknown(self.at, quoted=quoted)

    def _backticks(self, *, quoted: bool) -> None:
        found = _BACKTICKS.match(self.text, self.at)
        if found is None:
            self.is_certain = False
            self._take(len(self.text) - self.at)
            return
        escaped = _ESCAPED_IN_QUOTED_BACKTICKS if quoted else _ESCAPED_IN_BACKTICKS
        inner = WordReader(escaped.sub(r"\1", found[1]), self.budget, self._nested, self._depth + 1)
        self._scripts.append(self._nested(inner, closed=False))
        self.is_certain = self.is_certain and inner.is_certain
        self._unknown(found.end(), quoted=quoted)


def _ansi(escape: re.Match[str]) -> str:
    text = escape[1]
    if text[0] in {"x", "u"} and len(text) > 1:
        return chr(int(text[1:], 16))
    if text[0] in "01234567":
        return chr(int(text, 8) & 0xFF)
    return _ANSI_LETTERS.get(text, text)


# The script. What is seldom in an agent's commands (arithmetic, arrays, functions, `case`) is not followed exactly;
# such a script is marked as not certain, and so is one that was too long to be read to its end.

_BLANK = re.compile(r"(?:[ \t]|\\\n)+")
_COMMENT = re.compile(r"#[^\n]*")
_OPERATOR = re.compile(r"\n|&&|\|\||;;&|;&|;;|;|&>>|&>|&|\|&|\||<<<|<<-|<<|<>|<&|<|>>|>&|>\||>|\(|\)")
_REDIRECTS = frozenset({"&>>", "&>", "<<<", "<<-", "<<", "<>", "<&", "<", ">>", ">&", ">|", ">"})
_MAX_CHARS = 1 << 18


def read_script(text: str) -> Script:
    """The commands in `text`, as far as it could be read."""
    shell_text = text[:_MAX_CHARS]
    reader = _ScriptReader(WordReader(shell_text, Budget(), _nested))
    script = reader.read(0)
    return script if len(shell_text) == len(text) else Script(script.items, is_certain=False)


def _nested(words: WordReader, *, closed: bool) -> Script:
    """The script at the word reader's place: up to the closing parenthesis, or to the end of the text."""
    depth = 1 if closed else 0
    script = _ScriptReader(words).read_strictly(depth)
    if closed and words.at < len(words.text):
        words.at += 1
    return script


@dataclass(slots=True)
class _Document:
    """A `<<` whose text comes after the line; `item` and `place` tell which redirection of which command it is."""

    strips_tabs: bool
    delimiter: Word
    place: int
    item: int = -1


class _ScriptReader:
    def __init__(self, words: WordReader) -> None:
        self._in = words
        self._items: list[Simple | Subshell] = []
        self._words: list[Word] = []
        self._redirects: list[Redirect] = []
        self._documents: list[_Document] = []
        self._is_piped = False
        self._is_certain = True
        self._open = 0

    def read(self, depth: int) -> Script:
        try:
            return self.read_strictly(depth)
        except TooMuch:
            self._end_command()
            return Script(tuple(self._items), is_certain=False)

    def read_strictly(self, depth: int) -> Script:
        """Read up to the parenthesis that closes what was open before (`depth` 1), or to the end of the text."""
        while self._in.at < len(self._in.text):
            self._in.budget.spend()
            if not self._one(is_nested=depth > 0):
                break
        else:
            self._is_certain = self._is_certain and depth == 0 and self._open == 0
        self._end_command()
        # A document that never began is empty, as it is to the shell.
        return Script(tuple(self._items), self._is_certain and self._in.is_certain and not self._documents)

    def _one(self, *, is_nested: bool) -> bool:
        """Take one token; False at the parenthesis that ends a nested script."""
        reader = self._in
        if blank := _BLANK.match(reader.text, reader.at):
            reader.at = blank.end()
            return True
        if comment := _COMMENT.match(reader.text, reader.at):
            reader.at = comment.end()
            return True
        if reader.text.startswith(("<(", ">("), reader.at):
            self._words.append(reader.word())
            return True
        operator = _OPERATOR.match(reader.text, reader.at)
        if operator is None:
            self._take_word()
            return True
        if operator[0] == ")" and is_nested and not self._open:
            return False
        reader.at = operator.end()
        self._operator(operator[0])
        return True

    def _take_word(self) -> None:
        word = self._in.word()
        next_char = self._in.text[self._in.at : self._in.at + 1]
        if next_char in {"<", ">"} and (word.bare or "").isdecimal():
            return  # the number of a file descriptor
        if word.bare == "case" and not self._words:
            self._is_certain = False
        self._words.append(word)

    def _operator(self, operator: str) -> None:
        if operator in _REDIRECTS:
            self._redirect(operator)
            return
        if operator == "(":
            # After a word this is a function or an array.
            self._is_certain = self._is_certain and not self._words
        self._end_command()
        if operator == "(":
            self._open += 1
            self._items.append(Subshell(begins=True))
        elif operator == ")":
            self._is_certain = self._is_certain and self._open > 0
            self._open = max(0, self._open - 1)
            self._items.append(Subshell(begins=False))
        elif operator == "\n":
            self._read_documents()
        self._is_piped = operator in {"|", "|&"}

    def _redirect(self, operator: str) -> None:
        reader = self._in
        if blank := _BLANK.match(reader.text, reader.at):
            reader.at = blank.end()
        is_process = reader.text.startswith(("<(", ">("), reader.at)
        target = Word(()) if _OPERATOR.match(reader.text, reader.at) and not is_process else reader.word()
        if not target.parts:
            self._is_certain = False
        if operator in {"<<", "<<-"}:
            self._documents.append(_Document(operator == "<<-", target, len(self._redirects)))
        self._redirects.append(Redirect(operator, target))

    def _read_documents(self) -> None:
        documents, self._documents = self._documents, []
        for document in documents:
            body = self._in.document(document.delimiter, strips_tabs=document.strips_tabs)
            command = self._items[document.item]
            if isinstance(command, Simple):
                redirects = list(command.redirects)
                redirects[document.place] = Redirect(redirects[document.place].operator, body)
                self._items[document.item] = replace(command, redirects=tuple(redirects))

    def _end_command(self) -> None:
        if not self._words and not self._redirects:
            return
        for document in reversed(self._documents):
            if document.item >= 0:
                break
            document.item = len(self._items)
        self._items.append(Simple(tuple(self._words), tuple(self._redirects), self._is_piped))
        self._words, self._redirects = [], []


# What the words of a command stand for, as far as that can be known without running anything.

_SPECIAL = "*?[]{},~"
# Quoted special characters are carried as private ones, so that each step leaves them alone.
_HIDE = {ord(char): 0xF0000 + ord(char) for char in _SPECIAL}
_SHOW = {hidden: plain for plain, hidden in _HIDE.items()}
_GLOB = re.compile(r"[*?\[]")
_INNERMOST_BRACES = re.compile(r"\{([^{}]*)\}")
_NUMBER_RANGE = re.compile(r"(-?\d{1,6})\.\.(-?\d{1,6})", re.ASCII)
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=", re.ASCII)
_MAX_FIELDS = 1_000
_MAX_BRACED = 200
_MAX_PATTERN = 500
_MAX_VALUES = 200
_MAX_VALUE_CHARS = 4096


@dataclass(slots=True)
class Surroundings:
    """What a shell knows when it comes to a command.

    Attributes:
        cwd: its directory, None where that cannot be known.
        variables: what each known variable may hold; one that is missing holds nobody knows what.
        disk: where globs are looked up.
    """

    cwd: str | None
    disk: DiskView
    variables: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def copy(self) -> Surroundings:
        """The same for a subshell: what it changes is not seen outside."""
        return Surroundings(self.cwd, self.disk, dict(self.variables))

    def absolute(self, path: str) -> str | None:
        """`path` from the root of the disk, None where that cannot be known."""
        if path.startswith("/"):
            return path
        return None if self.cwd is None or not path else f"{self.cwd.rstrip('/')}/{path}"


def starting(cwd: str, environment: Mapping[str, str], disk: DiskView) -> Surroundings:
    """What a new shell knows."""
    known: dict[str, tuple[str, ...]] = {"PWD": (cwd,)}
    if home := environment.get("HOME"):
        known["HOME"] = (home,)
    return Surroundings(cwd, disk, known)


def expanded(word: Word, around: Surroundings) -> tuple[str | None, ...]:
    """The arguments that a word becomes; None for one that cannot be known."""
    values = None if around.disk.is_spent() else _values(word, around)
    if values is None:
        return (None,)
    if any(len(value) > _MAX_VALUE_CHARS for value in values):
        return tuple(value.translate(_SHOW) for value in values)
    braced = itertools.chain.from_iterable(_braced(value) for value in values)
    fields = itertools.chain.from_iterable(_globbed(_with_home(text, around), around) for text in braced)
    return tuple(text.translate(_SHOW) for text in itertools.islice(fields, _MAX_FIELDS))


def all_expanded(words: Iterable[Word], around: Surroundings) -> tuple[str | None, ...]:
    """The arguments that many words become, at most a thousand."""
    fields = itertools.chain.from_iterable(expanded(word, around) for word in words)
    return tuple(itertools.islice(fields, _MAX_FIELDS))


def assigned(word: Word, around: Surroundings) -> tuple[str, tuple[str, ...] | None] | None:
    """The name and value of `name=value`; the value is None where it cannot be known. None for other words."""
    first = word.parts[0] if word.parts else None
    if first is None or first.quoted or first.kind != "text":
        return None
    name = _ASSIGNMENT.match(first.text)
    if name is None:
        return None
    if name[0].endswith("+="):
        return name[1], None
    values = _values(word, around)
    if values is None:
        return name[1], None
    return name[1], tuple(_with_home(value[name.end() :], around).translate(_SHOW) for value in values)


def _values(word: Word, around: Surroundings) -> list[str] | None:
    """The word with its variables filled in, once for each value that they may have."""
    found = [""]
    for part in word.parts:
        if part.kind == "unknown":
            return None
        if part.kind == "text":
            pieces: tuple[str, ...] = (part.text.translate(_HIDE) if part.quoted else part.text,)
        else:
            values = around.variables.get(part.text)
            if values is None:
                return None
            pieces = tuple(_split(values)) if len(word.parts) == 1 and not part.quoted else values
            pieces = tuple(piece.translate(_HIDE) if part.quoted else _hide_braces(piece) for piece in pieces)
        found = [text + piece for text, piece in itertools.islice(itertools.product(found, pieces), _MAX_VALUES)]
        if part.kind == "variable" and any(len(text) > _MAX_VALUE_CHARS for text in found):
            return None
    return found


def _split(values: tuple[str, ...]) -> Iterator[str]:
    for value in values:
        yield from value.split()


def _hide_braces(text: str) -> str:
    return text.translate({ord(char): _HIDE[ord(char)] for char in "{},~"})


def _with_home(text: str, around: Surroundings) -> str:
    if text != "~" and not text.startswith("~/"):
        return text
    home = around.variables.get("HOME")
    return home[0].translate(_HIDE) + text[1:] if home else text


def _braced(text: str) -> list[str]:
    """`a{b,c}` as `ab`, `ac`; innermost first, which gives the same words in another order."""
    done: list[str] = []
    waiting = [text]
    steps = 0
    while waiting and steps < _MAX_BRACED:
        steps += 1
        current = waiting.pop()
        found = _INNERMOST_BRACES.search(current)
        if found is None:
            done.append(current)
            continue
        head, tail = current[: found.start()], current[found.end() :]
        waiting.extend(f"{head}{choice}{tail}" for choice in _choices(found[1])[:_MAX_BRACED])
    return [*done, *waiting][:_MAX_BRACED]


def _choices(inside: str) -> list[str]:
    if numbers := _NUMBER_RANGE.fullmatch(inside):
        first, last = int(numbers[1]), int(numbers[2])
        step = 1 if first <= last else -1
        return [str(number) for number in itertools.islice(range(first, last + step, step), _MAX_BRACED)]
    if "," in inside:
        return inside.split(",")
    return [f"{{{inside}}}".translate({ord(char): _HIDE[ord(char)] for char in "{}"})]


def _globbed(text: str, around: Surroundings) -> Iterator[str]:
    """The paths that match, or the text itself where it is no pattern or nothing matches."""
    if not _GLOB.search(text) or len(text) > _MAX_PATTERN:
        yield text
        return
    start = "/" if text.startswith("/") else ""
    paths = [start]
    for component in re.split(r"/+", text.strip("/")):
        paths = list(itertools.islice(_matching(paths, component, around), _MAX_FIELDS))
    yield from sorted(path.translate(_HIDE) for path in paths) or [text]


def _matching(folders: list[str], component: str, around: Surroundings) -> Iterator[str]:
    if not _GLOB.search(component):
        for folder in folders:
            path = folder + component.translate(_SHOW)
            if (where := around.absolute(path)) and around.disk.exists(where):
                yield f"{path}/" if around.disk.is_directory(where) else path
        return
    pattern = re.compile(translate(component.replace("[^", "[!").translate(_SHOW_FOR_PATTERN)))
    for folder in folders:
        where = around.absolute(folder or ".")
        for entry in around.disk.entries(where) if where else ():
            if pattern.match(entry.name) and (component[0] == "." or not entry.name.startswith(".")):
                yield f"{folder}{entry.name}/" if around.disk.is_directory(entry.path) else folder + entry.name


_SHOW_FOR_PATTERN = {
    hidden: f"[{chr(plain)}]" if chr(plain) in "*?[" else chr(plain) for plain, hidden in _HIDE.items()
}
