"""A program that searches where there is no `rg`: it knows the options that are used here, and prints the same.

It is started for each search: nothing here imports `dataclasses` or `pathlib`, which take longer than a search, and
nothing but the standard library and `tools.text.globs`. Files over 64 MB are not searched.
"""

from __future__ import annotations

import base64
import json
import os
import re
import resource
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from tools.environments import file_types
from tools.text.globs import GlobError, NamePattern, Rules

# Regular expressions as `rg` reads them, for Python's `re`.
# What `re` has no word for is refused by name; nothing is searched for with another meaning.

_POSIX = {
    "alpha": "a-zA-Z", "digit": "0-9", "alnum": "a-zA-Z0-9", "upper": "A-Z", "lower": "a-z", "word": r"a-zA-Z0-9_",
    "space": r"\t\n\v\f\r ", "blank": r"\t ", "xdigit": "0-9A-Fa-f", "punct": r"!-/:-@\[-`{-~", "ascii": r"\x00-\x7f",
    "cntrl": r"\x00-\x1f\x7f", "graph": "!-~", "print": " -~",
}  # fmt: skip
_ESCAPES = {
    "z": r"\Z", "<": r"\b(?=\w)", ">": r"\b(?<=\w)", "b{start}": r"\b(?=\w)", "b{end}": r"\b(?<=\w)",
    "b{start-half}": r"(?<!\w)", "b{end-half}": r"(?!\w)", "h": r"[ \t]", "a": r"\a",
}  # fmt: skip
_FLAGS = re.compile(r"\(\?([a-zA-Z]*(?:-[a-zA-Z]+)?)([:)])")
_ESCAPE = re.compile(r"\\(b\{[a-z-]+\}|[xuU]\{[0-9A-Fa-f]+\}|[pP](?:\{[^}]*\}|.)|.)", re.DOTALL)
_CHARACTER = re.compile(r"[xuU]\{([0-9A-Fa-f]+)\}")
_LOOKS_AROUND = re.compile(r"\(\?<?[=!]")
_AT_AN_END = re.compile(r"\(\?<?[=!]|\\[AZ]")
_SIMPLE = re.compile(r"[\w /\"'=:;,<>@%&~`!-]")


class PatternError(ValueError):
    """The pattern is wrong, or cannot be said in Python's words."""


class Pattern(NamedTuple):
    """A compiled pattern.

    Attributes:
        literal: text that stands in every match ('' for none that is known), as bytes.
        beyond: whether it matches in a line may depend on what is around the line.
        looks_around: because it has look-around.
    """

    expression: re.Pattern[str]
    literal: bytes
    beyond: bool
    looks_around: bool


def compiled(text: str, *, fixed: bool, ignore_case: bool, dotall: bool) -> Pattern:
    """The pattern, with `^` and `$` at lines.

    Raises:
        PatternError
    """
    flags = re.MULTILINE | (re.IGNORECASE if ignore_case else 0) | (re.DOTALL if dotall else 0)
    literal = "" if ignore_case else text if fixed else _literal(text)
    source = re.escape(text) if fixed else _Translation(text).result()
    try:
        expression = re.compile(source, flags)
    except (re.error, OverflowError, RecursionError) as problem:
        raise PatternError(_explained(text, source, problem)) from problem
    looks_around = not fixed and bool(_LOOKS_AROUND.search(text))
    beyond = looks_around or (not fixed and bool(_AT_AN_END.search(source)))
    return Pattern(expression, literal.encode("utf-8", "surrogateescape"), beyond, looks_around)


def _explained(text: str, source: str, problem: Exception) -> str:
    words = {"missing ), unterminated subpattern": "unclosed group", "unbalanced parenthesis": "unopened group"}
    said = getattr(problem, "msg", str(problem))
    at = getattr(problem, "pos", None)
    caret = f"    {' ' * at}^\n" if isinstance(at, int) and source == text and "\n" not in text else ""
    return f"regex parse error:\n    {text}\n{caret}error: {words.get(said, said)}"


class _Translation:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        # For each open group, the flags set inside it: `(?i)` holds to the group's end, over its alternatives.
        self._groups: list[list[str]] = [[]]
        self._out: list[str] = []

    def result(self) -> str:
        while self._at < len(self._text):
            self._step(self._text[self._at])
        self._out.append(")" * len(self._groups[-1]))
        return "".join(self._out)

    def _step(self, char: str) -> None:
        if char == "\\":
            self._out.append(self._escape(in_class=False))
        elif char == "[":
            self._class()
        elif char == "(":
            self._open()
        else:
            self._at += 1
            self._out.append(self._closing(char))

    def _closing(self, char: str) -> str:
        scoped = self._groups[-1]
        if char == ")":
            if len(self._groups) > 1:
                self._groups.pop()
                return ")" * len(scoped) + char
        elif char == "|" and scoped:
            return ")" * len(scoped) + "|" + "".join(f"(?{flags}:" for flags in scoped)
        return char

    def _open(self) -> None:
        rest = self._text[self._at :]
        found = _FLAGS.match(rest)
        if not found:
            named = re.match(r"\(\?<(?![=!])", rest)
            self._at += named.end() if named else 1
            self._out.append("(?P<" if named else "(")
            self._groups.append([])
            return
        if set(found[1]) - set("imsxuR-"):
            raise self._unknown(found[0])
        flags = re.sub("[uR]", "", found[1]).removesuffix("-")
        self._at += found.end()
        if found[2] == ":":
            self._groups.append([])
            self._out.append(f"(?{flags}:")
        elif flags:
            self._groups[-1].append(flags)
            self._out.append(f"(?{flags}:")

    def _escape(self, *, in_class: bool) -> str:
        found = _ESCAPE.match(self._text, self._at)
        if not found:
            raise PatternError(f"regex parse error:\n    {self._text}\nerror: incomplete escape sequence")
        self._at = found.end()
        word = found[1]
        if character := _CHARACTER.fullmatch(word):
            return re.escape(chr(min(int(character[1], 16), 0x10FFFF)))
        if word[0] in "pP" or (len(word) > 1 and word not in _ESCAPES):
            raise self._unknown(found[0])
        if in_class:
            return found[0] if word not in {"<", ">", "h"} else re.escape(word)
        return _ESCAPES.get(word, found[0])

    def _class(self) -> None:
        opened = re.compile(r"\[\^?\]?").match(self._text, self._at)
        assert opened  # noqa: S101 - it begins with a bracket
        self._at = opened.end()
        parts = [re.sub(r"\]$", r"\\]", opened[0])]
        while self._at < len(self._text):
            char = self._text[self._at]
            if char == "]":
                self._at += 1
                self._out.append("".join(parts) + "]")
                return
            parts.append(self._in_class(char))
        raise PatternError(f"regex parse error:\n    {self._text}\nerror: unclosed character class")

    def _in_class(self, char: str) -> str:
        if char == "\\":
            return self._escape(in_class=True)
        posix = re.compile(r"\[:(\w+):\]").match(self._text, self._at)
        if posix and posix[1] in _POSIX:
            self._at = posix.end()
            return _POSIX[posix[1]]
        if char == "[" or self._text[self._at : self._at + 2] in {"&&", "--", "~~"}:
            raise self._unknown(f"a class inside a class ({self._text[self._at : self._at + 2]})")
        self._at += 1
        return char

    def _unknown(self, what: str) -> PatternError:
        return PatternError(f"regex parse error:\n    {self._text}\nerror: {what} is not supported without ripgrep")


def _literal(text: str) -> str:
    """The longest text that stands in every match of the expression, as far as that is easily seen."""
    if "|" in text or "(?" in text or "[" in text or "{" in text:
        return ""
    runs, run, depth, at = [""], "", 0, 0
    while at < len(text):
        char = text[at]
        depth += (char == "(") - (char == ")")
        escaped = char == "\\" and at + 1 < len(text)
        if escaped:
            at += 1
            char = text[at]
        plain = not char.isalnum() and char not in "<>_" if escaped else bool(_SIMPLE.match(char))
        if plain and not depth:
            run += char
        else:
            # What is repeated may stand there no time.
            runs.append(run[:-1] if char in "*?" and not escaped else run)
            run = ""
        at += 1
    return max([*runs, run], key=len)


# Finds a pattern in one file's text: how often, and where, as `rg --json` tells it.

Span = tuple[int, int]


class Finder:
    """Looks for `pattern`; across lines if `spans`."""

    def __init__(self, pattern: Pattern, *, spans: bool = False) -> None:
        self.pattern = pattern
        self.spans = spans

    def count(self, text: str) -> int:
        """How many matches there are: lines, or places where it looks across lines."""
        return sum(1 for _ in self.matches(text))

    def matches(self, text: str) -> Iterator[Span]:
        """Where the matches begin and end; one a line, unless it looks across lines."""
        if self.spans:
            return (found.span() for found in self.pattern.expression.finditer(text) if found.start() < len(text))
        return self._line_by_line(text) if self.pattern.beyond else self._by_candidates(text)

    def _by_candidates(self, text: str) -> Iterator[Span]:
        # What is found in the whole text says no more than that no line before it matches.
        at = 0
        search = self.pattern.expression.search
        while at < len(text) and (candidate := search(text, at)):
            if candidate.start() == len(text) and text.endswith("\n"):
                return  # behind the last break is no line
            start = text.rfind("\n", at, candidate.start()) + 1 or at
            end = text.find("\n", candidate.start())
            end = len(text) if end < 0 else end
            if candidate.end() <= end:
                yield candidate.span()
            elif found := search(text, start, end):
                yield found.span()
            at = end + 1

    def _line_by_line(self, text: str) -> Iterator[Span]:
        at = 0
        seen_break = self.pattern.looks_around
        for line in text.removesuffix("\n").split("\n") if text else ():
            # What looks around sees the line's end as ripgrep's other engine does, with the break.
            if found := self.pattern.expression.search(text[at : at + len(line) + seen_break]):
                yield at + min(found.start(), len(line)), at + min(found.end(), len(line))
            at += len(line) + 1


def events(name: str, text: str, matches: Iterator[Span], context: int) -> Iterator[str]:
    """The lines of JSON about one file: where it begins, its matches, the lines around them, where it ends."""
    path: dict[str, object] = {"path": _text(name)}
    begun = False
    number, at, shown = 1, 0, 0  # line `number` begins at `at`; all before `shown` has been told
    trailing = 0
    for start, end, spans in _blocks(text, matches):
        if not begun:
            yield _event("begin", path)
            begun = True
        for line_start, line_end in _around(text, shown, start, trailing, context):
            number += text.count("\n", at, line_start)
            at = line_start
            yield _event("context", path | _lines_told(text, line_start, line_end, number, []))
        number += text.count("\n", at, start)
        at = start
        yield _event("match", path | _lines_told(text, start, end, number, spans))
        shown, trailing = end, context
    if begun:
        for line_start, line_end in _around(text, shown, len(text), trailing, 0):
            number += text.count("\n", at, line_start)
            at = line_start
            yield _event("context", path | _lines_told(text, line_start, line_end, number, []))
        yield _event("end", path)


def _blocks(text: str, matches: Iterator[Span]) -> Iterator[tuple[int, int, list[Span]]]:
    """Whole lines with the matches in them; matches that share a line are together."""
    block: tuple[int, int, list[Span]] | None = None
    for start, end in matches:
        first = text.rfind("\n", 0, start) + 1
        last = text.find("\n", max(start, end - 1))
        last = len(text) if last < 0 else last + 1
        if block and first < block[1]:
            block = (block[0], max(block[1], last), [*block[2], (start, end)])
            continue
        if block:
            yield block
        block = (first, last, [(start, end)])
    if block:
        yield block


def _around(text: str, start: int, end: int, after: int, before: int) -> list[Span]:
    """The lines between `start` and `end` that are among the first `after` or the last `before`."""
    first: list[Span] = []
    while start < end and len(first) < after:
        stop = text.find("\n", start, end) + 1 or end
        first.append((start, stop))
        start = stop
    last: list[Span] = []
    while end > start and len(last) < before:
        begin = text.rfind("\n", start, end - 1) + 1 or start
        last.append((begin, end))
        end = begin
    return first + last[::-1]


def _lines_told(text: str, start: int, end: int, number: int, spans: list[Span]) -> dict[str, object]:
    def offset(at: int) -> int:
        return len(text[start:at].encode("utf-8", "surrogateescape"))

    submatches = [{"start": offset(first), "end": offset(last)} for first, last in spans]
    return {"lines": _text(text[start:end]), "line_number": number, "submatches": submatches}


def _text(text: str) -> dict[str, str]:
    raw = text.encode("utf-8", "surrogateescape")
    try:
        return {"text": raw.decode()}
    except UnicodeDecodeError:
        return {"bytes": base64.b64encode(raw).decode()}


def _event(kind: str, data: dict[str, object]) -> str:
    return json.dumps({"type": kind, "data": data}) + "\n"


# Which files git's and ripgrep's ignore files leave out, level by level.

_NAMES = (".rgignore", ".ignore", ".gitignore")
_EXCLUDES_FILE = re.compile(r'^\s*excludesfile\s*=\s*"?\s*(\S+?)\s*"?\s*$', re.IGNORECASE | re.MULTILINE)


class _Level(NamedTuple):
    """The rules in one folder: by kind, in the order of `_NAMES`, then `.git/info/exclude`.

    A path relative to the searched folder becomes one relative to this: `strip` characters off, `prefix` in front.
    """

    rules: tuple[Rules, ...]
    strip: int
    prefix: str


class Ignoring:
    """The rules that hold in one folder, its own and those of the folders above."""

    def __init__(self, levels: tuple[_Level, ...], everywhere: Rules, *, reads: bool = True) -> None:
        self._reads = reads
        self._levels = levels  # the innermost first
        self._everywhere = everywhere
        self._order = list(_in_order(levels))
        if everywhere:
            self._order.append((everywhere, 0, ""))

    def inside(self, folder: str, names: Iterable[str], place: str) -> Ignoring:
        """The rules in a folder below.

        Args:
            folder: its path, absolute or from here; `names`: what is in it; `place`: the same folder as paths are
                written, with a slash behind it, '' for the searched folder itself.
        """
        level = _level(folder, set(names), len(place), "") if self._reads else None
        return Ignoring((level, *self._levels), self._everywhere) if level else self

    def ignores(self, path: str, is_folder: bool) -> bool:
        """Whether `path`, relative to the searched folder, is left out."""
        for rules, strip, prefix in self._order:
            verdict = rules.ignores(prefix + path[strip:], is_folder)
            if verdict is not None:
                return verdict
        return False


def around(folder: str) -> Ignoring:
    """What holds in `folder` because of the folders that it is in, and of the user's own settings of git.

    Args:
        folder: its absolute path.
    """
    levels: list[_Level] = []
    above, below = folder, ""
    while above != "/":
        above, _, name = above.rpartition("/")
        above, below = above or "/", f"{name}/{below}"
        present = {name for name in (*_NAMES, ".git") if os.path.lexists(os.path.join(above, name))}
        if level := _level(above, present, 0, below):
            levels.append(level)
    return Ignoring(tuple(levels), Rules(_lines_of(_users_file())))


def nothing() -> Ignoring:
    """No rules at all, here or below."""
    return Ignoring((), Rules(()), reads=False)


def _level(folder: str, names: set[str], strip: int, prefix: str) -> _Level | None:
    has_git = ".git" in names
    if not has_git and names.isdisjoint(_NAMES):
        return None
    files = [Rules(_lines_of(os.path.join(folder, name)) if name in names else ()) for name in _NAMES]
    exclude = Rules(_lines_of(os.path.join(folder, ".git/info/exclude")) if has_git else ())
    return _Level((*files, exclude), strip, prefix)


def _in_order(levels: tuple[_Level, ...]) -> Iterable[tuple[Rules, int, str]]:
    # Each kind goes before the next, whichever folder it is in.
    for kind in range(len(_NAMES) + 1):
        for level in levels:
            if level.rules[kind]:
                yield level.rules[kind], level.strip, level.prefix


def _lines_of(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8-sig", errors="surrogateescape") as file:
            return file.read().split("\n")
    except OSError:
        return []


def _users_file() -> str:
    home = os.path.expanduser("~")
    settings = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    for path in (os.path.join(home, ".gitconfig"), os.path.join(settings, "git/config")):
        if found := _EXCLUDES_FILE.search("\n".join(_lines_of(path))):
            return os.path.expanduser(found[1])
    return os.path.join(settings, "git/ignore")


# The options of `rg` that are used here, read as `rg` reads them.

Task = Literal["--files", "--count", "--count-matches", "--files-with-matches", "--json"]
_TASKS: tuple[Task, ...] = ("--files", "--count", "--count-matches", "--files-with-matches", "--json")
_SWITCHES = frozenset({"--no-ignore", "--crlf", "--fixed-strings", "--ignore-case", "--text"}) | {
    "--multiline",
    "--multiline-dotall",
}
# They are so here in any case.
_GIVEN = frozenset(
    {"--no-config", "--no-ignore-messages", "--hidden", "--no-require-git", "--color=never", "--null"}
) | {"--with-filename", "--threads=1", "--engine=auto"}


class Options:
    """What is to be done, and where."""

    def __init__(self) -> None:
        self.task: Task = "--files"
        self.pattern = ""
        self.switches: set[str] = set()
        self.globs: list[str] = []
        self.kinds: list[str] = []
        self.context = 0
        self.max_bytes = 64 << 20
        self.paths: list[str] = []


def read(arguments: Sequence[str]) -> Options:
    """The options.

    Raises:
        ValueError: one of them is not known.
    """
    options = Options()
    rest = list(arguments)
    while rest and (word := rest.pop(0)) != "--":
        name, _, value = word.partition("=")
        if word in _SWITCHES:
            options.switches.add(word)
        elif word in _TASKS:
            options.task = word
        elif word == "--regexp":
            options.pattern = rest.pop(0)
        elif word == "--glob":
            options.globs.append(rest.pop(0))
        elif word == "--type":
            options.kinds.append(rest.pop(0))
        elif name == "--context":
            options.context = int(value)
        elif name == "--max-filesize":
            options.max_bytes = int(value.removesuffix("M")) << 20
        elif word not in _GIVEN:
            raise ValueError(f"unrecognized flag {word}")
    options.paths = rest
    return options


# Lists the files below a folder, in any order, without those that are left out. Links are not followed.


class Choice(NamedTuple):
    """Which files are wanted.

    Attributes:
        globs: they go before all ignore files.
        kinds: globs of names, of which one has to match; none for any name.
        ignored: ignore files do not count.
        complain: is told of each folder that cannot be read.
    """

    complain: Callable[[str, OSError], None]
    globs: tuple[NamePattern, ...] = ()
    kinds: tuple[NamePattern, ...] = ()
    ignored: bool = False


def files(choice: Choice) -> Iterator[str]:
    """The files below the working directory, as `./a/b`."""
    start = nothing() if choice.ignored else around(os.getcwd())
    folders: list[tuple[str, Ignoring]] = [("", start)]
    while folders:
        place, above = folders.pop()
        try:
            with os.scandir(place or ".") as scan:
                entries = list(scan)
        except OSError as problem:
            choice.complain(f"./{place}".removesuffix("/"), problem)
            continue
        rules = above.inside(place or ".", (entry.name for entry in entries), place)
        for entry in entries:
            path = place + entry.name
            if entry.is_dir(follow_symlinks=False):
                if _wanted(choice, rules, path, is_folder=True):
                    folders.append((f"{path}/", rules))
            elif entry.is_file(follow_symlinks=False) and _wanted(choice, rules, path, is_folder=False):
                yield f"./{path}"


def _wanted(choice: Choice, rules: Ignoring, path: str, *, is_folder: bool) -> bool:
    verdict = _asked_for(choice.globs, path, is_folder)
    if verdict is False or (verdict is None and rules.ignores(path, is_folder)):
        return False
    if verdict or is_folder or not choice.kinds:
        return True
    name = path.rpartition("/")[2]
    return any(kind.decides(name, is_folder=False) for kind in choice.kinds)


def _asked_for(globs: tuple[NamePattern, ...], path: str, is_folder: bool) -> bool | None:
    """What the globs say: the last that is about the path, and where one asks for files, no other file."""
    for glob in reversed(globs):
        if glob.decides(path, is_folder):
            return not glob.excludes
    return False if not is_folder and any(not glob.excludes for glob in globs) else None


# The program: reads its options, lists files, finds in them, prints.

_BLOCK = 1 << 18
_CPU_SECONDS = 300
# A write of no more than that comes out in one piece, whoever else writes.
_WHOLE_WRITE = 4096
_WORTH_SHARING = 200
_MAX_WORKERS = 8


def main() -> None:
    """Do what the arguments say; the exit code is 2 where they are wrong."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    # Nobody may be left to stop it.
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS if most < 0 else min(_CPU_SECONDS, most), most))
    try:
        _run(read(sys.argv[1:]))
    except LookupError as problem:
        sys.exit(f"rg: unrecognized file type: {problem.args[0]}")
    except (GlobError, PatternError, ValueError) as problem:
        sys.exit(f"rg: {problem}")


def _run(asked: Options) -> None:
    choice = Choice(
        _complain,
        tuple(map(NamePattern, asked.globs)),
        tuple(NamePattern(glob) for kind in asked.kinds for glob in file_types.globs_of(kind)),
        ignored="--no-ignore" in asked.switches,
    )
    names = files(choice) if asked.paths == ["./"] else iter(asked.paths)
    if asked.task == "--files":
        _print(name.encode(errors="surrogateescape") + b"\0" for name in names)
        return
    search = _search(asked)
    if asked.task == "--json":
        for name in names:
            _print(search.told(name, asked.context))
        return
    for mine in _shared(list(names)):
        _print(search.summed(mine, counted=asked.task != "--files-with-matches"))


def _search(asked: Options) -> _Search:
    has = asked.switches.__contains__
    pattern = compiled(
        asked.pattern,
        fixed=has("--fixed-strings"),
        ignore_case=has("--ignore-case"),
        dotall=has("--multiline-dotall"),
    )
    finder = Finder(pattern, spans=has("--multiline"))
    return _Search(finder, asked.max_bytes, binary=has("--text"), one_break=has("--crlf"))


class _Search(NamedTuple):
    finder: Finder
    max_bytes: int
    binary: bool
    one_break: bool

    def summed(self, names: Iterable[str], *, counted: bool) -> Iterator[bytes]:
        """For each file that matches its name and its count, or its name alone."""
        literal = self.finder.pattern.literal
        for name in names:
            data = self._data(name)
            if not data or (literal and literal not in data):
                continue
            text = self._text(data)
            if counted and (count := self.finder.count(text)):
                yield name.encode(errors="surrogateescape") + b"\0%d\n" % count
            elif not counted and any(True for _ in self.finder.matches(text)):
                yield name.encode(errors="surrogateescape") + b"\0"

    def told(self, name: str, context: int) -> Iterator[bytes]:
        """What `--json` prints of one file."""
        text = self._text(self._data(name))
        for event in events(name, text, self.finder.matches(text), context):
            yield event.encode()

    def _text(self, data: bytes) -> str:
        text = data.decode("utf-8", "surrogateescape")
        return text.replace("\r\n", "\n") if self.one_break and b"\r" in data else text

    def _data(self, name: str) -> bytes:
        """A file's bytes as UTF-8; nothing where it is not text, or cannot be read."""
        try:
            descriptor = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as problem:
            _complain(name, problem)
            return b""
        try:
            data = os.read(descriptor, _BLOCK)
            if len(data) == _BLOCK:
                data = self._rest(descriptor, data)
        except OSError as problem:
            _complain(name, problem)
            return b""
        finally:
            os.close(descriptor)
        if data.startswith((b"\xff\xfe", b"\xfe\xff")):
            return data.decode("utf-16", "replace").encode()
        if b"\0" in data and not self.binary:
            return b""
        return data.removeprefix(b"\xef\xbb\xbf")

    def _rest(self, descriptor: int, start: bytes) -> bytes:
        if (b"\0" in start and not self.binary) or os.fstat(descriptor).st_size > self.max_bytes:
            return b""
        with open(descriptor, "rb", closefd=False) as file:
            return start + file.read(self.max_bytes)


def _shared(names: list[str]) -> Iterator[list[str]]:
    """What this process has to look at; for much there are more of it, a part for each."""
    workers = min(_MAX_WORKERS, os.cpu_count() or 1, 1 + len(names) // _WORTH_SHARING)
    children = []
    for number in range(1, workers):
        if (child := os.fork()) == 0:
            yield names[number::workers]
            os._exit(0)
        children.append(child)
    yield names[::workers]
    for child in children:
        os.waitpid(child, 0)


def _print(pieces: Iterable[bytes]) -> None:
    waiting = bytearray()
    for piece in pieces:
        if len(waiting) + len(piece) > _WHOLE_WRITE:
            _write(waiting)
            waiting.clear()
        waiting += piece
    _write(waiting)


def _write(data: bytes | bytearray) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


def _complain(name: str, problem: OSError) -> None:
    line = f"rg: {name}: {problem.strerror} (os error {problem.errno})\n"
    os.write(2, line.encode(errors="surrogateescape"))
