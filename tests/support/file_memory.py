"""A memory provider that keeps what it is told in a file: an example of one, and the plugin that brings it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.support.own_tools import write
from tools.registry import ToolEntry


class FileMemory:
    """Recalls the lines that share a word with the prompt. Lines are committed at the session's end."""

    name = "filed"

    def __init__(self, file: Path) -> None:
        self.file = file
        self.pending: list[str] = []
        self.session = ""

    def is_available(self) -> bool:
        return self.file.parent.is_dir()

    def begin_session(self, session_id: str) -> None:
        self.session = session_id

    def prefetch(self, query: str) -> str:
        words = set(query.lower().split())
        return "\n".join(line for line in [*self._lines(), *self.pending] if words & set(line.lower().split()))

    def sync_turn(self, user: str, assistant: str) -> None:
        self.pending.append(" ".join(f"{user} -> {assistant}".split()))

    def on_session_end(self) -> None:
        with self.file.open("a", encoding="utf-8") as stream:
            stream.writelines(f"{line}\n" for line in self.pending)
        self.pending.clear()

    def tools(self) -> Sequence[ToolEntry]:
        def count(_args: Any, **_kw: Any) -> str:
            return f'{{"lines": {len(self._lines())}}}'

        schema = {"type": "object", "properties": {}}
        return [ToolEntry("filed_count", "filed", schema, count, "How many lines are filed.")]

    def shutdown(self) -> None:
        self.session = ""

    def _lines(self) -> list[str]:
        return self.file.read_text(encoding="utf-8").splitlines() if self.file.exists() else []


def install(home: Path, body: str = "lambda: FileMemory(Path(__file__).with_name('filed.txt'))") -> Path:
    """Put a plugin that offers it into the home; the file that it keeps."""
    folder = home / "plugins" / "filed"
    write(folder / "plugin.yaml", "name: filed\n")
    write(
        folder / "__init__.py",
        f"""
        from pathlib import Path
        from tests.support.file_memory import FileMemory

        def register(ctx):
            ctx.register_memory_provider({body})
        """,
    )
    return folder / "filed.txt"
