"""What a shell command is likely to change, told from the programs that it may run. Nothing is executed."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase, translate
from pathlib import Path, PurePosixPath

from tools.approval.commands import classify_command
from tools.approval.commands.bash.reading import UNKNOWN, Argument, Invocation, Reading, Redirection
from tools.changes.scan import DiskView, is_generated, reached
from tools.light_dataclass import dataclass

# The options of a command line and its operands, as the usual programs tell them apart.

Arguments = tuple[str | None, ...]
"""Words of a command; None stands for what only the shell can know."""


@dataclass(frozen=True, slots=True)
class CommandLine:
    """The arguments of a program, sorted. None stands for what cannot be known.

    Attributes:
        operands: what is not an option, nor an option's value.
        options: by their name with its dashes; the value, or an empty text for those without.
    """

    operands: tuple[str | None, ...]
    options: dict[str, str | None]

    def has(self, *names: str) -> bool:
        """True when one of the options is there."""
        return any(name in self.options for name in names)

    def value(self, *names: str) -> str | None:
        """The value of the first of these options that is there."""
        return next((self.options[name] for name in names if name in self.options), None)


def sorted_arguments(
    arguments: Sequence[str | None], with_value: str = "", long_with_value: Collection[str] = (), optional: str = ""
) -> CommandLine:
    """Sort `arguments`.

    Args:
        with_value: the letters whose value follows, in the same argument or the next.
        long_with_value: the long options whose value may be the next argument, with their dashes.
        optional: the letters whose value may only follow in the same argument.
    """
    operands: list[str | None] = []
    options: dict[str, str | None] = {}
    rest = iter(arguments)
    for argument in rest:
        if argument is None or argument == "-" or not argument.startswith("-"):
            operands.append(argument)
        elif argument == "--":
            operands.extend(rest)
        elif argument.startswith("--"):
            name, equals, value = argument.partition("=")
            options[name] = value if equals or name not in long_with_value else next(rest, None)
        else:
            letter, value_now, needs_next = _letters(argument[1:], with_value, optional, options)
            if letter:
                options[f"-{letter}"] = next(rest, None) if needs_next else value_now
    return CommandLine(tuple(operands), options)


def _letters(cluster: str, with_value: str, optional: str, options: dict[str, str | None]) -> tuple[str, str, bool]:
    """Note the options of `-abc`; the one that takes a value, its value here, and whether that comes next."""
    for place, letter in enumerate(cluster):
        value = cluster[place + 1 :]
        if letter in optional:
            return letter, value, False
        if letter in with_value:
            return letter, value, not value
        options[f"-{letter}"] = ""
    return "", "", False


# What the words of a command stand for, as far as the disk tells it.

_GLOB = re.compile(r"[*?\[]")
_MAX_FIELDS = 1_000
_MAX_PATTERN = 500
# What has just been made with `mktemp` holds nothing yet.
_NEW = f"/tmp/tmp.{UNKNOWN}"  # noqa: S108 - where mktemp makes its files


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where a command runs.

    Attributes:
        cwd: its directory, None where that cannot be known.
        disk: where globs are looked up.
        is_loop: a loop goes through the names of a pattern, so that a word of which nothing is known may be any.
    """

    cwd: str | None
    disk: DiskView
    is_loop: bool = False

    def absolute(self, path: str) -> str | None:
        """`path` from the root of the disk, None where that cannot be known."""
        if path.startswith("/"):
            return path
        return None if self.cwd is None or not path else f"{self.cwd.rstrip('/')}/{path}"

    def all_expanded(self, arguments: Sequence[Argument]) -> Arguments:
        """The words that arguments become, at most a thousand; None for one that cannot be known."""
        fields = itertools.chain.from_iterable(self.expanded(argument) for argument in arguments)
        return tuple(itertools.islice(fields, _MAX_FIELDS))

    def expanded(self, argument: Argument) -> Arguments:
        """The words that an argument becomes. A part that nobody knows may be any name that is there."""
        text = argument.text
        if UNKNOWN not in text:
            return tuple(self._matching(text)) or (text,) if argument.expands else (text,)
        is_wide = not self.is_loop and not re.search(r"\w", text)
        if text.startswith(("-", _NEW)) or is_wide:
            return (None,)
        known = text if argument.expands else re.sub(r"[*?\[]", r"[\g<0>]", text)
        return tuple(self._matching(re.sub(f"{UNKNOWN}+", "*", known))) or (None,)

    def _matching(self, pattern: str) -> Sequence[str]:
        """The paths that match."""
        if not _GLOB.search(pattern) or len(pattern) > _MAX_PATTERN:
            return ()
        paths = ["/" if pattern.startswith("/") else ""]
        for component in re.split(r"/+", pattern.strip("/")):
            paths = list(itertools.islice(self._below(paths, component), _MAX_FIELDS))
        return sorted(path for path in paths if not pattern.endswith("/") or path.endswith("/"))

    def _below(self, folders: list[str], component: str) -> Iterator[str]:
        if not _GLOB.search(component):
            for folder in folders:
                path = folder + component
                if (where := self.absolute(path)) and self.disk.exists(where):
                    yield f"{path}/" if self.disk.is_directory(where) else path
            return
        matches = re.compile(translate(component.replace("[^", "[!"))).match
        for folder in folders:
            where = self.absolute(folder or ".")
            for entry in self.disk.entries(where) if where else ():
                if matches(entry.name) and (component[0] == "." or not entry.name.startswith(".")):
                    is_directory = self.disk.is_directory(entry.path)
                    yield f"{folder}{entry.name}/" if is_directory else folder + entry.name


# The files that are collected.


class Targets:
    """The files named so far, each once, in the order of the command.

    Args:
        limit: how many files are taken; a directory that holds more goes to `unlisted`.
        is_generated: directories by whose name nobody expects their content back; they go to `unlisted`.
    """

    def __init__(self, limit: int, is_generated: Callable[[str], bool]) -> None:
        self._limit = limit
        self._is_generated = is_generated
        self._paths: dict[Path, None] = {}
        self._unlisted: dict[Path, None] = {}

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files."""
        return tuple(self._paths)

    @property
    def unlisted(self) -> tuple[Path, ...]:
        """Directories that are changed as a whole and whose files are not all among `paths`."""
        return tuple(self._unlisted)

    def written(self, path: str | None, around: Surroundings) -> None:
        """The content of the file that `path` leads to changes."""
        self._add(path, around, follows=True)

    def replaced(self, path: str | None, around: Surroundings) -> None:
        """What stands at `path` itself goes or is replaced, be it a symbolic link."""
        self._add(path, around, follows=False)

    def tree(
        self,
        path: str | None,
        around: Surroundings,
        wanted: Callable[[str], bool] | None = None,
        *,
        follows: bool = False,
    ) -> None:
        """A file, or all files of a directory and below whose name is `wanted`."""
        absolute = around.absolute(path) if path is not None and not around.disk.is_spent() else None
        top = reached(absolute, follows=follows) if absolute is not None else None
        if top is None:
            return
        if around.disk.is_link(str(top)) or not around.disk.is_directory(str(top)):
            if around.disk.exists(str(top)):
                self._take(top)
            return
        if self._is_generated(top.name):
            self._unlisted[top] = None
            return
        for file in around.disk.files_below(str(top)):
            if wanted and not wanted(os.path.basename(file)):  # noqa: PTH119 - a string of os.scandir
                continue
            if not self._take(Path(file)):
                self._unlisted[top] = None
                return
        if around.disk.is_spent():
            self._unlisted[top] = None

    def copied(self, source: str, target: str, around: Surroundings) -> None:
        """What `source` is, a file or a directory, comes to be at `target`."""
        start = None if around.disk.is_spent() else around.absolute(source)
        real = reached(start, follows=True) if start else None
        if real is None or not around.disk.is_directory(str(real)):
            self.written(target, around)
            return
        for file in around.disk.files_below(str(real)):
            self.written(f"{target}/{file[len(str(real)) + 1 :]}", around)
            if len(self._paths) >= self._limit:
                return

    def _add(self, path: str | None, around: Surroundings, *, follows: bool) -> None:
        absolute = around.absolute(path) if path is not None and not around.disk.is_spent() else None
        if absolute is None or (found := reached(absolute, follows=follows)) is None:
            return
        if not around.disk.is_directory(str(found)) or around.disk.is_link(str(found)):
            self._take(found)

    def _take(self, path: Path) -> bool:
        if len(self._paths) >= self._limit and path not in self._paths:
            return False
        self._paths[path] = None
        return True


# Files that the usual programs write, move or delete, by their command lines.

Rule = Callable[[Arguments, Targets, Surroundings], None]

_TARGET_DIRECTORY = ("--target-directory", "--suffix")
_COMPRESSED = {
    "gzip": ".gz",
    "gunzip": ".gz",
    "bzip2": ".bz2",
    "bunzip2": ".bz2",
    "xz": ".xz",
    "unxz": ".xz",
    "zstd": ".zst",
}


def _removed(arguments: Arguments, targets: Targets, around: Surroundings) -> None:
    for operand in sorted_arguments(arguments, "n").operands:
        targets.tree(operand, around)


def _deleted(arguments: Arguments, targets: Targets, around: Surroundings) -> None:
    for operand in sorted_arguments(arguments, optional="rfv").operands:
        targets.tree(operand, around)


def _overwritten(with_value: str, long_with_value: tuple[str, ...] = ()) -> Rule:
    def rule(arguments: Arguments, targets: Targets, around: Surroundings) -> None:
        for operand in sorted_arguments(arguments, with_value, long_with_value).operands:
            targets.written(operand, around)

    return rule


def _created(arguments: Arguments, targets: Targets, around: Surroundings) -> None:
    for operand in sorted_arguments(arguments, "drt", ("--date", "--reference")).operands:
        absolute = around.absolute(operand) if operand else None
        if absolute and not around.disk.exists(absolute):
            targets.written(operand, around)


def _placed(with_value: str, *, removes: bool = False, is_link: bool = False) -> Rule:
    """For `mv`, `cp`, `install`, `ln`: sources, then where they come to be."""

    def rule(arguments: Arguments, targets: Targets, around: Surroundings) -> None:
        line = sorted_arguments(arguments, with_value, _TARGET_DIRECTORY)
        folder = line.value("-t", "--target-directory")
        sources, target = line.operands, folder
        if not folder and sources:
            sources, target = sources[:-1], sources[-1]
        if is_link and len(line.operands) == 1 and not folder:
            sources, target = line.operands, "."
        if removes:
            for source in sources:
                targets.tree(source, around)
        absolute = around.absolute(target) if target else None
        if target is None or absolute is None:
            return
        into = bool(folder) or (not line.has("-T") and around.disk.is_directory(absolute))
        for source in sources:
            if source is None:
                continue
            place = f"{target}/{PurePosixPath(source).name}" if into else target
            if is_link:
                targets.replaced(place, around)
            else:
                targets.copied(source, place, around)

    return rule


def _mode_changed(arguments: Arguments, targets: Targets, around: Surroundings) -> None:
    # `-x` is a mode here, not an option.
    operands = [
        argument for argument in arguments if argument is None or not re.fullmatch(r"--.*|-[Rcfv]+", argument)
    ]
    for operand in (
        operands if any(a is not None and a.startswith("--reference") for a in arguments) else operands[1:]
    ):
        targets.tree(operand, around, follows=True)


def _edited_by_sed(arguments: Arguments, targets: Targets, around: Surroundings) -> None:
    line = sorted_arguments(arguments, "efl", ("--expression", "--file"), optional="i")
    if not line.has("-i", "--in-place"):
        return
    files = line.operands if line.has("-e", "-f", "--expression", "--file") else line.operands[1:]
    _in_place(files, line.value("-i", "--in-place") or "", targets, around)


def _edited_by_perl(arguments: Arguments, targets: Targets, around: Surroundings) -> None:
    line = sorted_arguments(arguments, "eEIMmF", optional="i")
    if line.has("-i"):
        files = line.operands if line.has("-e", "-E") else line.operands[1:]
        _in_place(files, line.value("-i") or "", targets, around)


def _in_place(files: Arguments, suffix: str, targets: Targets, around: Surroundings) -> None:
    for file in files:
        targets.replaced(file, around)
        targets.written(file, around)
        if file and suffix and "*" not in suffix:
            targets.replaced(file + suffix, around)


def _edited_by_awk(arguments: Arguments, targets: Targets, around: Surroundings) -> None:
    line = sorted_arguments(arguments, "ivfFe", ("--include", "--file", "--assign"))
    if "inplace" in {line.value("-i"), line.value("--include")}:
        _in_place(line.operands if line.has("-f", "--file", "-e") else line.operands[1:], "", targets, around)


def _output(*options: str, with_value: str) -> Rule:
    def rule(arguments: Arguments, targets: Targets, around: Surroundings) -> None:
        line = sorted_arguments(arguments, with_value, [name for name in options if name.startswith("--")])
        for name in options:
            if line.has(name):
                targets.written(line.value(name), around)

    return rule


def _copied_blocks(arguments: Arguments, targets: Targets, around: Surroundings) -> None:
    for argument in arguments:
        if argument and argument.startswith("of="):
            targets.written(argument[3:], around)


def _patched(arguments: Arguments, targets: Targets, around: Surroundings) -> None:
    line = sorted_arguments(arguments, "piodDFBVYzrg", ("--input", "--output", "--directory", "--strip"))
    targets.written(line.value("-o", "--output"), around)
    targets.written((*line.operands, None)[0], around)


def _compressed(suffix: str) -> Rule:
    def rule(arguments: Arguments, targets: Targets, around: Surroundings) -> None:
        for operand in sorted_arguments(arguments, "S").operands:
            if operand:
                targets.replaced(operand, around)
                targets.replaced(
                    operand.removesuffix(suffix) if operand.endswith(suffix) else operand + suffix, around
                )

    return rule


RULES: Mapping[str, Rule] = {
    "rm": _removed,
    "unlink": _deleted,
    "shred": _removed,
    "srm": _deleted,
    "trash": _deleted,
    "rimraf": _deleted,
    "truncate": _overwritten("sr", ("--size", "--reference")),
    "tee": _overwritten(""),
    "sponge": _overwritten(""),
    "touch": _created,
    "mv": _placed("tS", removes=True),
    "cp": _placed("tS"),
    "install": _placed("tSmog"),
    "ln": _placed("tS", is_link=True),
    "chmod": _mode_changed,
    "sed": _edited_by_sed,
    "gsed": _edited_by_sed,
    "perl": _edited_by_perl,
    "ruby": _edited_by_perl,
    "awk": _edited_by_awk,
    "gawk": _edited_by_awk,
    "sort": _output("-o", "--output", with_value="okStT"),
    "shuf": _output("-o", "--output", with_value="oin"),
    "tree": _output("-o", with_value="oLPIHT"),
    "curl": _output("-o", "--output", with_value="oXHduAbFeTK"),
    "wget": _output("-O", "--output-document", with_value="OPUo"),
    "gcc": _output("-o", with_value="oIDLlx"),
    "g++": _output("-o", with_value="oIDLlx"),
    "cc": _output("-o", with_value="oIDLlx"),
    "clang": _output("-o", with_value="oIDLlx"),
    "pandoc": _output("-o", "--output", with_value="oftV"),
    "dd": _copied_blocks,
    "patch": _patched,
} | {name: _compressed(suffix) for name, suffix in _COMPRESSED.items()}


# Formatters: programs that rewrite the source files that they are given.

_PYTHON_FILES = (".py", ".pyi", ".ipynb")
_WEB = (".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".vue", ".svelte", ".css", ".scss", ".less", ".html", ".json",
        ".md", ".mdx", ".yaml", ".yml", ".graphql")  # fmt: skip
_C = (".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".m", ".mm", ".java", ".proto", ".cs")


@dataclass(frozen=True, slots=True)
class Formatter:
    """What makes a program rewrite files.

    Attributes:
        suffixes: of the files that it looks for in directories.
        only_with: it rewrites only with one of these arguments; always where there are none.
        never_with: it only looks with one of these.
    """

    suffixes: tuple[str, ...]
    only_with: tuple[str, ...] = ()
    never_with: tuple[str, ...] = ()


FORMATTERS: Mapping[str, Formatter] = {
    "black": Formatter(_PYTHON_FILES, never_with=("--check", "--diff")),
    "isort": Formatter(_PYTHON_FILES, never_with=("--check", "--check-only", "-c", "--diff")),
    "ruff": Formatter(_PYTHON_FILES, ("format", "--fix", "--fix-only", "--unsafe-fixes"), ("--check", "--diff")),
    "autopep8": Formatter(_PYTHON_FILES, ("-i", "--in-place")),
    "yapf": Formatter(_PYTHON_FILES, ("-i", "--in-place")),
    "autoflake": Formatter(_PYTHON_FILES, ("-i", "--in-place")),
    "pyupgrade": Formatter(_PYTHON_FILES),
    "prettier": Formatter(_WEB, ("-w", "--write")),
    "eslint": Formatter(_WEB, ("--fix",)),
    "biome": Formatter(_WEB, ("--write", "--apply", "--fix", "--apply-unsafe")),
    "stylelint": Formatter(_WEB, ("--fix",)),
    "gofmt": Formatter((".go",), ("-w",)),
    "goimports": Formatter((".go",), ("-w",)),
    "rustfmt": Formatter((".rs",), never_with=("--check",)),
    "clang-format": Formatter(_C, ("-i",)),
    "shfmt": Formatter((".sh", ".bash"), ("-w", "--write")),
    "stylua": Formatter((".lua",), never_with=("--check",)),
}


def formatted(formatter: Formatter, arguments: Arguments, targets: Targets, around: Surroundings) -> None:
    """Collect the files that a formatter rewrites: every argument that is a path."""
    given = {argument for argument in arguments if argument}
    if formatter.only_with and not given.intersection(formatter.only_with):
        return
    if given.intersection(formatter.never_with):
        return
    for argument in arguments:
        if argument and not argument.startswith("-"):
            targets.tree(argument, around, lambda name: name.endswith(formatter.suffixes), follows=True)


# The command.

_WRITING = frozenset({">", ">>", ">|", "&>", "&>>", "<>", ">&"})
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*")
_FINDS = frozenset({"find", "gfind", "bfs"})
_FIND_WRITES = frozenset({"-fprint", "-fprintf", "-fls", "-fprint0"})
# Of what these are given, they pass on what they choose; and these tell names of files.
_FILTERS = frozenset({"sort", "head", "tail", "grep", "sed", "tr", "uniq", "awk", "cut"})
_SEARCHES = frozenset({"grep", "egrep", "rg", "fd", "ls", "git", "ag"})
_LOOPS_OVER_NAMES = re.compile(r"\bfor\s+\w+\s+in\b[^;\n]*[*?\[]")


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What a command's text tells.

    Attributes:
        paths: files that it is likely to create, overwrite, move or delete; absolute, as the command reaches them.
        is_read_only: it surely changes no file.
        unlisted: directories that it is likely to change as a whole, and whose files are not all in `paths`.
    """

    paths: tuple[Path, ...]
    is_read_only: bool
    unlisted: tuple[Path, ...] = ()


def foreseen(
    command: str,
    cwd: Path,
    roots: tuple[Path, ...] = (),
    *,
    environment: Mapping[str, str] | None = None,
    max_paths: int = 1_000,
    max_seconds: float = 0.03,
) -> Foreseen:
    """What `command` is likely to change when bash runs it in `cwd`. Never raises.

    Args:
        roots: the session's directories, below which whatever only looks is proven to do no more.
        environment: where HOME is looked up; the process's own when None.
        max_paths: how many files are named at most.
        max_seconds: of the processor, for looking up globs and directories; reading the text has its own bound.
    """
    from tools.approval.commands.bash.interpreter import read_command  # noqa: PLC0415 - much to load, and a start needs none of it

    reading = read_command(command, cwd, home=(os.environ if environment is None else environment).get("HOME"))
    is_empty = not reading.invocations and not reading.doubts
    if is_empty or classify_command(command, cwd, roots).level == "safe":
        return Foreseen((), is_read_only=True)
    disk = DiskView(max_seconds)
    targets = Targets(max_paths, is_generated)
    _Foresight(targets, disk, is_loop=_LOOPS_OVER_NAMES.search(command) is not None).look(reading)
    return Foreseen(targets.paths, is_read_only=False, unlisted=targets.unlisted)


class _Foresight:
    """Goes through what a command may run, in its order."""

    def __init__(self, targets: Targets, disk: DiskView, *, is_loop: bool) -> None:
        self._targets = targets
        self._disk = disk
        self._is_loop = is_loop
        self._last_find: Invocation | None = None

    def look(self, reading: Reading) -> None:
        for call in reading.invocations:
            if not call.elsewhere:
                self._look_at(call)
            if self._disk.is_spent():
                return

    def _around(self, call: Invocation) -> Surroundings:
        return Surroundings(call.cwd, self._disk, self._is_loop)

    def _look_at(self, call: Invocation) -> None:
        around = self._around(call)
        for redirection in call.redirections:
            self._redirect(redirection, around)
        if self._last_find and "find" in call.via and not _only_looks(call):
            self._found(self._last_find)
        if call.program in _FINDS:
            self._last_find = call
            self._look_at_find(call, around)
            return
        for arguments in _filled_in(call, around):
            self._program(call, arguments, around)

    def _program(self, call: Invocation, arguments: tuple[Argument, ...], around: Surroundings) -> None:
        name, rest = call.program, around.all_expanded(arguments)
        if not name and call.written:
            # A pattern in place of a program: `/bin/r?`.
            [first, *_] = around.expanded(Argument(call.written, expands=True))
            name = (first or "").rpartition("/")[2]
        while _PYTHON.fullmatch(name) and rest[:1] == ("-m",) and rest[1:]:
            name, rest = (rest[1] or "").rpartition("/")[2], rest[2:]
        if rule := RULES.get(name):
            rule(rest, self._targets, around)
        elif formatter := FORMATTERS.get(name):
            formatted(formatter, rest, self._targets, around)
        if "xargs" in call.via and (name in RULES or name in FORMATTERS) and not _only_looks(call):
            self._piped(call.input.source)

    def _redirect(self, redirection: Redirection, around: Surroundings) -> None:
        if redirection.operator not in _WRITING:
            return
        for path in around.expanded(redirection.target):
            if redirection.operator == ">&" and path is not None and (path.isdecimal() or path == "-"):
                continue
            self._targets.written(path, around)

    def _look_at_find(self, find: Invocation, around: Surroundings) -> None:
        rest = around.all_expanded(find.arguments)
        if "-delete" in rest:
            self._found(find)
        for word, value in itertools.pairwise(rest):
            if word in _FIND_WRITES:
                self._targets.written(value, around)

    def _found(self, find: Invocation) -> None:
        """The files that a `find` comes to, by its roots and names."""
        around = self._around(find)
        rest = around.all_expanded(find.arguments)
        roots: list[str | None] = []
        for word in rest:
            if word is not None and (word.startswith("-") or word in {"(", "!"}):
                if word in {"-H", "-L", "-P"}:
                    continue
                break
            roots.append(word)
        # The names are patterns, and no words that the shell fills in.
        given = [argument.text for argument in find.arguments]
        names = [
            (value.replace(UNKNOWN, "*"), word == "-iname")
            for word, value in itertools.pairwise(given)
            if word in {"-name", "-iname"}
        ]
        for root in roots or ["."]:
            self._targets.tree(root, around, lambda name: not names or _fits(name, names))

    def _piped(self, source: Invocation | None) -> None:
        """The files whose names the program before a pipe tells."""
        while source is not None and source.input.source and (source.program in _FILTERS or "xargs" in source.via):
            source = source.input.source
        if source is None:
            return
        if source.program in _FINDS:
            self._found(source)
            return
        around = self._around(source)
        words = around.all_expanded(source.arguments)
        paths = [word for word in words if word and (where := around.absolute(word)) and self._disk.exists(where)]
        for path in paths or (["."] if source.program in _SEARCHES else []):
            self._targets.tree(path, around)


def _filled_in(call: Invocation, around: Surroundings) -> Iterator[tuple[Argument, ...]]:
    """The arguments, in a loop once for each name that the first unknown part of them may be: `mv "$f" "$f.old"`."""
    if "find" in call.via:
        # They are what it comes to.
        yield tuple(argument for argument in call.arguments if UNKNOWN not in argument.text)
        return
    holes = [argument for argument in call.arguments if UNKNOWN in argument.text]
    names = around.expanded(holes[0]) if around.is_loop and len(holes) > 1 else ()
    values = [_value_in(holes[0].text, name) for name in names if name]
    for value in filter(None, values):
        yield tuple(replace(one, text=one.text.replace(UNKNOWN, value)) for one in call.arguments)
    if not any(values):
        yield call.arguments


def _value_in(text: str, name: str) -> str | None:
    """What stands in `name` in place of the unknown part of `text`."""
    before, _, after = text.partition(UNKNOWN)
    end = len(name) - len(after)
    return name[len(before) : end] if UNKNOWN not in after and name[end:] == after else None


def _only_looks(call: Invocation) -> bool:
    from tools.approval.commands.harmless import is_harmless  # noqa: PLC0415 - as above

    return is_harmless(call, classify_command)


def _fits(name: str, patterns: list[tuple[str, bool]]) -> bool:
    return any(
        fnmatchcase(name.lower(), pattern.lower()) if folded else fnmatchcase(name, pattern)
        for pattern, folded in patterns
    )
