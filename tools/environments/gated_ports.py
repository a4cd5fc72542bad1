"""Files, memory and MCP servers as tools get them: every call passes the gate before it reaches the backend."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from tools.agent_ports import McpServers, PersonAnswer, PersonPage, PersonQuestion
from tools.approval.actions import CallMcpTool, ReadPath, WriteMemory, WritePath
from tools.approval.gate import Gate
from tools.context import AgentServices
from tools.environments.atomic_writes import FileChange, change_all
from tools.errors import Denied, FileAccessError, FileChanged
from tools.light_dataclass import dataclass
from tools.memory_port import Memory, MemoryChange, MemoryOperation, MemoryTarget
from tools.ports import (
    FileHistory,
    FileStat,
    FileSystem,
    Interrupt,
    SearchQuery,
    SearchResult,
    TakeBack,
    missing_root,
    real_path,
)
from tools.result import ToolResult

_WRITABLE = 0o222


class GatedFileSystem:
    """A `FileSystem` that asks before it reveals or changes anything.

    What is asked about and what is touched is the same resolved path, so that a symbolic link cannot lead an
    approved path elsewhere.
    """

    def __init__(self, inner: FileSystem, gate: Gate) -> None:
        self._inner = inner
        self._gate = gate

    def stat(self, path: Path) -> FileStat | None:
        """Facts of the path, for those who may read it."""
        return self._inner.stat(self._readable(path))

    def open(self, path: Path) -> BinaryIO:
        """Open a file for reading."""
        return self._inner.open(self._readable(path))

    def open_saved(self, path: Path) -> BinaryIO:
        """Open a file for reading as it is on disk."""
        return self._inner.open_saved(self._readable(path))

    def list(self, path: Path) -> Sequence[str]:
        """Names in a directory, without those that a rule of the user's denies to read."""
        real = self._readable(path)
        return [name for name in self._inner.list(real) if not self._gate.hides(real / name)]

    def search(self, query: SearchQuery) -> SearchResult:
        """Search below a path that may be read."""
        real = self._readable(query.path)
        result = self._inner.search(replace(query, path=real))
        # The caller sees the paths under the name that it asked with.
        shown = (hit for hit in result.hits if not self._gate.hides(hit.path))
        hits = (replace(hit, path=query.path / hit.path.relative_to(real)) for hit in shown)
        return replace(result, hits=tuple(hits))

    def write(self, path: Path, data: bytes, *, expected: bytes | None) -> bytes:
        """Ask with the change, then write if the file is still what the change was made from."""
        real = self.resolve(path)
        self._has_place(real)
        self._gate.authorize(self._change(real, expected, data, path))
        self._unmoved(path, real)
        return _Remembered(self._inner, self._gate.history).write(real, data, expected=expected)

    def remarks(self) -> tuple[str, ...]:
        """As the backend has them."""
        return self._inner.remarks()

    def remove(self, path: Path, *, expected: bytes) -> None:
        """Ask, then delete if the file is still what was seen."""
        # The link itself is deleted, not what it points to: only the directory is resolved.
        real = self.resolve(path.parent) / path.name
        self._gate.authorize(self._change(real, expected, None, path))
        self._unmoved(path.parent, real.parent)
        _Remembered(self._inner, self._gate.history).remove(real, expected=expected)

    def rename(self, source: Path, target: Path) -> None:
        """Ask for both ends, then move."""
        with self.open(source) as stream:
            content = stream.read()
        real_source, real_target = self.resolve(source.parent) / source.name, self.resolve(target)
        self._has_place(real_target)
        with self._gate.as_one():
            self._gate.authorize(WritePath(real_source, content, None, shown=source))
            self._gate.authorize(WritePath(real_target, None, content, shown=target))
        self._unmoved(source.parent, real_source.parent)
        self._unmoved(target, real_target)
        _Remembered(self._inner, self._gate.history).rename(real_source, real_target)

    def change_all(self, changes: Sequence[FileChange]) -> Sequence[bytes | None]:
        """Ask for every change before the first is made; then make all, or none if one of them fails."""
        with self._gate.as_one():
            asked = [self._asked(change) for change in changes]
        for change, real in zip(changes, asked, strict=True):
            self._still_there(change, real)
        return change_all(_Remembered(self._inner, self._gate.history), asked)

    def _asked(self, change: FileChange) -> FileChange:
        """The change on the paths that it was allowed for: those that are really meant."""
        if change.source is not None:
            source, target = self.resolve(change.source.parent) / change.source.name, self.resolve(change.path)
            # That it may not be written says something of what is in it, not of where it is.
            is_read_only = change.after != change.before and self._is_read_only(source)
            self._gate.authorize(
                WritePath(source, change.before, None, shown=change.source, is_read_only=is_read_only)
            )
            self._gate.authorize(WritePath(target, None, change.after, shown=change.path))
            return replace(change, path=target, source=source)
        # Of a link that is deleted only the directory is resolved, as in `remove`.
        path = change.path
        real = self.resolve(path) if change.after is not None else self.resolve(path.parent) / path.name
        self._has_place(real)
        self._gate.authorize(self._change(real, change.before, change.after, change.path))
        return replace(change, path=real)

    def _change(self, real: Path, before: bytes | None, after: bytes | None, shown: Path) -> WritePath:
        is_read_only = before is not None and self._is_read_only(real)
        return WritePath(real, before, after, shown=shown, is_read_only=is_read_only)

    def _is_read_only(self, real: Path) -> bool:
        try:
            facts = self._inner.stat(real)
        except FileAccessError:  # a link, or what cannot be looked at: whoever changes it will be told
            return False
        return facts is not None and not facts.mode & _WRITABLE

    def _still_there(self, change: FileChange, real: FileChange) -> None:
        if change.source is not None and real.source is not None:
            self._unmoved(change.source.parent, real.source.parent)
        if change.after is None:
            self._unmoved(change.path.parent, real.path.parent)
        else:
            self._unmoved(change.path, real.path)

    def _readable(self, path: Path) -> Path:
        real = self.resolve(path)
        self._gate.authorize(ReadPath(real, None if real == path else path))
        return real

    def resolve(self, path: Path) -> Path:
        """Where a path leads, on the machine that has it."""
        return real_path(self._inner, path)

    def _has_place(self, real: Path) -> None:
        """Make sure that a file is not written below a directory of the session's that is gone.

        Raises:
            FileAccessError: it would be.
        """
        root = missing_root(real, self._gate.approvals.rules.roots)
        if root is not None and self._inner.stat(root) is None:
            raise FileAccessError(
                f"{real} was not changed: the session's directory {root} is not there any more; it was moved or "
                "deleted. It is not made again. Tell the user: they can bring it back, or open a session where it is."
            )

    def _unmoved(self, path: Path, approved: Path) -> None:
        if self.resolve(path) != approved:
            raise FileChanged(f"{path} led to {approved} when the change was approved, and no longer does.")


@dataclass(frozen=True, slots=True)
class _Remembered:
    """Makes changes that were asked about, and lets the history know what the files were."""

    inner: FileSystem
    history: FileHistory

    def write(self, path: Path, data: bytes, *, expected: bytes | None) -> bytes:
        """Write if the file is still what the change was made from."""
        with _noted(self.history.writing(path, expected, data)):
            written = self.inner.write(path, data, expected=expected)
        if written != data:
            # Who takes this back finds the file as it was left, not as it was meant to be.
            self.history.writing(path, data, written)
        return written

    def remove(self, path: Path, *, expected: bytes) -> None:
        """Delete if the file is still what was seen."""
        with _noted(self.history.writing(path, expected, None)):
            self.inner.remove(path, expected=expected)

    def rename(self, source: Path, target: Path) -> None:
        """Move to a path where nothing is."""
        with _noted(self.history.moving(source, target)):
            self.inner.rename(source, target)


@contextmanager
def _noted(take_back: TakeBack) -> Iterator[None]:
    """A change that the history knows of already is made inside. What is there instead of what it was to be made from
    is somebody else's: an undo must not take it for the change.
    """
    try:
        yield
    except FileChanged:
        take_back()
        raise


class GatedMemory:
    """A `Memory` that asks before a change is made."""

    def __init__(self, inner: Memory, gate: Gate) -> None:
        self._inner = inner
        self._gate = gate

    def plan(self, target: MemoryTarget, operations: Sequence[MemoryOperation]) -> MemoryChange:
        """What a batch would do; nothing is asked yet."""
        return self._inner.plan(target, operations)

    def commit(self, change: MemoryChange) -> MemoryChange:
        """Ask with what would change, then do it.

        Raises:
            MemoryRefused, Denied, ToolInterrupted.
        """
        self._gate.authorize(WriteMemory(change.target, change.path, change.before, change.after))
        return self._inner.commit(change)


READ = "resources/read"
"""What reading a resource is called where tools are named: no tool can have that name for a model."""

SAMPLE = "sampling/createMessage"


class GatedMcpTools:
    """An `McpTools` that asks before a server's tool is called, or a resource of it is read."""

    def __init__(self, inner: McpServers, gate: Gate, agent: AgentServices | None = None) -> None:
        self._inner = inner
        self._gate = gate
        self._behalf = _Behalf(gate, agent)

    def call(
        self,
        server: str,
        tool: str,
        arguments: Mapping[str, Any],
        interrupt: Interrupt,
        progress: Callable[[str], None],
    ) -> ToolResult:
        """Ask with the arguments, then call.

        Raises:
            Denied, ToolInterrupted: as in the port.
        """
        self._authorize(server, tool, arguments)
        return self._inner.call(server, tool, arguments, interrupt, progress, behalf=self._behalf)

    def read(self, server: str, uri: str, interrupt: Interrupt, progress: Callable[[str], None]) -> ToolResult:
        """Ask with the address, then read: what a server does for it nobody can see.

        Raises:
            Denied, ToolInterrupted: as in the port.
        """
        self._authorize(server, READ, {"uri": uri}, only_reads=True)
        return self._inner.read(server, uri, interrupt, progress, behalf=self._behalf)

    def resources(self, server: str) -> str:
        """What servers have told already: nothing is sent."""
        return self._inner.resources(server)

    def find(self, query: str) -> str:
        """Nothing is sent."""
        return self._inner.find(query)

    def locate(self, name: str) -> tuple[str, str] | None:
        """Nothing is sent."""
        return self._inner.locate(name)

    def _authorize(self, server: str, tool: str, arguments: Mapping[str, Any], *, only_reads: bool = False) -> None:
        text = json.dumps(arguments, ensure_ascii=False)
        pins = self._inner.pins(server)
        pin = pins.get(tool, pins.get(""))
        offered = frozenset((name or READ, each) for name, each in pins.items())
        self._gate.authorize(CallMcpTool(server, tool, text, only_reads=only_reads, pin=pin, offered=offered))
        now = self._inner.pins(server)
        if now.get(tool, now.get("")) != pin:
            raise Denied(
                f"The tool {tool} of the MCP server {server} has changed while the user was asked about it. It was "
                "not called. If you still need it, call it again: the user is then asked about what it is now."
            )


class _Behalf:
    """Asks the person for a server, on the card of the call that it works for."""

    def __init__(self, gate: Gate, agent: AgentServices | None) -> None:
        self._gate = gate
        self._agent = agent

    def ask(self, question: PersonQuestion | PersonPage, interrupt: Interrupt) -> PersonAnswer:
        """As in the port."""
        if self._agent is None:
            return PersonAnswer("unavailable")
        return self._agent.ask(replace(question, call_id=self._gate.call_id), interrupt)

    def allow_model(self, server: str, prompt: str, interrupt: Interrupt) -> None:
        """As in the port."""
        self._gate.within(interrupt).authorize(CallMcpTool(server, SAMPLE, prompt, each=True))
