"""A stored session as the updates that show it again; its list as `session/list` answers it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

from acp_adapter.capabilities import ClientCapabilities
from acp_adapter.card_fields import CardFields
from acp_adapter.projection import bare, iso_time, project
from agent_core.events import CommandsOffered, ModeChanged, SessionEvent, SessionNamed
from agent_core.sessions.events.replay import replayed
from agent_core.sessions.records import SessionPage, SessionRecord, Transcript

log = logging.getLogger(__name__)


def replay_params(
    transcript: Transcript,
    mode: str,
    client: ClientCapabilities,
    commands: CommandsOffered,
    *,
    runs_elsewhere: bool,
    call_ids: set[str],
) -> Iterator[dict[str, Any]]:
    """The parameters of each `session/update` that shows a stored session: what happened, then how it stands.

    (ACP v1, session setup: all of them are sent before `session/load` is answered.)

    Args:
        call_ids: gets those of the cards.
    """
    session, cards = transcript.session, CardFields()
    for event in (*replayed(transcript, is_running=runs_elsewhere), *standing(session, mode, commands)):
        for update in updates_of(event, client):
            new = cards.trim(update)
            if new is not None:
                if new["sessionUpdate"] == "tool_call":
                    call_ids.add(new["toolCallId"])
                yield {"sessionId": session.id, "update": new}


def standing(session: SessionRecord, mode: str, commands: CommandsOffered) -> tuple[SessionEvent, ...]:
    """How a session stands: commands, mode with options, title."""
    return commands, ModeChanged(mode), SessionNamed(session.title, session.updated_at)


def updates_of(event: SessionEvent, client: ClientCapabilities) -> list[dict[str, Any]]:
    """The updates of an event, whatever is wrong with what it should show: a card must still begin and end."""
    try:
        return project(event, client)
    except Exception:
        log.exception("an event could not be shown as it should")
        return bare(event)


def list_result(page: SessionPage, cwd: str | None) -> dict[str, Any]:
    """The answer to `session/list`.

    Args:
        cwd: the directory that was asked for. When they were stored it may have been spelled otherwise; clients
            compare it with what they asked for.
    """
    cursor = {} if page.next_cursor is None else {"nextCursor": page.next_cursor}
    own = {} if cwd is None else {"cwd": cwd}
    return {"sessions": [{**_info(session), **own} for session in page.sessions], **cursor}


def _info(session: SessionRecord) -> dict[str, Any]:
    info: dict[str, Any] = {"sessionId": session.id, "cwd": session.cwd, "updatedAt": iso_time(session.updated_at)}
    if session.title:
        info["title"] = session.title
    if session.roots:
        info["additionalDirectories"] = list(session.roots)
    return info
