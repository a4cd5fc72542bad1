"""What an edit broke, as a session's language servers see it: errors that the old text did not have."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from pathlib import Path

from agent_core.lsp.client import LspFailure, LspRefused
from agent_core.lsp.server import (
    Command,
    Document,
    Language,
    LanguageServer,
    LspLimits,
    Places,
    Running,
    Surroundings,
    command_of,
    language_of,
    problems_of,
)
from agent_core.service_loop import ServiceLoop
from tools.environments.guardian import Guardian
from tools.errors import ToolInterrupted, install_line
from tools.files.diagnostics import MAX_CHARS, new_of, syntax_problems
from tools.light_dataclass import dataclass
from tools.ports import Interrupt, Problem

# As one server sees it.

_MOST_UNCHECKED = 64
_AGAIN_CODES = frozenset({-32801, -32802})  # ContentModified, ServerCancelled: the same question may be asked again
_AGAIN_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Edit:
    """A file's change: its text before (None: no file) and after it."""

    path: Path
    language_id: str
    before: str | None
    after: str


class Checking:
    """Asks one server about one edit at a time; on the service loop only."""

    def __init__(self, server: LanguageServer, wait: float) -> None:
        self.server = server
        self._wait = wait
        self._turns = asyncio.Lock()
        self._unchecked: OrderedDict[Path, Edit] = OrderedDict()
        self._waited_for_start = False

    async def check(self, edit: Edit) -> Sequence[Problem]:
        """The errors that are new; none when the server does not say so in time.

        What it could not say of earlier edits of the file counts as this edit's.
        """
        edit = self._with_unchecked(edit)
        if self.server.is_off or (not self.server.is_ready and self._waited_for_start):
            return ()
        was_ready, self._waited_for_start = self.server.is_ready, True
        try:
            async with asyncio.timeout(self._wait), self._turns:
                running = await self.server.ready()
                was_ready = True
                now, earlier = await self._asked(running, edit)
        except TimeoutError:
            if was_ready:
                self.server.unheard()
            return ()
        except LspFailure:
            return ()
        self.server.heard()
        self._unchecked.pop(edit.path, None)
        return new_of(now, edit.after, earlier, edit.before or "")

    def _with_unchecked(self, edit: Edit) -> Edit:
        """The edit together with those before it that nothing is known of, if nobody else changed the file since."""
        last = self._unchecked.pop(edit.path, None)
        if last is not None and last.after == edit.before:
            edit = Edit(edit.path, edit.language_id, last.before, edit.after)
        self._unchecked[edit.path] = edit
        while len(self._unchecked) > _MOST_UNCHECKED:
            self._unchecked.popitem(last=False)
        return edit

    async def _asked(self, running: Running, edit: Edit) -> tuple[Sequence[Problem], Sequence[Problem]]:
        documents = running.documents
        documents.forget_changed(edit.path)
        earlier: Sequence[Problem] = ()
        if edit.before is not None and edit.before.strip():
            old = documents.put(edit.path, edit.language_id, edit.before, saved=False)
            earlier = await self._problems(running, old)
        document = documents.put(edit.path, edit.language_id, edit.after, saved=True)
        documents.saved(document, created=edit.before is None)
        return await self._problems(running, document), earlier

    async def _problems(self, running: Running, document: Document) -> Sequence[Problem]:
        if not running.greeting.answers:
            return await running.documents.published(document)
        params: dict[str, object] = {"textDocument": {"uri": document.uri}}
        if (identifier := running.greeting.identifier) is not None:
            params["identifier"] = identifier
        while True:
            try:
                answer = await running.peer.request("textDocument/diagnostic", params)
            except LspRefused as problem:
                if problem.code not in _AGAIN_CODES:
                    raise
                await asyncio.sleep(_AGAIN_SECONDS)
                continue
            items = answer.get("items") if isinstance(answer, dict) else None
            return problems_of(items, document.text, self.server.name)


# All of one session, behind the port that tools ask.

log = logging.getLogger(__name__)

_SLACK_SECONDS = 1.0
_END_SECONDS = 10.0
_MOST_SOUND = 32


@dataclass(frozen=True, slots=True)
class Baseline:
    """The text before an edit; None where there was no file."""

    text: str | None


class LanguageServers:
    """Implements `tools.ports.Diagnostics`; safe to use from several threads, and never on a loop.

    A server is started by the first edit of a file of its language. It runs until `close`, and outlives neither the
    session nor this process.

    Args:
        roots: the session's directories; files elsewhere are not looked at.
        configured: the user's servers, by language or suffix; an empty command means none.
        note: gets what the person should know, on a thread of ours.
        variables: what the servers' environment is made from; the process's own when None.
    """

    def __init__(
        self,
        roots: Sequence[Path],
        *,
        loop: ServiceLoop,
        guardian: Guardian,
        configured: Mapping[str, Command] | None = None,
        limits: LspLimits | None = None,
        note: Callable[[str], None] = log.warning,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self._roots = tuple(Path(os.path.realpath(root)) for root in roots)
        self._configured = dict(configured or {})
        places = Places(self._roots, os.environ if variables is None else variables)
        self._around = Surroundings(places, guardian, limits or LspLimits(), note)
        self._loop = loop
        self._lock = threading.Lock()
        self._is_closed = False
        self._is_used = False
        self._commands: dict[str, Command] = {}
        self._missing: set[str] = set()
        self._servers: dict[Command, Checking] = {}  # on the loop only
        self._sound: OrderedDict[Path, str] = OrderedDict()

    def before(self, path: Path, text: str | None) -> object:
        """The text to compare with, for `after`: where this one cannot be parsed, the file's last one that could.

        Of a text that cannot be parsed, a server says little more than that.
        """
        if text is None or not self._is_ours(path, text):
            return Baseline(text)
        is_sound = not syntax_problems(path, text)
        with self._lock:
            if is_sound:
                self._sound[path] = text
                self._sound.move_to_end(path)
                while len(self._sound) > _MOST_SOUND:
                    self._sound.popitem(last=False)
            return Baseline(text if is_sound else self._sound.get(path, text))

    def after(self, path: Path, text: str, baseline: object, interrupt: Interrupt) -> Sequence[Problem]:
        """The errors that the edit made, within the bounded wait; what is not said by then comes with the next edit.

        Raises:
            ToolInterrupted: the turn was cancelled.
        """
        before = baseline.text if isinstance(baseline, Baseline) else None
        real = Path(os.path.realpath(path))
        language = language_of(real, self._configured)
        if language is None or text == before or not self._is_ours(path, text):
            return ()
        if len(before or "") > MAX_CHARS:
            return ()
        command = self._command(language)
        if command is None:
            return ()
        future = self._submitted(self._check(command, Edit(real, language.suffix_id, before, text)))
        return () if future is None else _waited(future, self._around.limits.wait + _SLACK_SECONDS, interrupt)

    def close(self) -> None:
        """Shut the servers down and end their processes; bounded."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
        if not self._is_used:
            return
        try:
            self._loop.submit(self._end_all()).result(_END_SECONDS)
        except (TimeoutError, CancelledError):
            log.warning("language servers did not end in time; they are killed")
            for checking in tuple(self._servers.values()):
                checking.server.kill()

    def _is_ours(self, path: Path, text: str) -> bool:
        if len(text) > MAX_CHARS or language_of(path, self._configured) is None:
            return False
        real = Path(os.path.realpath(path))
        return any(real.is_relative_to(root) for root in self._roots)

    def _command(self, language: Language) -> Command | None:
        # Once there is one, it stays: a server that is installed meanwhile is for the next session.
        with self._lock:
            if language.name not in self._commands:
                command = command_of(language, self._configured, self._around.places)
                if command is None:
                    self._tell_missing(language.name)
                    return None
                self._commands[language.name] = command
            return self._commands[language.name]

    def _tell_missing(self, language: str) -> None:
        if language not in self._missing:
            self._missing.add(language)
            how = f"; for Python there is one with: {install_line('lsp')}" if language == "python" else ""
            log.info("no language server for %s is installed, so its files are not checked%s", language, how)

    def _submitted(self, work: Coroutine[None, None, Sequence[Problem]]) -> Future[Sequence[Problem]] | None:
        with self._lock:
            if not self._is_closed:
                self._is_used = True
                return self._loop.submit(work)
        work.close()
        return None

    async def _check(self, command: Command, edit: Edit) -> Sequence[Problem]:
        checking = self._servers.get(command)
        if checking is None:
            server = LanguageServer(Path(command[0]).name, command, self._around)
            checking = self._servers[command] = Checking(server, self._around.limits.wait)
        return await checking.check(edit)

    async def _end_all(self) -> None:
        await asyncio.gather(*(checking.server.end() for checking in self._servers.values()))


def _waited(future: Future[Sequence[Problem]], seconds: float, interrupt: Interrupt) -> Sequence[Problem]:
    def cancel() -> None:
        future.cancel()

    forget = interrupt.on_cancel(cancel)
    try:
        return future.result(seconds)
    except TimeoutError:
        future.cancel()
        return ()
    except CancelledError:
        if interrupt.is_set():
            raise ToolInterrupted from None
        return ()
    finally:
        forget()
