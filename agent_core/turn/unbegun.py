"""A prompt that was cancelled before its turn began: what was said is kept all the same."""

from __future__ import annotations

from agent_core.messages import INTERRUPTED_TURN, Content, repaired, user_message
from agent_core.sessions.store import SessionStore
from agent_core.turn.history import TurnHistory


def keep_cancelled(store: SessionStore, session_id: str, turn_id: str, content: Content) -> None:
    """Store a turn with the person's message alone, as one that was cancelled at once; its journal goes along.

    Args:
        turn_id: of the turn that has not begun, and must not begin any more.

    Raises:
        UnknownSession: there is no such session.
        SessionInUse: another process has it.
        StoreError: the conversation so far cannot be read.
    """
    store.begin_turn(session_id, turn_id)
    try:
        messages = repaired(store.messages(session_id))
        history = TurnHistory(store, session_id, turn_id, messages, len(messages))
        if messages:
            history.close_off(INTERRUPTED_TURN)
        history.remember(user_message(content, ""))
        history.close_off(INTERRUPTED_TURN)
    finally:
        store.end_turn(session_id, turn_id, "cancelled")
