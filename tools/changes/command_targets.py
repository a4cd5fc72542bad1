"""What a shell command is likely to change, read from its text. Nothing is executed."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from tools.approval.commands.bash.wrappers import XARGS, unwrapped, wrapped_by
from tools.changes.read_only import Arguments, bare_name, is_harmless, is_read_only, sorted_arguments
from tools.changes.scan import DiskView, is_generated, reached
from tools.changes.shell_reader import (
    Redirect,
    Script,
    Simple,
    Surroundings,
    Word,
    all_expanded,
    assigned,
    expanded,
    read_script,
    starting,
)
from tools.light_dataclass import dataclass

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


_WRITING = frozenset({">", ">>", ">|", "&>", "&>>", "<>", ">&"})
_KEYWORDS = frozenset(
    {"if", "then", "elif", "else", "do", "while", "until", "!", "{", "time", "fi", "done", "esac", "}"}
)
_SHELLS = frozenset({"bash", "sh", "dash", "zsh", "ksh"})
_DECLARING = frozenset({"export", "local", "declare", "readonly", "typeset"})
_FIND_ACTIONS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*")
_MAX_NESTED = 8


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
    *,
    environment: Mapping[str, str] | None = None,
    max_paths: int = 1_000,
    max_seconds: float = 0.03,
) -> Foreseen:
    """What `command` is likely to change when bash runs it in `cwd`. Never raises.

    Args:
        environment: where HOME is looked up; the process's own when None.
        max_paths: how many files are named at most.
        max_seconds: of the processor, for looking up globs and directories; reading the text has its own bound.
    """
    script = read_script(command)
    if is_read_only(script):
        return Foreseen((), is_read_only=True)
    around = starting(str(cwd), os.environ if environment is None else environment, DiskView(max_seconds))
    targets = Targets(max_paths, is_generated)
    _Walk(targets).script(script, around)
    return Foreseen(targets.paths, is_read_only=False, unlisted=targets.unlisted)


class _Walk:
    """Goes through a script as the shell would, every branch and each loop once."""

    def __init__(self, targets: Targets, depth: int = 0) -> None:
        self._targets = targets
        self._depth = depth
        self._piped_paths: Callable[[], None] | None = None

    def script(self, script: Script, around: Surroundings) -> None:
        outer: list[Surroundings] = []
        for item in script.items:
            if isinstance(item, Simple):
                self._simple(item, around)
            elif item.begins:
                outer.append(around)
                around = around.copy()
            elif outer:
                around = outer.pop()
            if around.disk.is_spent():
                return

    def _simple(self, command: Simple, around: Surroundings) -> None:
        for word in command.words:
            self._inside(word, around)
        for redirect in command.redirects:
            self._redirect(redirect, around)
        words = _without_keywords(command.words)
        words = _assign(words, around)
        if words:
            self._run_for_each(words, command, around)

    def _run_for_each(self, words: tuple[Word, ...], command: Simple, around: Surroundings) -> None:
        """Run once for each value that a variable has in a loop."""
        many = None if words[0].bare == "for" else _several_valued(words, around)
        if many is None:
            self._run(all_expanded(words, around), command, around)
            return
        values = around.variables[many]
        for value in values:
            around.variables[many] = (value,)
            self._run_for_each(words, command, around)
            if around.disk.is_spent():
                break
        around.variables[many] = values

    def _inside(self, word: Word, around: Surroundings) -> None:
        for script in word.scripts:
            self._deeper().script(script, around.copy())

    def _deeper(self) -> _Walk:
        return _Walk(self._targets, self._depth + 1)

    def _redirect(self, redirect: Redirect, around: Surroundings) -> None:
        self._inside(redirect.target, around)
        if redirect.operator not in _WRITING:
            return
        for path in expanded(redirect.target, around):
            if redirect.operator == ">&" and path is not None and (path.isdecimal() or path == "-"):
                continue
            self._targets.written(path, around)

    def _run(self, arguments: Arguments, command: Simple, around: Surroundings) -> None:
        arguments = _run_by(arguments)
        name, rest = bare_name(arguments[0]), arguments[1:]
        if name in {"cd", "pushd"}:
            _change_directory(rest, around)
        elif name == "for":
            _begin_loop(rest, around)
        elif name in _DECLARING:
            _declare(rest, around)
        elif name == "eval" or name in _SHELLS:
            self._text(name, rest, command, around)
        elif name == "find":
            self._find(rest, around)
        elif name == "xargs":
            self._xargs(rest, command, around)
        else:
            self._program(name, rest, around)
        self._piped_paths = self._piped_by(name, rest, around)

    def _program(self, name: str, rest: Arguments, around: Surroundings) -> None:
        if rule := RULES.get(name):
            rule(rest, self._targets, around)
        elif formatter := FORMATTERS.get(name):
            formatted(formatter, rest, self._targets, around)

    def _text(self, name: str, rest: Arguments, command: Simple, around: Surroundings) -> None:
        """Text that is a script itself: of `eval`, of `bash -c`, of `bash <<EOF`."""
        if self._depth >= _MAX_NESTED:
            return
        texts: list[str | None] = []
        if name == "eval":
            texts = [" ".join(word for word in rest if word is not None)]
        else:
            line = sorted_arguments(rest, "co")
            documents = [r.target.literal for r in command.redirects if r.operator in {"<<", "<<-", "<<<"}]
            texts = [line.value("-c")] if line.has("-c") else documents
        for text in texts:
            if text:
                self._deeper().script(read_script(text), around if name == "eval" else around.copy())

    def _find(self, rest: Arguments, around: Surroundings) -> None:
        actions = [place for place, word in enumerate(rest) if word in _FIND_ACTIONS]
        harmful = any(not is_harmless(_run_by(rest[place + 1 :])) for place in actions)
        if harmful or "-delete" in rest:
            self._found(rest, around)
        for word in ("-fprint", "-fprintf", "-fls", "-fprint0"):
            if word in rest:
                self._targets.written((*rest, None)[rest.index(word) + 1], around)

    def _found(self, rest: Arguments, around: Surroundings) -> None:
        """The files that a `find` comes to, by its roots and names."""
        roots: list[str | None] = []
        for word in rest:
            if word is not None and (word.startswith("-") or word in {"(", "!"}):
                if word in {"-H", "-L", "-P"}:
                    continue
                break
            roots.append(word)
        names = [
            (rest[place + 1] or "*", word == "-iname")
            for place, word in enumerate(rest[:-1])
            if word in {"-name", "-iname"}
        ]
        for root in roots or ["."]:
            self._targets.tree(root, around, lambda name: not names or _fits(name, names))

    def _xargs(self, rest: Arguments, command: Simple, around: Surroundings) -> None:
        inner = _run_by(wrapped_by(XARGS, rest))
        name = bare_name((*inner, None)[0])
        if not inner or is_harmless(inner):
            return
        self._program(name, inner[1:], around)
        if command.is_piped and self._piped_paths and (name in RULES or name in FORMATTERS or name in _SHELLS):
            self._piped_paths()

    def _piped_by(self, name: str, rest: Arguments, around: Surroundings) -> Callable[[], None] | None:
        """What a following `xargs` may get to: the files that this command tells the names of."""
        here = around.copy()
        if name == "find":
            return lambda: self._found(rest, here)
        if name in {"sort", "head", "tail", "grep", "xargs", "sed", "tr", "uniq", "awk", "cut"} and self._piped_paths:
            return self._piped_paths
        is_search = name in {"grep", "egrep", "rg", "fd", "ls", "git", "ag"}

        def take() -> None:
            paths = [word for word in rest if word and (where := here.absolute(word)) and here.disk.exists(where)]
            for path in paths or (["."] if is_search else []):
                self._targets.tree(path, here)

        return take


def _run_by(arguments: Arguments) -> Arguments:
    """The program that runs in the end, be it a module of Python."""
    run = unwrapped(arguments)
    while run and _PYTHON.fullmatch(bare_name(run[0])) and run[1:2] == ("-m",) and run[2:]:
        run = unwrapped(run[2:])
    return run


def _several_valued(words: tuple[Word, ...], around: Surroundings) -> str | None:
    names = (part.text for word in words for part in word.parts if part.kind == "variable")
    return next((name for name in names if len(around.variables.get(name, ())) > 1), None)


def _fits(name: str, patterns: list[tuple[str, bool]]) -> bool:
    return any(
        fnmatchcase(name.lower(), pattern.lower()) if folded else fnmatchcase(name, pattern)
        for pattern, folded in patterns
    )


def _without_keywords(words: tuple[Word, ...]) -> tuple[Word, ...]:
    place = 0
    while place < len(words) and words[place].bare in _KEYWORDS:
        place += 1
    return words[place:]


def _assign(words: tuple[Word, ...], around: Surroundings) -> tuple[Word, ...]:
    """Take the assignments in front; they stay only where no command follows."""
    place = 0
    found: dict[str, tuple[str, ...] | None] = {}
    while place < len(words) and (pair := assigned(words[place], around)):
        found[pair[0]] = pair[1]
        place += 1
    if place == len(words):
        _remember(found, around)
    return words[place:]


def _remember(found: Mapping[str, tuple[str, ...] | None], around: Surroundings) -> None:
    for name, values in found.items():
        if values is None:
            around.variables.pop(name, None)
        else:
            around.variables[name] = values


def _declare(arguments: Arguments, around: Surroundings) -> None:
    for argument in arguments:
        if argument and "=" in argument:
            name, _, value = argument.partition("=")
            around.variables[name] = (value,)


def _begin_loop(arguments: Arguments, around: Surroundings) -> None:
    name = (*arguments, None)[0]
    if name is None:
        return
    values = tuple(value for value in arguments[2:] if value is not None)
    _remember({name: values or None}, around)


def _change_directory(arguments: Arguments, around: Surroundings) -> None:
    operands = sorted_arguments(arguments).operands
    home = around.variables.get("HOME")
    where = operands[0] if operands else (home[0] if home else None)
    around.cwd = around.absolute(where) if where and where != "-" else None
    _remember({"PWD": (around.cwd,) if around.cwd else None}, around)
