"""What a shell command is likely to change, read from its text. Nothing is executed."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from tools.bash.peeling import unwrapped, wrapped_by
from tools.bash.wrappers import XARGS
from tools.changes.disk_view import DiskView
from tools.changes.expansion import Surroundings, all_expanded, assigned, expanded, starting
from tools.changes.file_programs import RULES
from tools.changes.formatters import FORMATTERS, formatted
from tools.changes.options import Arguments, bare_name, sorted_arguments
from tools.changes.read_only import is_harmless, is_read_only
from tools.changes.shell_reader import read_script
from tools.changes.shell_syntax import Redirect, Script, Simple, Word
from tools.changes.skipped_folders import is_generated
from tools.changes.targets import Targets
from tools.light_dataclass import dataclass

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
