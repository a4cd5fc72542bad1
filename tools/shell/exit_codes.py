"""What a command's exit code means: some are no failure, some tell more than their number."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

from tools.light_dataclass import dataclass
from tools.shell.exit_meanings import ANSWERS, FAILURES, GENERAL

_SEPARATORS = frozenset(";&|\n")
_PREFIXES = frozenset({"sudo", "env", "time", "nice", "exec", "nohup", "npx", "bunx", "uvx"})
# What runs the program that its next words name.
_RUNNERS = (
    ("uv", "run"),
    ("poetry", "run"),
    ("pdm", "run"),
    ("hatch", "run"),
    ("pipenv", "run"),
    ("pnpm", "exec"),
    ("yarn", "exec"),
    ("bundle", "exec"),
    ("xvfb-run",),
)
_PYTHON = re.compile(r"(?:python|pypy)[0-9.]*")
# Programs whose verb counts, with the options before it that take a word of their own.
_VERBS: Mapping[str, frozenset[str]] = {
    "git": frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace"}),
    "go": frozenset(),
    "cargo": frozenset(),
    "terraform": frozenset(),
    "systemctl": frozenset(),
    "dnf": frozenset(),
    "yum": frozenset(),
    "npm": frozenset(),
    "command": frozenset(),
}


@dataclass(frozen=True, slots=True)
class ExitMeaning:
    """`failed`: the command did not do what was asked. `note`: a sentence for the model, or ''."""

    failed: bool
    note: str = ""


def explain_exit(command: str, exit_code: int) -> ExitMeaning:
    """What it means that the shell ended `command` with `exit_code`."""
    if exit_code == 0:
        return ExitMeaning(failed=False)
    program = _deciding_program(command)
    names = (program, program.split(" ", maxsplit=1)[0])
    answer = next((ANSWERS[name, exit_code] for name in names if (name, exit_code) in ANSWERS), None)
    if answer is not None:
        return ExitMeaning(failed=False, note=answer)
    note = next((FAILURES[name, exit_code] for name in names if (name, exit_code) in FAILURES), "")
    return ExitMeaning(failed=True, note=note or GENERAL.get(exit_code, ""))


def _deciding_program(command: str) -> str:
    """The program whose exit code the shell passes on («git diff» with its verb), '' when that is not certain."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=";&|()<>\n")
    lexer.whitespace = " \t\r"
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:
        return ""
    last: list[str] = []
    certain = True
    for word in words:
        if not _SEPARATORS.issuperset(word):
            last.append(word)
            continue
        # After && and || any earlier command may be the one whose code came out; `cd` is the usual harmless one.
        certain = word not in {"&&", "||"} or (certain and last[:1] == ["cd"])
        last = []
    return _program(last) if certain else ""


def _program(words: list[str]) -> str:
    words = _without_runners(words)
    if not words:
        return ""
    name = words[0].rsplit("/", maxsplit=1)[-1]
    if name not in _VERBS:
        return name
    verb = _verb(words[1:], _VERBS[name])
    if name == "command" and verb and verb not in {"-v", "-V"}:
        return _program(words[1:])
    return f"{name} {verb}" if verb else name


def _without_runners(words: list[str]) -> list[str]:
    while words:
        runner = next((runner for runner in _RUNNERS if tuple(words[: len(runner)]) == runner), None)
        if runner is not None:
            words = words[len(runner) :]
        elif words[0] in _PREFIXES or "=" in words[0]:
            words = words[1:]
        elif _PYTHON.fullmatch(words[0].rsplit("/", maxsplit=1)[-1]) and words[1:2] == ["-m"]:
            words = words[2:]
        else:
            break
    return words


def _verb(words: list[str], with_word: frozenset[str]) -> str:
    at = 0
    while at < len(words) and words[at].startswith("-"):
        if words[at] in {"-v", "-V"}:
            return words[at]
        at += 2 if words[at] in with_word else 1
    return words[at] if at < len(words) else ""
