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

    operands: Arguments
    options: dict[str, str | None]

    def has(self, *names: str) -> bool:
        """True when one of the options is there."""
        return any(name in self.options for name in names)

    def value(self, *names: str) -> str | None:
        """The value of the first of these options that is there."""
        return next((self.options[name] for name in names if name in self.options), None)


def sorted_arguments(
    arguments: Arguments, with_value: str = "", long_with_value: Collection[str] = ()
) -> CommandLine:
    """As `sort_words`, of texts."""
    from tools.approval.commands.dangers.scene import sort_words  # noqa: PLC0415 - as in `foreseen`

    words = sort_words(map(_argument, arguments), with_value, long_with_value)
    return CommandLine(tuple(map(_known, words.operands)), {name: _known(value) for name, value in words.options})


def _argument(text: str | None) -> Argument:
    return Argument(UNKNOWN, splits=True) if text is None else Argument(text)


def _known(argument: Argument) -> str | None:
    return None if UNKNOWN in argument.text else argument.text


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

    Attributes:
        around: where the names are looked up that come next.
    """

    def __init__(self, limit: int, is_generated: Callable[[str], bool], around: Surroundings) -> None:
        self.around = around
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

    def written(self, path: str | None, *, follows: bool = True) -> None:
        """The content of the file at `path` changes; what stands there itself, where a link is not followed."""
        found = self._reached(path, follows=follows)
        disk = self.around.disk
        if found and (not disk.is_directory(str(found)) or disk.is_link(str(found))):
            self._take(found)

    def tree(self, path: str | None, wanted: Callable[[str], bool] | None = None, *, follows: bool = False) -> None:
        """A file, or all files of a directory and below whose name is `wanted`."""
        top, disk = self._reached(path, follows=follows), self.around.disk
        if top is None:
            return
        if disk.is_link(str(top)) or not disk.is_directory(str(top)):
            if disk.exists(str(top)):
                self._take(top)
            return
        if self._is_generated(top.name):
            self._unlisted[top] = None
            return
        for file in disk.files_below(str(top)):
            if wanted and not wanted(os.path.basename(file)):  # noqa: PTH119 - a string of os.scandir
                continue
            if not self._take(Path(file)):
                self._unlisted[top] = None
                return
        if disk.is_spent():
            self._unlisted[top] = None

    def copied(self, source: str, target: str) -> None:
        """What `source` is, a file or a directory, comes to be at `target`."""
        real, disk = self._reached(source, follows=True), self.around.disk
        if real is None or not disk.is_directory(str(real)):
            self.written(target)
            return
        for file in disk.files_below(str(real)):
            self.written(f"{target}/{file[len(str(real)) + 1 :]}")
            if len(self._paths) >= self._limit:
                return

    def _reached(self, path: str | None, *, follows: bool) -> Path | None:
        absolute = self.around.absolute(path) if path is not None and not self.around.disk.is_spent() else None
        return None if absolute is None else reached(absolute, follows=follows)

    def _take(self, path: Path) -> bool:
        if len(self._paths) >= self._limit and path not in self._paths:
            return False
        self._paths[path] = None
        return True


# Formatters: programs that rewrite the source files that they are given.

_PYTHON_FILES = (".py", ".pyi", ".ipynb")
_WEB = (".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".vue", ".svelte", ".css", ".scss", ".less", ".html", ".json",
        ".md", ".mdx", ".yaml", ".yml", ".graphql")  # fmt: skip
_C = (".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".m", ".mm", ".java", ".proto", ".cs")


# By program: the files that it looks for in directories, with which arguments alone it rewrites them (with any where
# there are none), and with which it only looks.
FORMATTERS: Mapping[str, tuple[tuple[str, ...], str, str]] = {
    "black": (_PYTHON_FILES, "", "--check --diff"),
    "isort": (_PYTHON_FILES, "", "--check --check-only -c --diff"),
    "ruff": (_PYTHON_FILES, "format --fix --fix-only --unsafe-fixes", "--check --diff"),
    **dict.fromkeys(("autopep8", "yapf", "autoflake"), (_PYTHON_FILES, "-i --in-place", "")),
    "pyupgrade": (_PYTHON_FILES, "", ""),
    "prettier": (_WEB, "-w --write", ""),
    **dict.fromkeys(("eslint", "stylelint"), (_WEB, "--fix", "")),
    "biome": (_WEB, "--write --apply --fix --apply-unsafe", ""),
    **dict.fromkeys(("gofmt", "goimports"), ((".go",), "-w", "")),
    "rustfmt": ((".rs",), "", "--check"),
    "clang-format": (_C, "-i", ""),
    "shfmt": ((".sh", ".bash"), "-w --write", ""),
    "stylua": ((".lua",), "", "--check"),
}


def _formatted(program: str, arguments: Arguments, targets: Targets) -> None:
    """Collect the files that a formatter rewrites: every argument that is a path."""
    suffixes, only_with, never_with = FORMATTERS[program]
    if (only_with and set(arguments).isdisjoint(only_with.split())) or not set(arguments).isdisjoint(
        never_with.split()
    ):
        return
    for argument in arguments:
        if argument and not argument.startswith("-"):
            targets.tree(argument, lambda name: name.endswith(suffixes), follows=True)


# The command.

_WRITING = frozenset({">", ">>", ">|", "&>", "&>>", "<>", ">&"})
_FINDS = frozenset({"find", "gfind", "bfs"})
_FIND_WRITES = frozenset({"-fprint", "-fprintf", "-fls", "-fprint0"})
# Of what these are given, they pass on what they choose; and these tell names of files.
_FILTERS = frozenset({"sort", "head", "tail", "grep", "sed", "tr", "uniq", "awk", "cut"})
_PLACING = frozenset({"mv", "cp", "install", "ln", "gmv", "gcp", "ginstall", "gln"})
_CHANGING = _PLACING | {"sed", "gsed", "perl", "ruby", "chmod", "touch", "tee", "gzip", "gunzip", "dos2unix"}
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
    is_loop = _LOOPS_OVER_NAMES.search(command) is not None
    targets = Targets(max_paths, is_generated, Surroundings(str(cwd), DiskView(max_seconds), is_loop))
    _Foresight(targets).look(reading)
    return Foreseen(targets.paths, is_read_only=False, unlisted=targets.unlisted)


class _Foresight:
    """Goes through what a command may run, in its order."""

    def __init__(self, targets: Targets) -> None:
        self._targets = targets
        self._last_find: Invocation | None = None

    def look(self, reading: Reading) -> None:
        for call in reading.invocations:
            if not call.elsewhere:
                self._look_at(call)
            if self._targets.around.disk.is_spent():
                return

    def _move_to(self, call: Invocation) -> Surroundings:
        self._targets.around = replace(self._targets.around, cwd=call.cwd)
        return self._targets.around

    def _look_at(self, call: Invocation) -> None:
        if self._last_find and "find" in call.via and not _only_looks(call):
            self._found(self._last_find)
        around = self._move_to(call)
        for redirection in call.redirections:
            self._redirect(redirection, around)
        if call.program in _FINDS:
            self._last_find = call
            self._look_at_find(call, around)
            return
        for arguments in _filled_in(call, around):
            self._program(call, arguments, around)

    def _program(self, call: Invocation, arguments: tuple[Argument, ...], around: Surroundings) -> None:
        from tools.approval.commands.dangers.deletion import DELETERS, EMPTYING  # noqa: PLC0415 - as above
        from tools.approval.commands.dangers.writing import written_by  # noqa: PLC0415 - as above
        from tools.approval.commands.scripts.inline import module_run_by  # noqa: PLC0415 - as above

        name, rest = call.program, around.all_expanded(arguments)
        if not name and call.written:
            # A pattern in place of a program: `/bin/r?`.
            [first, *_] = around.expanded(Argument(call.written, expands=True))
            name = (first or "").rpartition("/")[2]
        call = replace(call, program=name, arguments=tuple(map(_argument, rest)))
        if module := module_run_by(call):
            name, rest = module.program, tuple(map(_known, module.arguments))
        if name in FORMATTERS:
            _formatted(name, rest, self._targets)
        elif name in _PLACING:
            self._placed(call, around)
        elif name == "chmod":
            # `-x` is a mode here, not an option.
            for operand in [word for word in rest if word is None or not re.fullmatch(r"--.*|-[Rcfv]+", word)][1:]:
                self._targets.tree(operand, follows=True)
        elif name in DELETERS:
            for operand in sorted_arguments(rest, DELETERS[name], ("--size", "--reference")).operands:
                self._targets.tree(operand, follows=name in EMPTYING)
        else:
            for target in written_by(call):
                self._targets.written(_known(target), follows=False)
                self._targets.written(_known(target))
        changes = name in FORMATTERS or name in DELETERS or name in _CHANGING
        if "xargs" in call.via and changes and not _only_looks(call):
            self._piped(call.input.source)

    def _placed(self, call: Invocation, around: Surroundings) -> None:
        """What moves, copies and links take away, and where it comes to be."""
        from tools.approval.commands.dangers.writing import sources_and_target  # noqa: PLC0415 - as above

        sources, target = sources_and_target(call)
        folder = _known(target)
        where = around.absolute(folder) if folder else None
        for source in filter(None, map(_known, sources)):
            if call.program.endswith("mv"):
                self._targets.tree(source)
            if folder is None or where is None:
                continue
            into = len(sources) > 1 or around.disk.is_directory(where)
            place = f"{folder}/{PurePosixPath(source).name}" if into else folder
            if call.program.endswith("ln"):
                self._targets.written(place, follows=False)
            else:
                self._targets.copied(source, place)

    def _redirect(self, redirection: Redirection, around: Surroundings) -> None:
        if redirection.operator not in _WRITING:
            return
        for path in around.expanded(redirection.target):
            if redirection.operator == ">&" and path is not None and (path.isdecimal() or path == "-"):
                continue
            self._targets.written(path)

    def _look_at_find(self, find: Invocation, around: Surroundings) -> None:
        rest = around.all_expanded(find.arguments)
        if "-delete" in rest:
            self._found(find)
        for word, value in itertools.pairwise(rest):
            if word in _FIND_WRITES:
                self._targets.written(value)

    def _found(self, find: Invocation) -> None:
        """The files that a `find` comes to, by its roots and names."""
        around = self._move_to(find)
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
            self._targets.tree(root, lambda name: not names or _fits(name, names))

    def _piped(self, source: Invocation | None) -> None:
        """The files whose names the program before a pipe tells."""
        while source is not None and source.input.source and (source.program in _FILTERS or "xargs" in source.via):
            source = source.input.source
        if source is None:
            return
        if source.program in _FINDS:
            self._found(source)
            return
        around = self._move_to(source)
        words = around.all_expanded(source.arguments)
        paths = [word for word in words if word and (where := around.absolute(word)) and around.disk.exists(where)]
        for path in paths or (["."] if source.program in _SEARCHES else []):
            self._targets.tree(path)


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
