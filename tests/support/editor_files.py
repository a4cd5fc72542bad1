"""The fake editor's files: open ones with text that may not be saved, and how it saves."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

_MARK = codecs.BOM_UTF8


def _as_it_is(text: str) -> str:
    return text


@dataclass(slots=True)
class EditorFiles:
    """Files as one editor has them.

    Attributes:
        buffers: text of open files, by path; it wins over the disk, whether it is saved or not.
        keeps_endings_apart: text has line feeds alone and no byte order mark; saving gives the file what it had.
        on_save: changes what is saved, as a formatter does.
        saves: False leaves what is written in the buffer.
        renames: saves by renaming, which loses the file's permissions.
        makes_directories: False refuses to write into one that is not there.
        keeps_lines: an open file is a list of lines: its text has no newline at its end, and saving writes one behind
            each line, also behind the empty one that a text with such a newline ends with (CodeCompanion).
        leaves_out_newline: the last newline of a text is not told (agentic.nvim).
        strips: what is saved has neither byte order mark nor Windows line endings.
    """

    buffers: dict[str, str] = field(default_factory=dict)
    keeps_endings_apart: bool = False
    on_save: Callable[[str], str] = _as_it_is
    saves: bool = True
    renames: bool = False
    makes_directories: bool = True
    keeps_lines: bool = False
    leaves_out_newline: bool = False
    strips: bool = False

    def read(self, path: str) -> str:
        """The file's text. OSError, UnicodeDecodeError: there is none."""
        text = self._shown(path)
        return text.removesuffix("\n") if self.leaves_out_newline else text

    def _shown(self, path: str) -> str:
        if path in self.buffers:
            return self.buffers[path]
        text = Path(path).read_bytes().decode("utf-8")
        return text.removeprefix("\ufeff").replace("\r\n", "\n") if self.keeps_endings_apart else text

    def write(self, path: str, content: str) -> None:
        """Take new text and save it. OSError: it cannot be."""
        if not self.saves:
            self.buffers[path] = content
            return
        text = self.on_save(content)
        if path in self.buffers:
            self.buffers[path] = text
        if self.keeps_lines and path in self.buffers:
            text = f"{text}\n"
        if self.strips:
            text = text.removeprefix("\ufeff").replace("\r\n", "\n")
        self._save(Path(path), text)

    def _save(self, path: Path, text: str) -> None:
        data = text.encode("utf-8")
        if self.keeps_endings_apart and path.exists():
            old = path.read_bytes()
            data = data.replace(b"\n", b"\r\n") if b"\r\n" in old else data
            data = _MARK + data if old.startswith(_MARK) else data
        if self.makes_directories:
            path.parent.mkdir(parents=True, exist_ok=True)
        if not self.renames:
            path.write_bytes(data)
            return
        temporary = path.with_name(f"{path.name}.tmp")
        temporary.write_bytes(data)
        temporary.chmod(0o600)
        temporary.replace(path)
