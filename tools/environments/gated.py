"""The ports as tools get them: every call passes the gate before it reaches the backend."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from tools.approval.actions import ReadPath, RunCommand, WritePath
from tools.approval.gate import Gate
from tools.context import (
    CommandOutcome,
    CommandSpec,
    Environment,
    FileStat,
    FileSystem,
    Interrupt,
    SearchQuery,
    SearchResult,
)
from tools.errors import FileChanged
from tools.file_history import FileHistory, NoHistory


class GatedFileSystem:
    """A `FileSystem` that asks before it reveals or changes anything.

    What is asked about and what is touched is the same resolved path, so that a symbolic link cannot lead an
    approved path elsewhere.
    """

    def __init__(self, inner: FileSystem, gate: Gate, history: FileHistory | None = None) -> None:
        self._inner = inner
        self._gate = gate
        self._history = history or NoHistory()

    def stat(self, path: Path) -> FileStat | None:
        """Facts of the path, for those who may read it."""
        return self._inner.stat(self._readable(path))

    def open(self, path: Path) -> BinaryIO:
        """Open a file for reading."""
        return self._inner.open(self._readable(path))

    def list(self, path: Path) -> Sequence[str]:
        """Names in a directory."""
        return self._inner.list(self._readable(path))

    def search(self, query: SearchQuery) -> SearchResult:
        """Search below a path that may be read."""
        real = self._readable(query.path)
        result = self._inner.search(replace(query, path=real))
        # The caller sees the paths under the name that it asked with.
        hits = (replace(hit, path=query.path / hit.path.relative_to(real)) for hit in result.hits)
        return replace(result, hits=tuple(hits))

    def write(self, path: Path, data: bytes, *, expected: bytes | None) -> bytes:
        """Ask with the change, then write if the file is still what the change was made from."""
        real = _real(path)
        self._gate.authorize(WritePath(real, expected, data, shown=path))
        self._unmoved(path, real)
        self._history.writing(real, expected, data)
        written = self._inner.write(real, data, expected=expected)
        if written != data:
            # Who takes this back finds the file as it was left, not as it was meant to be.
            self._history.writing(real, data, written)
        return written

    def remove(self, path: Path, *, expected: bytes) -> None:
        """Ask, then delete if the file is still what was seen."""
        # The link itself is deleted, not what it points to: only the directory is resolved.
        real = _real(path.parent) / path.name
        self._gate.authorize(WritePath(real, expected, None, shown=path))
        self._unmoved(path.parent, real.parent)
        self._history.writing(real, expected, None)
        self._inner.remove(real, expected=expected)

    def rename(self, source: Path, target: Path) -> None:
        """Ask for both ends, then move."""
        with self.open(source) as stream:
            content = stream.read()
        real_source, real_target = _real(source.parent) / source.name, _real(target)
        self._gate.authorize(WritePath(real_source, content, None, shown=source))
        self._gate.authorize(WritePath(real_target, None, content, shown=target))
        self._unmoved(source.parent, real_source.parent)
        self._unmoved(target, real_target)
        self._history.moving(real_source, real_target)
        self._inner.rename(real_source, real_target)

    def _readable(self, path: Path) -> Path:
        real = _real(path)
        self._gate.authorize(ReadPath(real))
        return real

    def _unmoved(self, path: Path, approved: Path) -> None:
        if _real(path) != approved:
            raise FileChanged(f"{path} led to {approved} when the change was approved, and no longer does.")


class GatedEnvironment:
    """An `Environment` that asks before a command runs."""

    def __init__(self, inner: Environment, gate: Gate, history: FileHistory | None = None) -> None:
        self._inner = inner
        self._gate = gate
        self._history = history or NoHistory()

    def run(self, spec: CommandSpec, on_output: Callable[[str], None], interrupt: Interrupt) -> CommandOutcome:
        """Ask, then run."""
        self._gate.authorize(RunCommand(spec.command, spec.cwd))
        of_call = replace(spec, call_id=self._gate.call_id)
        with self._history.command(of_call):
            return self._inner.run(of_call, on_output, interrupt)

    def is_busy(self) -> bool:
        """Whether processes of earlier commands are still alive."""
        return self._inner.is_busy()

    def close(self) -> None:
        """Leave the backend alone: it belongs to the session, not to one call."""


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))
