"""What an edit broke, as one language server sees it: the errors of the new text that the old one did not have."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path

from agent_core.lsp.documents import Document
from agent_core.lsp.errors import LspFailure, LspRefused
from agent_core.lsp.problems import problems_of
from agent_core.lsp.server import LanguageServer, Running
from tools.files.diagnostics import new_of
from tools.light_dataclass import dataclass
from tools.ports import Problem

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
        params = {"textDocument": {"uri": document.uri}, "identifier": running.greeting.identifier}
        while True:
            try:
                answer = await running.peer.request("textDocument/diagnostic", _without_nulls(params))
            except LspRefused as problem:
                if problem.code not in _AGAIN_CODES:
                    raise
                await asyncio.sleep(_AGAIN_SECONDS)
                continue
            items = answer.get("items") if isinstance(answer, dict) else None
            return problems_of(items, document.text, self.server.name)


def _without_nulls(params: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in params.items() if value is not None}
