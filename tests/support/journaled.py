"""Turns that are shown live and taken down at the same time, and the transcript that comes of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from typing import Any

from acp_adapter.capabilities import ClientCapabilities
from acp_adapter.events import EventBridge, Outbox
from acp_adapter.jsonrpc import encode
from acp_adapter.projection import project
from agent_core.cancel import CancelToken
from agent_core.events import SaidText, SessionEvent, UserSaid
from agent_core.providers.pricing import Spent
from agent_core.sessions.database import pack, unpack
from agent_core.sessions.event_codec import decode
from agent_core.sessions.journal import JournalRow, TurnJournal
from agent_core.sessions.records import SessionRecord, StoredEvent, StoredMessage, Transcript, TurnRecord
from tests.support.gate import Gate
from tests.support.merged_view import MergedView
from tests.support.wire import check_outgoing

CWD = "/srv"


def session_record(session_id: str = "s", turns: int = 1) -> SessionRecord:
    """A session, with nothing special about it."""
    return SessionRecord(
        session_id, CWD, (), "acp", "default", None, {}, None, None, session_id, 1.0, 2.0, False, turns, Spent()
    )


def transcript_of(
    turns: Iterable[TurnRecord], events: Iterable[StoredEvent] = (), messages: Iterable[StoredMessage] = ()
) -> Transcript:
    """A session of these turns."""
    turns = tuple(turns)
    return Transcript(session_record(turns=len(turns)), turns, tuple(messages), tuple(events))


def stored(rows: Iterable[JournalRow], turn: int = 1) -> list[StoredEvent]:
    """Rows as the database gives them back."""
    found = []
    for row in sorted(rows, key=lambda row: row.position):
        json.dumps(row.body, ensure_ascii=False, allow_nan=False).encode()  # strict JSON, or this fails
        events = decode(row.kind, row.version, unpack(pack(row.body)))
        found.append(StoredEvent(turn, row.position, row.created_at, events, row.open))
    return found


def shown(events: Iterable[SessionEvent], client: ClientCapabilities) -> MergedView:
    """What `client` shows after `events`; each update is checked against the protocol's schema."""
    view = MergedView()
    for event in events:
        show(view, event, client)
    return view


def show(view: MergedView, event: SessionEvent, client: ClientCapabilities) -> None:
    """Show one more event."""
    for update in project(event, client):
        frame = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": update}}
        carried = json.loads(encode(frame))
        check_outgoing(carried)
        view.fold(carried["params"]["update"])


class JournaledTurn:
    """A turn with a real bridge and outbox. `rows` is what the database would hold: the newest of each position."""

    def __init__(self, view: MergedView, client: ClientCapabilities, number: int = 1, pause: float = 0.0) -> None:
        self._view, self._client = view, client
        self.number = number
        self.journal = TurnJournal()
        self.rows: dict[int, JournalRow] = {}
        self._undelivered: list[SessionEvent] = []
        self.outbox = Outbox(asyncio.get_running_loop(), self._deliver, Gate().once_written)
        self.bridge = EventBridge(
            self.outbox, self.journal, CancelToken(), cwd=CWD, turn_id=f"turn-{number}", output_pause=pause
        )

    def say(self, *parts: Any) -> None:
        """The person's prompt: the client shows it by itself."""
        event = UserSaid(f"prompt-{self.number}", parts or (SaidText("Do it."),))
        self.journal.record(event)
        show(self._view, event, self._client)

    def write(self) -> None:
        """Write what the journal has."""
        self.rows |= {row.position: row for row in self.journal.take()}

    async def end(self) -> list[StoredEvent]:
        """Close the bridge as a turn's end does; what was stored of the turn."""
        self.bridge.close()
        await asyncio.wait_for(self.outbox.drain(), 5)
        assert not self._undelivered, "these events could not be shown"
        self.journal.close()
        self.write()
        return stored(self.rows.values(), self.number)

    async def die(self) -> list[StoredEvent]:
        """The process dies right after a write; the client is shown what a cancel would have shown."""
        self.write()
        rows = dict(self.rows)
        await self.end()
        return stored(rows.values(), self.number)

    def _deliver(self, event: SessionEvent) -> int:
        self._undelivered.append(event)
        show(self._view, event, self._client)
        self._undelivered.remove(event)
        return 0
