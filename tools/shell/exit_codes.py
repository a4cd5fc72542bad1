"""What exit codes mean, also those of the parts of a pipeline."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from tools.light_dataclass import dataclass

if TYPE_CHECKING:
    from tree_sitter import Node


# What single exit codes mean: which are answers and no failures, and which tell more than their number.

_NO_MATCH = "1 means: no match."
_DIFFER = "1 means: they differ."
_FALSE = "1 means: the condition is false."
_NOT_FOUND = "1 means: it was not found."

ANSWERS: Mapping[tuple[str, int], str] = {
    **{(name, 1): _NO_MATCH for name in ("grep", "egrep", "fgrep", "zgrep", "rg", "ag", "git grep", "pgrep")},
    **{(name, 1): _DIFFER for name in ("diff", "cmp", "colordiff", "git diff", "zdiff", "sdiff")},
    **{(name, 1): _FALSE for name in ("test", "[", "[[", "expr", "jq", "((")},
    **{(name, 1): _NOT_FOUND for name in ("which", "type", "hash", "command -v", "git config")},
    ("git merge-base", 1): "1 means: no.",
    ("git check-ignore", 1): "1 means: none of them is ignored.",
    ("git show-ref", 1): _NOT_FOUND,
    ("git ls-remote", 2): "2 means: there is no such reference.",
    ("terraform plan", 2): "2 means: there are changes to apply.",
    ("dnf check-update", 100): "100 means: there are updates.",
    ("yum check-update", 100): "100 means: there are updates.",
    ("systemctl is-active", 3): "3 means: it is not active.",
    ("systemctl status", 3): "3 means: it is not running.",
    ("npm outdated", 1): "1 means: there are newer versions.",
}
"""(program, exit code) of answers: nothing went wrong."""

FAILURES: Mapping[tuple[str, int], str] = {
    ("curl", 6): "The host's name could not be resolved.",
    ("curl", 7): "The connection was refused or the host cannot be reached.",
    ("curl", 22): "The server answered with an HTTP error.",
    ("curl", 28): "curl's own time limit passed.",
    ("curl", 35): "The TLS handshake failed.",
    ("curl", 56): "The connection broke while receiving.",
    ("curl", 60): "The server's certificate is not trusted.",
    ("wget", 4): "The network failed: the host was not found or not reached.",
    ("wget", 8): "The server answered with an HTTP error.",
    ("pytest", 5): "No tests were collected.",
    ("timeout", 125): "`timeout` itself failed.",
    ("ssh", 255): "ssh itself failed: no connection, or no permission (nothing can be typed here).",
    ("ping", 1): "No answer came.",
}
"""(program, exit code) of failures of which programs say little themselves."""

GENERAL: Mapping[int, str] = {
    124: "Usually: the `timeout` program ended it.",
    126: "It was found but cannot be executed (permissions, or not a program).",
    127: "The command was not found: check its name, or install it.",
    129: "Ended by SIGHUP: its terminal went away.",
    130: "Ended by SIGINT.",
    131: "Ended by SIGQUIT.",
    132: "Ended by SIGILL: the program does not fit this processor, or crashed.",
    134: "Ended by SIGABRT: it crashed.",
    135: "Ended by SIGBUS: it crashed.",
    136: "Ended by SIGFPE: an arithmetic error such as a division by zero.",
    137: "Ended by SIGKILL: often out of memory.",
    139: "Ended by SIGSEGV: it crashed (segmentation fault).",
    141: "Ended by SIGPIPE: the reader of its output closed early.",
    143: "Ended by SIGTERM.",
    152: "Ended by SIGXCPU: its limit of processor time passed.",
    153: "Ended by SIGXFSZ: a file became larger than its limit.",
}
"""What shells and most programs mean by a code."""


# What a command's exit code means: some are no failure, some tell more than their number.

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


# How the parts of a command's last pipeline have ended: a shell's own exit code is that of the last part alone. Bash
# keeps the statuses (PIPESTATUS) only until the next command, so the shell's report has to be the next thing that it
# does. The end of an `eval` is a command of its own; `exit` behind the last line is not, and changes nothing else.

_BROKEN_PIPE = 141
"""A part that was still writing when its reader had seen enough, as in `yes | head`."""

_SHOWN_CHARS = 60
# Shells that say what they do would say this, too.
_TALKATIVE = re.compile(r"\bset\s+[-+]\w*[xv]|xtrace|verbose")
# After these `command exit` may be something else.
_REDEFINES = re.compile(r"\benable\b|\balias\b|\bcommand\s*\(|\bfunction\s+command\b")
_EXIT = "\ncommand exit"


def with_exit(command: str) -> str:
    """The command with an `exit` behind it where it has a pipe; itself where the line could be taken for its own."""
    if "|" not in command or command.endswith("\\"):
        return command
    if _TALKATIVE.search(command) or _REDEFINES.search(command):
        return command
    tree = _tree(command)
    return f"{command}{_EXIT}" if tree is not None and not tree.has_error and _is_ended(tree, command) else command


def _is_ended(tree: Node, command: str) -> bool:
    """Whether bash takes all here-documents for ended, which is stricter than the grammar: else it would go on with
    the next line, whatever that is.
    """
    text = command.encode()
    names = [text[node.start_byte : node.end_byte] for node in _nodes(tree) if node.type == "heredoc_start"]
    ends = [node.start_byte for node in _nodes(tree) if node.type == "heredoc_end"]
    if len(names) != len(ends):
        return False
    for name, end in zip(names, sorted(ends), strict=True):
        line = text[text.rfind(b"\n", 0, end) + 1 :].partition(b"\n")[0]
        if (line.lstrip(b"\t") if b"<<-" in text else line) != re.sub(rb"[\"'\\]", b"", name):
            return False
    return True


def failed_parts(command: str, statuses: Sequence[int]) -> list[str]:
    """What failed before the last part: `part 1 of the pipe (pytest -q) exited 1`; an answer (grep) is no failure."""
    names = _part_texts(command, len(statuses))
    return [
        f"part {number} of the pipe{f' ({_short(name)})' if name else ''} exited {status}"
        for number, (status, name) in enumerate(zip(statuses[:-1], names, strict=False), 1)
        if status not in {0, _BROKEN_PIPE} and (not name or explain_exit(name, status).failed)
    ]


def _part_texts(command: str, count: int) -> list[str]:
    """The texts of the parts of the one pipeline that has so many; empty ones where it could be several."""
    tree = _tree(command)
    found = [
        parts
        for node in ([] if tree is None else _nodes(tree))
        if node.type == "pipeline"
        and len(parts := [each for each in node.children if each.is_named and each.type != "comment"]) == count
    ]
    if len(found) != 1:
        return [""] * count
    return [command[part.start_byte : part.end_byte] for part in found[0]]


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN_CHARS else f"{line[: _SHOWN_CHARS - 1]}…"


def _tree(command: str) -> Node | None:
    from tools.approval.commands.bash.reading import NoGrammar, parse  # noqa: PLC0415 - only for pipes

    try:
        return parse(command)
    except NoGrammar:
        return None


def _nodes(node: Node) -> Iterator[Node]:
    waiting = [node]
    while waiting:
        found = waiting.pop()
        yield found
        waiting += found.children
