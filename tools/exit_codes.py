"""What a command's exit code means: some are no failure, some tell more than their number."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

_NO_MATCH = "1 means: no match."
_DIFFER = "1 means: they differ."
_FALSE = "1 means: the condition is false."
_ANSWERS = {
    "grep": _NO_MATCH,
    "egrep": _NO_MATCH,
    "fgrep": _NO_MATCH,
    "zgrep": _NO_MATCH,
    "rg": _NO_MATCH,
    "ag": _NO_MATCH,
    "git grep": _NO_MATCH,
    "pgrep": _NO_MATCH,
    "diff": _DIFFER,
    "cmp": _DIFFER,
    "colordiff": _DIFFER,
    "git diff": _DIFFER,
    "test": _FALSE,
    "[": _FALSE,
    "[[": _FALSE,
}
"""Programs whose exit code 1 is an answer."""

_FAILURES = {
    ("curl", 6): "The host's name could not be resolved.",
    ("curl", 7): "The connection was refused or the host cannot be reached.",
    ("curl", 22): "The server answered with an HTTP error.",
    ("curl", 28): "curl's own time limit passed.",
    ("pytest", 5): "No tests were collected.",
    ("git", 128): "git refused; its message says why.",
}
_GENERAL = {
    124: "Usually: the `timeout` program ended it.",
    126: "It was found but cannot be executed (permissions, or not a program).",
    127: "The command was not found: check its name, or install it.",
    130: "Ended by SIGINT.",
    134: "Ended by SIGABRT: it crashed.",
    137: "Ended by SIGKILL: often out of memory.",
    139: "Ended by SIGSEGV: it crashed (segmentation fault).",
    141: "Ended by SIGPIPE: the reader of its output closed early.",
    143: "Ended by SIGTERM.",
}
_SEPARATORS = frozenset(";&|\n")
_PREFIXES = frozenset({"sudo", "env", "time", "nice", "command", "exec", "nohup"})


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
    if exit_code == 1:
        answer = next((_ANSWERS[name] for name in names if name in _ANSWERS), None)
        if answer is not None:
            return ExitMeaning(failed=False, note=answer)
    note = next((_FAILURES[name, exit_code] for name in names if (name, exit_code) in _FAILURES), "")
    return ExitMeaning(failed=True, note=note or _GENERAL.get(exit_code, ""))


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
    while words and (words[0] in _PREFIXES or "=" in words[0]):
        words = words[1:]
    if not words:
        return ""
    name = words[0].rsplit("/", maxsplit=1)[-1]
    return f"git {words[1]}" if name == "git" and len(words) > 1 else name
