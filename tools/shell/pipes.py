"""How the parts of a command's last pipeline have ended: a shell's own exit code is that of the last part alone.

Bash keeps the statuses (PIPESTATUS) only until the next command, so the shell's report has to be the next thing that
it does. The end of an `eval` is a command of its own; `exit` behind the last line is not, and changes nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tools.shell.exit_codes import explain_exit

if TYPE_CHECKING:
    from tree_sitter import Node

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
    from tools.bash.grammar import NoGrammar, parse  # noqa: PLC0415 - only for pipes

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
