"""A session's title: from the first prompt at once, from the auxiliary model when there is one."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import Literal

from acp_adapter.session import SessionState
from agent_core.auxiliary.question import settings_of
from agent_core.events import SessionNamed
from agent_core.factory import AgentFactory
from agent_core.prompt_parts import SaidPart
from agent_core.sessions.archive.titles import ask_title, clean_title, title_from_prompt
from agent_core.sessions.live.operations import NameSession
from agent_core.sessions.live.sqlite_store import SqliteSessionStore

log = logging.getLogger(__name__)


def name_after_prompt(store: SqliteSessionStore, session: SessionState, said: Sequence[SaidPart]) -> None:
    """Give a session without a title one from its first prompt."""
    if session.title is None and (title := title_from_prompt(said)):
        _name(store, session, title, "prompt")


def wants_better(factory: AgentFactory, session: SessionState) -> bool:
    """Whether the auxiliary model is to be asked: after the first turn, where the user has chosen one for that."""
    return session.turns_begun == 1 and _has_own_model(factory)


def name_after_answer(factory: AgentFactory, session: SessionState, said: Sequence[SaidPart], answer: str) -> None:
    """Ask the auxiliary model for a title. Whatever goes wrong, the title stays as it is."""
    try:
        if session.title != title_from_prompt(said):
            return
        if title := ask_title(factory.auxiliary().complete, said, answer):
            _name(factory.sessions.store, session, title, "model")
    except Exception:
        log.exception("the title of session %s could not be asked for", session.id)


def _has_own_model(factory: AgentFactory) -> bool:
    wanted = settings_of(factory.settings(), "title")
    return bool(wanted.model or wanted.provider or wanted.base_url)


def _name(store: SqliteSessionStore, session: SessionState, title: str, source: Literal["prompt", "model"]) -> None:
    named = NameSession(clean_title(title), source)
    if named.title:
        store.note(session.id, named)
    if named.title and named.is_taken is not False:
        session.title = title
        session.outbox.put(SessionNamed(title, time.time()))
