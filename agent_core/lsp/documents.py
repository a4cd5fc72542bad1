"""The documents that a language server has open, and what it said of them."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import field
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from agent_core.lsp.errors import LspFailure
from agent_core.lsp.peer import Peer
from agent_core.lsp.problems import problems_of
from tools.light_dataclass import dataclass
from tools.ports import Problem

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
