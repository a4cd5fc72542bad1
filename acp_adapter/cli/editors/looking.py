"""Which entries of ours an editor's settings have, and whether the program that they start is there."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from acp_adapter.cli.editors.jsonc import JsoncError, member
from acp_adapter.cli.editors.table import Editor
from agent_core.own_files import read_text

_PROGRAM, _MODULE = "hermes-acp", "acp_adapter"
_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


@dataclass(frozen=True, slots=True)
class Known:
    """An entry that starts this agent, some version of it.

    Attributes:
        name: what the editor calls it; '' in start-up files.
        command: as far as it is written there.
        is_ours: `hermes-acp setup` would change this very entry.
    """

    name: str
    command: tuple[str, ...]
    is_ours: bool = True

    def program(self, path: str | None) -> Path | None:
        """The program that it starts; None where there is none.

        Args:
            path: the PATH that it is looked for on.
        """
        # Not `Path.expanduser`, which fails where a user of that name is not known.
        found = shutil.which(os.path.expanduser(self.command[0]), path=path)  # noqa: PTH111
        return Path(found) if found else None


def known_in(editor: Editor, home: Path) -> tuple[Known, ...]:
    """The entries of this agent in the editor's settings; none where there are none.

    Raises:
        OSError, UnicodeDecodeError, JsoncError: they cannot be read.
    """
    try:
        text = read_text(editor.settings_file(home))
    except FileNotFoundError:
        return ()
    return tuple(_in_json(text, editor) if editor.keys else _in_program(text))


def starts_same(known: Known, command: Sequence[str], path: str | None) -> bool:
    """Whether the entry starts the program that `command` starts, with whichever arguments."""
    program, wanted = known.program(path), shutil.which(command[0], path=path)
    return program is not None and wanted is not None and program.resolve() == Path(wanted).resolve()


def _in_json(text: str, editor: Editor) -> Iterator[Known]:
    entries = member(text, editor.keys)
    if entries is None:
        return
    if not isinstance(entries, dict):
        raise JsoncError(f"what stands at {'.'.join(editor.keys)} is no object")
    for name, entry in entries.items():
        command = _command(entry)
        if command and (name == editor.entry or _is_agent(command)):
            yield Known(name, command, is_ours=name == editor.entry)


def _command(entry: object) -> tuple[str, ...]:
    if not isinstance(entry, dict):
        return ()
    written = entry.get("command")
    # {"command": {"path": …, "args": …}}: as some editors had it.
    told = {"command": written.get("path"), "args": written.get("args")} if isinstance(written, dict) else entry
    command, arguments = told.get("command"), told.get("args")
    if not isinstance(command, str) or not command:
        return ()
    return (command, *(str(word) for word in arguments)) if isinstance(arguments, list) else (command,)


def _in_program(text: str) -> Iterator[Known]:
    """Texts in quotes, in order, from the one that names us on: a command and its arguments in Lisp and in Lua."""
    for line in text.splitlines():
        words = [word.replace('\\"', '"').replace("\\\\", "\\") for word in _STRING.findall(line)]
        if words and not line.lstrip().startswith((";", "--")) and _is_agent(words):
            yield Known("", tuple(words))


def _is_agent(command: Sequence[str]) -> bool:
    return Path(command[0]).name in {_PROGRAM, f"{_PROGRAM}.exe"} or _MODULE in command
