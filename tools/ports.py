"""The ports through which tools reach the world: files, commands, and the sign that a turn is over.

`agent_core`, `acp_adapter` and `tools.environments` implement these Protocols. What belongs to a tool call, and the
services of the agent, are in `tools.context`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal, Protocol

from tools.files.searching import SearchQuery, SearchResult
from tools.light_dataclass import dataclass
from tools.result import ChangedFile, SavedOutput

if TYPE_CHECKING:
    from tools.environments.sandbox.port import Confinement


class Interrupt(Protocol):
    """The cancel signal of the turn that a tool call belongs to."""

    def is_set(self) -> bool:
        """True once the turn was cancelled or is over."""
        ...

    def on_cancel(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Run `callback` once at the cancel (at once if it has happened); returns a function that forgets it."""
        ...

    def wait_for(self, predicate: Callable[[], bool], timeout: float | None = None) -> bool:
        """Sleep until `predicate` holds (True), or the turn is cancelled or `timeout` seconds passed (False)."""
        ...

    def notify(self) -> None:
        """Make sleepers look at their predicate again."""
        ...


@dataclass(frozen=True, slots=True)
class FileStat:
    """Facts of one path. `kind` follows symbolic links; `mtime_ns` is nanoseconds since the epoch."""

    kind: Literal["file", "directory", "other"]
    size: int
    mtime_ns: int
    mode: int


class FileSystem(Protocol):
    """Where files live. Paths are absolute. Each call that has an effect or reveals content asks the policy."""

    def stat(self, path: Path) -> FileStat | None:
        """Facts of the path, None when nothing is there."""
        ...

    def open(self, path: Path) -> BinaryIO:
        """Open a regular file for reading.

        Raises:
            FileMissing, FileRefused, FileAccessError, Denied.
        """
        ...

    def open_saved(self, path: Path) -> BinaryIO:
        """As `open`, but what is on disk, past an editor's unsaved text: for who reads very many files."""
        ...

    def write(self, path: Path, data: bytes, *, expected: bytes | None) -> bytes:
        """Put `data` in place of `expected` (None: of nothing), atomically; parents are created.

        Returns:
            what is in the file now: `data`, unless an editor that writes for us saves it otherwise.

        Raises:
            FileChanged: the content now is not `expected`. FileRefused, FileAccessError, Denied.
        """
        ...

    def remarks(self) -> tuple[str, ...]:
        """What a person and the model should know of how the writes so far came about; none where all is as usual."""
        ...

    def list(self, path: Path) -> Sequence[str]:
        """Names in a directory, sorted."""
        ...

    def remove(self, path: Path, *, expected: bytes) -> None:
        """Delete a file whose content is `expected`."""
        ...

    def rename(self, source: Path, target: Path) -> None:
        """Move a file to a path where nothing is."""
        ...

    def search(self, query: SearchQuery) -> SearchResult:
        """Search file names or content below a path."""
        ...


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """A shell command to run. `timeout` in seconds; `env` is added to the environment's own.

    `call_id` is the tool call that runs it, '' outside one; the gate fills it in. `save_to` is the file for output
    that is too long to keep or to show, None for none. `confinement` is what it may do; None: whatever the user may.
    With `outside` the person is asked to let it run so. `waited` tells how many seconds of its time went by while the
    person was asked about a host; they do not count. With `once` it is never run a second time. `most_chars` of its
    output are kept; as many as the environment's settings say, where it is None. `only_looks`: nobody was asked,
    because it was proved to change nothing; the gate fills it in.
    """

    command: str
    cwd: Path
    timeout: float
    env: Mapping[str, str] | None = None
    call_id: str = ""
    save_to: Path | None = None
    confinement: Confinement | None = None
    outside: bool = False
    waited: Callable[[], float] = field(default=lambda: 0.0, compare=False)
    once: bool = False
    most_chars: int | None = None
    only_looks: bool = False


@dataclass(frozen=True, slots=True)
class CommandOutcome:
    """How a command ended. `output` is stdout and stderr together, head and tail kept where it was too long.

    Attributes:
        exit_code: the shell's status, None when a signal ended it.
        signal: the signal's name, as SIGKILL.
        truncated_chars: how many characters of the middle were left out of `output`.
        saved: the file with all of it, where it was long.
        refused: what its confinement kept it from, '' for nothing.
        put_back: files that it changed behind everybody's back, and that are what they were again.
        unreached: hosts that its confinement kept it from, each with the reason.
        changed: files that it was seen to change, where somebody looked.
        kept_in: why it must not run again without its confinement, for the model; '' where that may be asked for.
        only_read: it ran in plan mode and may have wanted more than to read, which nothing lets it do there.
    """

    output: str
    exit_code: int | None
    signal: str | None = None
    timed_out: bool = False
    interrupted: bool = False
    truncated_chars: int = 0
    duration: float = 0.0
    saved: SavedOutput | None = None
    refused: str = ""
    put_back: tuple[Path, ...] = ()
    unreached: tuple[str, ...] = ()
    changed: tuple[ChangedFile, ...] = ()
    only_read: bool = False
    kept_in: str = ""


class Environment(Protocol):
    """Where commands run."""

    def run(self, spec: CommandSpec, on_output: Callable[[str], None], interrupt: Interrupt) -> CommandOutcome:
        """Run to the end, the time-out or the cancel; `on_output` sees text as it comes.

        Raises:
            CommandError: it could not be started. Denied: the policy said no.
        """
        ...

    def is_busy(self) -> bool:
        """Whether processes of earlier commands are still alive."""
        ...

    def close(self) -> None:
        """End every process that is still alive from earlier commands."""
        ...
