"""The ports through which tools reach the world: files, search, commands, the web, programs, diagnostics, and the
sign that a turn is over.

`agent_core`, `acp_adapter` and `tools.environments` implement these Protocols. What belongs to a tool call, and the
services of the agent, are in `tools.context`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, Protocol, runtime_checkable

from tools.errors import ToolError
from tools.light_dataclass import dataclass
from tools.result import ChangedFile, SavedOutput, ToolResult
from tools.settings import ProgramSettings

if TYPE_CHECKING:
    from tools.environments.sandbox.port import Confinement


# What a search asks for and what it finds: the words of `FileSystem.search`.


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """One question to `FileSystem.search`.

    Attributes:
        pattern: regular expression for `content`, globs for `files`.
        path: absolute file or directory to search.
        target: look inside files or at their names.
        glob: only files whose path matches it; with a `!` in front, only the others. Of several, with commas between
            them, one has to match. What they mean is `tools.text.globs.settled`'s to say.
        output: whole matches, file names only, or a count for each file.
        limit, offset: the page of results; `context`: lines around each match.
        type: only files of this kind, by ripgrep's names: py, ts, rust.
        fixed: the pattern is the text itself.
        ignore_case: of the pattern; globs always tell cases apart.
        multiline: `.` matches line breaks too. A pattern that names a line break needs no such word.
        include_ignored: search what `.gitignore` and its like name, too.
    """

    pattern: str
    path: Path
    target: Literal["content", "files"] = "content"
    glob: str | None = None
    output: Literal["content", "files_only", "count"] = "content"
    limit: int = 50
    offset: int = 0
    context: int = 0
    type: str | None = None
    fixed: bool = False
    ignore_case: bool = False
    multiline: bool = False
    include_ignored: bool = False


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A line (1-based) of a file; `line` 0 where the hit is the file itself. `is_match` False marks context."""

    path: Path
    line: int = 0
    text: str = ""
    count: int = 0
    is_match: bool = True


@dataclass(frozen=True, slots=True)
class SearchResult:
    """One page of hits and the total number of matches, or of files where files are listed.

    A match is a matching line; where a match may span lines, it is each place that matches.

    Attributes:
        shown: how many of `total` the page holds.
        truncated: there is more after this page.
        skipped: files whose names were left out because reading them asks (keys, credentials).
        partial: time ran out; `total` is what was found until then.
        unreadable: files and directories that could not be opened.
        note: how what searched differs from ripgrep; '' where it was that.
    """

    hits: tuple[SearchHit, ...]
    total: int
    truncated: bool = False
    skipped: int = 0
    shown: int = 0
    partial: bool = False
    unreadable: int = 0
    note: str = ""


# Files and commands, and the sign that a turn is over.


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


# Whoever keeps what files were before they change, so that a person can take a turn back. The gated ports call it
# after the approval and right before the effect. It never fails: what it could not keep, it notes, and the person is
# told when they ask for it.

TakeBack = Callable[[], None]
"""Says of a change that it was not made, since something else was found than it was to be made from."""


class FileHistory(Protocol):
    """The history of one tool call. Paths are absolute with symbolic links resolved."""

    def writing(self, path: Path, before: bytes | None, after: bytes | None) -> TakeBack:
        """`path` is about to hold `after` in place of `before`; None stands for no file."""
        ...

    def moving(self, source: Path, target: Path) -> TakeBack:
        """The file `source` is about to become `target`, where nothing is."""
        ...

    def command(
        self, spec: CommandSpec, unkept: Callable[[str], object] = lambda _: None
    ) -> AbstractContextManager[Sequence[ChangedFile]]:
        """A command runs inside the `with`: what it overwrites, moves or deletes is kept where that can be foreseen,
        and what it has changed is found afterwards: it is in the given sequence then, as far as it was seen.

        Args:
            unkept: is told, before the command runs, what could not be kept in time of what it would take. What it
                raises keeps the command from running.
        """
        ...


def nothing_noted() -> None:
    """There is nothing to take back."""


class NoHistory:
    """Keeps nothing."""

    def writing(self, path: Path, before: bytes | None, after: bytes | None) -> TakeBack:  # noqa: ARG002
        """Do nothing."""
        return nothing_noted

    def moving(self, source: Path, target: Path) -> TakeBack:  # noqa: ARG002
        """Do nothing."""
        return nothing_noted

    @contextmanager
    def command(
        self,
        spec: CommandSpec,  # noqa: ARG002
        unkept: Callable[[str], object] = lambda _: None,  # noqa: ARG002
    ) -> Iterator[Sequence[ChangedFile]]:
        """Do nothing."""
        yield ()


# Where a path leads: each file system knows that of its own files.


@runtime_checkable
class Resolves(Protocol):
    """A file system whose links are not this machine's."""

    def resolve(self, path: Path) -> Path:
        """The absolute path with all links resolved; what is not there stays as it is named."""
        ...


def real_path(files: FileSystem, path: Path) -> Path:
    """`path` with its symbolic links resolved, as `files` has them."""
    return files.resolve(path) if isinstance(files, Resolves) else Path(os.path.realpath(path))


def missing_root(path: Path, roots: Iterable[Path]) -> Path | None:
    """Which of a session's directories `path` is below that is not there any more: moved or deleted meanwhile."""
    return next((root for root in roots if path.is_relative_to(root) and not root.is_dir()), None)


# Whoever finds problems in a file's text.


@dataclass(frozen=True, slots=True)
class Problem:
    """One complaint. `line` and `column` count from 1; `source` is who complains, as «python» or «pylsp»."""

    line: int
    column: int
    severity: Literal["error", "warning"]
    message: str
    source: str


class Diagnostics(Protocol):
    """Finds the problems that an edit made."""

    def before(self, path: Path, text: str | None) -> object:
        """What is wrong before the edit, for `after`; None stands for a file that is not there. Costs little."""
        ...

    def after(self, path: Path, text: str, baseline: object, interrupt: Interrupt) -> Sequence[Problem]:
        """The problems of `text` that `baseline` did not have; whoever does not answer in time has none."""
        ...


# The web: requests and answers as plain values, under limits.

Trouble = Literal["url", "address", "redirect", "connection", "tls", "timeout", "size", "answer"]
"""What kind of failure it was: the URL itself; where it leads; the way there; what came back."""


class WebError(ToolError):
    """A request that came to nothing; the message says what to do. `kind` is for programs."""

    def __init__(self, message: str, kind: Trouble) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class WebRequest:
    """One request.

    Attributes:
        url: absolute, http or https, without a user name or password.
        headers: beside our own; they are not sent on to another origin.
        body: bytes to POST.
        max_redirects: how many are followed; a POST follows none.
        max_bytes: of the body, as sent and once unpacked; None leaves it to the settings.
        timeout: seconds for all of it, without the time that the person takes to answer; None as above.
        service: the search service that is asked, for the person to read; '' for a page.
        query: what the service is asked.
    """

    url: str
    method: Literal["GET", "POST"] = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    max_redirects: int = 5
    max_bytes: int | None = None
    timeout: float | None = None
    service: str = ""
    query: str = ""


@dataclass(frozen=True, slots=True)
class WebResponse:
    """What came back, whatever its status.

    Attributes:
        url: where it came from in the end, redirects followed.
        headers: names in lower case.
        body: unpacked, complete.
    """

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class WebSearchHit:
    """One result of a search."""

    title: str
    url: str
    snippet: str = ""


class Web(Protocol):
    """HTTP, and the search that needs no key."""

    def fetch(self, request: WebRequest, interrupt: Interrupt) -> WebResponse:
        """Send the request and take the whole answer; any status is one.

        Raises:
            WebError: no answer, or one that is not taken.
            Denied: the policy or the person said no. ToolInterrupted: the turn is over.
        """
        ...

    def search(self, query: str, limit: int, interrupt: Interrupt) -> Sequence[WebSearchHit]:
        """Ask public search engines without a key, at most `limit` results.

        Raises:
            WebError, Denied, ToolInterrupted: as above.
        """
        ...


# Whoever runs programs that call tools.

CallTool = Callable[[str, Mapping[str, Any], Interrupt], ToolResult]
"""Makes one call of a tool: its name, its arguments, and what ends it. Raises ToolInterrupted when that has come."""


@dataclass(frozen=True, slots=True)
class Program:
    """A program to run.

    Attributes:
        code: Python.
        cwd: the session's directory.
        module: the text of the functions by which it calls tools (`tools.execute_code`).
        limits: its time, calls and messages.
        variables: what the session's shell has exported; None for one that a fresh shell has and this one has not.
        save_to: the file for output that is too long to keep or to show, None for none.
    """

    code: str
    cwd: Path
    module: str
    limits: ProgramSettings
    variables: Mapping[str, str | None]
    save_to: Path | None = None


@dataclass(frozen=True, slots=True)
class ProgramOutcome:
    """How a program ended, as a command, and how many calls it has made of which tool."""

    command: CommandOutcome
    calls: Mapping[str, int]


class Programs(Protocol):
    """Where programs run."""

    def run(
        self, program: Program, call: CallTool, on_output: Callable[[str], None], interrupt: Interrupt
    ) -> ProgramOutcome:
        """Run to the end, the time-out or the cancel; nothing that the program has started is left then.

        Args:
            call: makes its calls; used from several threads.
            on_output: sees its output as it comes.

        Raises:
            CommandError: it could not be started. Denied, ToolInterrupted: it may not run.
        """
        ...
