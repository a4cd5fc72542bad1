"""Language servers: which one is for which file, how it is started and greeted, and what it has open."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shlex
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from agent_core.lsp.client import LspFailure, Peer
from agent_core.mcp.specs import McpFailure, ServerSpec
from agent_core.mcp.stdio import Child
from tools.environments.guardian import Guardian
from tools.environments.program_finder import PROGRAMS
from tools.light_dataclass import dataclass
from tools.ports import Problem

# Which language server is for which file, and where its program is.

Command = tuple[str, ...]

# Language → servers, the first that is installed is used. Those that know types go before those that only look at
# names.
_SERVERS: Mapping[str, Sequence[Command]] = {
    "python": (
        ("basedpyright-langserver", "--stdio"),
        ("pyright-langserver", "--stdio"),
        ("pylsp",),
        ("ruff", "server"),
        ("jedi-language-server",),
    ),
    "go": (("gopls",),),
    "rust": (("rust-analyzer",),),
    "typescript": (("typescript-language-server", "--stdio"),),
    "c": (("clangd",),),
}
# Suffix → language of the table above, language id of the protocol.
_SUFFIXES: Mapping[str, tuple[str, str]] = {
    ".py": ("python", "python"),
    ".pyi": ("python", "python"),
    ".go": ("go", "go"),
    ".rs": ("rust", "rust"),
    ".ts": ("typescript", "typescript"),
    ".mts": ("typescript", "typescript"),
    ".cts": ("typescript", "typescript"),
    ".tsx": ("typescript", "typescriptreact"),
    ".js": ("typescript", "javascript"),
    ".mjs": ("typescript", "javascript"),
    ".cjs": ("typescript", "javascript"),
    ".jsx": ("typescript", "javascriptreact"),
    ".c": ("c", "c"),
    ".h": ("c", "c"),
    ".cc": ("c", "cpp"),
    ".cpp": ("c", "cpp"),
    ".cxx": ("c", "cpp"),
    ".hpp": ("c", "cpp"),
}
LANGUAGES = tuple(_SERVERS)
"""The languages that have a name in the settings."""

_BIN = "Scripts" if os.name == "nt" else "bin"
_ENVIRONMENTS = (".venv", "venv")


@dataclass(frozen=True, slots=True)
class Language:
    """A language with its server; `suffix_id` is what the protocol calls the language of one file."""

    name: str
    suffix_id: str


@dataclass(frozen=True, slots=True)
class Places:
    """Where programs are looked for: the variables' PATH, beside our own, and in the workspace's environments.

    Attributes:
        roots: the session's directories.
        variables: of this process.
    """

    roots: tuple[Path, ...]
    variables: Mapping[str, str]
    own: Path = field(default_factory=lambda: Path(sys.executable).parent)

    def environment(self) -> Path | None:
        """The Python environment of the workspace, where it has one."""
        found = (root / name for root in self.roots for name in _ENVIRONMENTS)
        return next((path for path in found if (path / "pyvenv.cfg").is_file()), None)

    def path(self) -> str:
        """The PATH of a server: the workspace's own programs first, so that it asks the right interpreter."""
        return os.pathsep.join([*self._of_workspace(), self._inherited()])

    def program(self, name: str, *, is_named: bool = False) -> str | None:
        """The absolute path of a program, None where it is not installed.

        Args:
            is_named: the user's settings name it; then the workspace's own counts too, last.
        """
        own = self.own / name
        found = PROGRAMS.find(name, self._inherited()) or (str(own) if os.access(own, os.X_OK) else None)
        if found is None and is_named:  # anyone may have written what a workspace brings
            brought = (f"{folder}/{name}" for folder in self._of_workspace())
            found = next((program for program in brought if os.access(program, os.X_OK)), None)
        return found

    def _inherited(self) -> str:
        return self.variables.get("PATH", os.defpath)

    def _of_workspace(self) -> list[str]:
        environment = self.environment()
        own = [] if environment is None else [environment / _BIN]
        nodes = (root / "node_modules" / ".bin" for root in self.roots)
        return [str(path) for path in (*own, *nodes) if path.is_dir()]


def language_of(path: Path, configured: Mapping[str, Command]) -> Language | None:
    """The language of a file, None where it has no server.

    Args:
        configured: the user's servers, by language («python») or by suffix («.vue»).
    """
    suffix = path.suffix.lower()
    if suffix in configured:
        return Language(suffix, suffix.lstrip("."))
    if (known := _SUFFIXES.get(suffix)) is not None:
        return Language(*known)
    return None


def command_of(language: Language, configured: Mapping[str, Command], places: Places) -> Command | None:
    """The command of the language's server with the absolute path of its program; None where none is installed.

    A server that the user has configured is the only choice; an empty command means none.
    """
    own = configured.get(language.name)
    choices = _SERVERS.get(language.name, ()) if own is None else (own,)
    for command in choices:
        if not command:
            continue
        program = places.program(os.path.expanduser(command[0]), is_named=own is not None)  # noqa: PTH111 - text
        if program is not None:
            return (program, *command[1:])
    return None


# The language servers that a user has named in the settings (`lsp.servers`).

log = logging.getLogger(__name__)


def configured_servers(written: Mapping[str, object]) -> Mapping[str, Command]:
    """The commands by language or suffix; what cannot be understood is left out and logged.

    An entry is a language («python») or a suffix («.vue») with a command: a list, or a text as in a shell; an empty
    one or `false` means none. Other programs write a name with `command` and `extensions` there, which is understood.
    """
    found: dict[str, Command] = {}
    for name, value in written.items():
        try:
            found |= _entry(str(name).strip().lower(), value)
        except ValueError as problem:
            log.warning("lsp.servers.%s is left out: %s", name, problem)
    return found


def _entry(name: str, value: object) -> Mapping[str, Command]:
    if isinstance(value, Mapping):
        suffixes = value.get("extensions")
        names = [str(suffix).lower() for suffix in suffixes] if isinstance(suffixes, list) else [name]
        command = () if value.get("disabled") is True else _command(value.get("command"))
        return {each: command for each in names if _check(each)}
    return {name: _command(value)} if _check(name) else {}


def _check(name: str) -> bool:
    if name in LANGUAGES or (name.startswith(".") and len(name) > 1):
        return True
    raise ValueError(f"{name!r} is no suffix like .vue, and none of {', '.join(LANGUAGES)}")


def _command(value: object) -> Command:
    if value is None or value is False:
        return ()
    if isinstance(value, str):
        return tuple(shlex.split(value))
    if isinstance(value, list | tuple) and all(isinstance(part, str) for part in value):
        return tuple(value)
    raise ValueError("its command is neither a text nor a list of texts")


# The first messages to a language server: what we can do, where the workspace is, what it can do.

_CLIENT_CAPABILITIES: Mapping[str, Any] = {
    "general": {"positionEncodings": ["utf-16"]},
    "workspace": {"configuration": True, "workspaceFolders": True, "didChangeWatchedFiles": {}},
    "window": {"workDoneProgress": False},
    "textDocument": {
        "synchronization": {"didSave": True},
        "publishDiagnostics": {"versionSupport": True},
        "diagnostic": {"relatedDocumentSupport": False},
    },
}


@dataclass(frozen=True, slots=True)
class Greeting:
    """What a server can do.

    Attributes:
        answers: it is asked for a document's problems; otherwise it tells them when it likes.
        identifier: what it wants to be called then.
        wants_saves: it wants to be told when a file was saved.
    """

    answers: bool
    identifier: str | None
    wants_saves: bool


async def greet(peer: Peer, roots: tuple[Path, ...]) -> Greeting:
    """Introduce ourselves (`initialize`, `initialized`).

    Raises:
        LspFailure: it refused, or is gone.
    """
    folders = [{"uri": root.as_uri(), "name": root.name or str(root)} for root in roots]
    answer = await peer.request(
        "initialize",
        {
            "processId": os.getpid(),
            "clientInfo": {"name": "hermes-acp"},
            "rootPath": str(roots[0]),
            "rootUri": folders[0]["uri"],
            "workspaceFolders": folders,
            "capabilities": _CLIENT_CAPABILITIES,
        },
    )
    peer.notify("initialized", {})
    match answer:
        case {"capabilities": dict(can)}:
            return _understood(can)
    return _understood({})


def settings_section(name: str, places: Places) -> object:
    """Our value of a section of the settings that a server asks for; None where we have none.

    The workspace's own configuration files go before it in every server that asks.
    """
    environment = places.environment()
    match name:
        case "python" if environment is not None:
            return {"pythonPath": str(environment / "bin" / "python")}
        case "basedpyright":
            return {"analysis": {"typeCheckingMode": "standard"}}
        case "basedpyright.analysis":
            return {"typeCheckingMode": "standard"}
    return None


def _understood(can: Mapping[str, Any]) -> Greeting:
    pulled = can.get("diagnosticProvider")
    name = pulled.get("identifier") if isinstance(pulled, dict) else None
    sync = can.get("textDocumentSync")
    saves = sync.get("save") if isinstance(sync, dict) else None
    wants_saves = saves is not None and saves is not False
    return Greeting(bool(pulled), name if isinstance(name, str) else None, wants_saves)


# What a language server complains about, as `Problem`s: its errors, with columns that people count.

_ERROR = 1
_MOST = 500
_MAX_SOURCE = 40


def problems_of(items: object, text: str, server: str) -> Sequence[Problem]:
    """The errors among a server's diagnostics of `text`; warnings and what is malformed are left out.

    Args:
        items: `Diagnostic[]` of the protocol.
        server: stands for a source where none is named.
    """
    if not isinstance(items, list):
        return ()
    lines = text.split("\n")
    found = (_problem(item, lines, server) for item in items[:_MOST] if isinstance(item, dict))
    return tuple(problem for problem in found if problem is not None)


def _problem(item: Mapping[str, Any], lines: Sequence[str], server: str) -> Problem | None:
    if item.get("severity", _ERROR) != _ERROR:
        return None
    message = item.get("message")
    if isinstance(message, dict):  # marked up, from 3.18 on
        message = message.get("value")
    match item.get("range"):
        case {"start": {"line": int(line), "character": int(character)}} if line >= 0 and character >= 0:
            pass
        case _:
            return None
    if not isinstance(message, str) or not message.strip():
        return None
    source = item.get("source")
    named = source.strip()[:_MAX_SOURCE] if isinstance(source, str) else ""
    column = _characters(lines[line], character) if line < len(lines) else 0
    return Problem(line + 1, column + 1, "error", message.strip(), named or server)


def _characters(line: str, units: int) -> int:
    """How many characters the first `units` UTF-16 units of a line are."""
    if line.isascii():
        return min(units, len(line))
    start = line.encode("utf-16-le", "surrogatepass")[: 2 * units]
    return len(start.decode("utf-16-le", "ignore"))


# The documents that a language server has open, and what it said of them.

_MOST_OPEN = 8
_UNNUMBERED_TIMES = 3  # nobody knows which text it is about: the last one counts
_LONGEST_TALK_TIMES = 7


@dataclass(slots=True)
class Document:
    """A file as the server has it.

    Attributes:
        disk: what its file looked like when it had this text; None where it never had.
        said: the diagnostics that the server last sent for this version, None while it has sent none.
        numbered: it said which version it means.
        news: set by each publication, cleared when it was heard.
    """

    uri: str
    version: int
    text: str
    disk: tuple[int, int] | None
    said: object = None
    numbered: bool = False
    news: asyncio.Event = field(default_factory=asyncio.Event)


class Documents:
    """The open documents of one running server; on the service loop only.

    Args:
        server: its name, for problems without a source.
        wants_saves: it wants to be told when a file was saved.
        quiet: seconds without news after which it has said all: many say first what they see at once.
    """

    def __init__(self, peer: Peer, server: str, *, wants_saves: bool, quiet: float) -> None:
        self._peer = peer
        self._server = server
        self._wants_saves = wants_saves
        self._quiet = quiet
        self._versions = count(1)  # never the same twice, also for a document that is opened again
        self._is_over = False
        self._open: OrderedDict[Path, Document] = OrderedDict()

    def put(self, path: Path, language_id: str, text: str, *, saved: bool) -> Document:
        """Let the server have `text` as the file's; it is told what changed and nothing where nothing did.

        Args:
            saved: that is what is on the disk.
        """
        document = self._open.get(path)
        if document is None:
            document = self._opened(path, language_id, text)
        elif document.text != text:
            document.version = next(self._versions)
            document.text, document.said = text, None
            changes = [{"text": text}]
            identity = {"uri": document.uri, "version": document.version}
            self._peer.notify("textDocument/didChange", {"textDocument": identity, "contentChanges": changes})
        document.disk = _state(path) if saved else None
        self._open.move_to_end(path)
        return document

    def saved(self, document: Document, *, created: bool) -> None:
        """Tell the server that the document is on the disk as it has it."""
        changes = [{"uri": document.uri, "type": 1 if created else 2}]
        self._peer.notify("workspace/didChangeWatchedFiles", {"changes": changes})
        if self._wants_saves:
            identity = {"uri": document.uri}
            self._peer.notify("textDocument/didSave", {"textDocument": identity, "text": document.text})

    def forget_changed(self, besides: Path) -> None:
        """Close what others have changed on the disk, and what has not been used for long."""
        for path, document in list(self._open.items()):
            if path != besides and (document.disk != _state(path) or len(self._open) > _MOST_OPEN):
                del self._open[path]
                self._peer.notify("textDocument/didClose", {"textDocument": {"uri": document.uri}})

    def publish(self, params: Mapping[str, Any]) -> None:
        """Note what the server says of a document; what it says of another text than the one it has is dropped."""
        path, version = _path(params.get("uri")), params.get("version")
        document = self._open.get(path) if path is not None else None
        if document is None or (version is not None and version != document.version):
            return
        document.said = params.get("diagnostics") or []
        document.numbered = version is not None
        document.news.set()

    async def published(self, document: Document) -> Sequence[Problem]:
        """The errors of the document as it is now, once the server has said all of them for the moment.

        Raises:
            LspFailure: it is gone.
        """
        while document.said is None:
            if self._is_over:
                raise LspFailure(f"{self._server} is gone.")
            document.news.clear()
            await document.news.wait()
        quiet = self._quiet if document.numbered else self._quiet * _UNNUMBERED_TIMES
        until = time.monotonic() + self._quiet * _LONGEST_TALK_TIMES
        while document.news.is_set() and time.monotonic() < until:
            document.news.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(quiet):
                    await document.news.wait()
        return problems_of(document.said, document.text, self._server)

    def end(self) -> None:
        """Nothing more comes: whoever waits for it hears so."""
        self._is_over = True
        for document in self._open.values():
            document.news.set()

    def _opened(self, path: Path, language_id: str, text: str) -> Document:
        document = self._open[path] = Document(path.as_uri(), next(self._versions), text, None)
        item = {"uri": document.uri, "languageId": language_id, "version": document.version, "text": text}
        self._peer.notify("textDocument/didOpen", {"textDocument": item})
        return document


def _state(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _path(uri: object) -> Path | None:
    # Servers escape more or fewer characters than we do.
    if not isinstance(uri, str):
        return None
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    return Path(unquote(parts.path)) if parts.scheme == "file" else None


# One language server of a session: started at the first question, and again when it dies, but not for ever.

_GRACE_SECONDS = 0.5
_SHUTDOWN_SECONDS = 1.0
_SHOWN_WORDS = 300


@dataclass(frozen=True, slots=True)
class LspLimits:
    """Limits for every server.

    Attributes:
        wait: seconds an edit waits for what is said of it, the server's start included.
        start: seconds a server has until it answers the first message.
        pauses: seconds before each new start of a server that died; when they are used up, it stays dead.
        silences: so many edits in a row without an answer, and it is not asked any more.
        quiet: seconds without news after which a server has said all about a text.
    """

    wait: float = 3.0
    start: float = 60.0
    pauses: tuple[float, ...] = (0.5, 2.0, 8.0)
    silences: int = 5
    quiet: float = 0.15


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What all servers of a session have in common; `note` gets what the person should know."""

    places: Places
    guardian: Guardian
    limits: LspLimits
    note: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Running:
    """A server that has been greeted."""

    peer: Peer
    greeting: Greeting
    documents: Documents


class LanguageServer:
    """Keeps one server running. Its methods run on the service loop.

    Args:
        name: for people, as «pylsp».
    """

    def __init__(self, name: str, command: Command, around: Surroundings) -> None:
        self.name = name
        self._command = command
        self._around = around
        self._running: Running | None = None
        self._child: Child | None = None
        self._news = asyncio.Event()
        self._silent = 0
        self._is_off = False
        self._task = asyncio.create_task(self._keep(), name=f"language server {name}")

    @property
    def is_off(self) -> bool:
        """It died too often, or never answered: it is not asked any more."""
        return self._is_off

    @property
    def is_ready(self) -> bool:
        """It runs and has been greeted."""
        return self._running is not None

    async def ready(self) -> Running:
        """The running server, as soon as there is one.

        Raises:
            LspFailure: there will be none.
        """
        while self._running is None:
            if self._is_off:
                raise LspFailure(f"{self.name} is off.")
            self._news.clear()
            await self._news.wait()
        return self._running

    def heard(self) -> None:
        """It has answered."""
        self._silent = 0

    def unheard(self) -> None:
        """It let an edit wait in vain."""
        self._silent += 1
        if self._silent >= self._around.limits.silences:
            self._off(f"{self._silent} edits in a row got no answer within {self._around.limits.wait:g} s.")

    async def end(self) -> None:
        """Shut it down and end its process; bounded."""
        self._is_off = True
        self._news.set()
        for _ in range(2):  # the second time, whatever tidies up slowly is broken off
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=4 * _GRACE_SECONDS + _SHUTDOWN_SECONDS + 1)
            if self._task.done():
                return
            self.kill()

    def kill(self) -> None:
        """Kill its processes now; from any thread."""
        if self._child is not None:
            self._child.kill()

    async def _keep(self) -> None:
        reason = ""
        for pause in (0.0, *self._around.limits.pauses):
            await asyncio.sleep(pause)
            try:
                reason = str(await self._serve())
            except (McpFailure, OSError) as problem:  # its program cannot be started
                reason = str(problem)
                break
            log.warning("language server %s ended: %s", self.name, reason)
            if self._is_off:
                return
        self._off(reason)

    async def _serve(self) -> LspFailure:
        """Run the program once, until it ends; returns why it did."""
        places = self._around.places
        environment = places.environment()
        own = {"PATH": places.path()} | ({} if environment is None else {"VIRTUAL_ENV": str(environment)})
        program, *arguments = self._command
        spec = ServerSpec(self.name, "stdio", program, tuple(arguments), env=tuple(own.items()))
        child = await Child.start(spec, places.roots[0], self._around.guardian, places.variables)
        self._child, reason = child, LspFailure("")
        try:
            reason = await self._talk(child)
        finally:
            self._child = None
            await child.end(_GRACE_SECONDS)
        words = " ".join(child.last_words().split())[-_SHOWN_WORDS:]
        return LspFailure(f"{reason} It {child.ended_how()}." + (f" Its last words: {words}" if words else ""))

    async def _talk(self, child: Child) -> LspFailure:
        peer = Peer(child, self._hear, lambda name: settings_section(name, self._around.places))
        reading = asyncio.create_task(peer.run())
        try:
            try:
                async with asyncio.timeout(self._around.limits.start):
                    greeting = await greet(peer, self._around.places.roots)
            except TimeoutError:
                return LspFailure(f"It did not answer within {self._around.limits.start:g} s.")
            except LspFailure as problem:
                return problem
            quiet = self._around.limits.quiet
            documents = Documents(peer, self.name, wants_saves=greeting.wants_saves, quiet=quiet)
            self._running = Running(peer, greeting, documents)
            self._news.set()
            await asyncio.wait({reading})
            ended = reading.exception()
            return ended if isinstance(ended, LspFailure) else LspFailure(f"Reading failed: {ended!r}.")
        finally:
            running, self._running = self._running, None
            if running is not None:
                running.documents.end()
            await self._part(peer, reading, politely=running is not None)

    @staticmethod
    async def _part(peer: Peer, reading: asyncio.Task[None], *, politely: bool) -> None:
        if politely and not reading.done():
            with contextlib.suppress(LspFailure, TimeoutError):
                async with asyncio.timeout(_SHUTDOWN_SECONDS):
                    await peer.request("shutdown")
                    peer.notify("exit")
                    await asyncio.wait({reading})
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)

    def _hear(self, method: str, params: Mapping[str, Any]) -> None:
        if method == "textDocument/publishDiagnostics" and self._running is not None:
            self._running.documents.publish(params)

    def _off(self, reason: str) -> None:
        if self._is_off:
            return
        self._is_off = True
        self._news.set()
        self._task.cancel()
        where = os.path.basename(self._command[0])  # noqa: PTH119 - text
        self._around.note(
            f"The language server {where} is not asked any more in this session: {reason} "
            "Try it in a terminal, or name another one in the settings (lsp.servers)."
        )
