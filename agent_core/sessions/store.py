"""The port to wherever conversations are kept."""

from __future__ import annotations

from typing import Protocol

from agent_core.messages import Message


class SessionStore(Protocol):
    """Keeps each session's messages in order. Safe to use from several threads.

    One turn at a time may write to a session. A turn that was replaced or ended (its worker may still run) is
    refused, so that nothing of it reaches the history afterwards.
    """

    def create(self, session_id: str, cwd: str) -> None:
        """Begin a session that works in `cwd`."""
        ...

    def begin_turn(self, session_id: str, turn_id: str) -> None:
        """From now on only `turn_id` may append.

        Raises:
            UnknownSession: there is no such session.
        """
        ...

    def append(self, session_id: str, turn_id: str, message: Message) -> bool:
        """Store a message before it is acted on; False when the turn is not the running one.

        Raises:
            StoreError: it could not be stored.
        """
        ...

    def withdraw(self, session_id: str, turn_id: str) -> bool:
        """Leave the running turn's messages out of `messages` from now on; they stay stored.

        False when the turn is not the running one.

        Raises:
            StoreError: it could not be stored.
        """
        ...

    def end_turn(self, session_id: str, turn_id: str) -> None:
        """Refuse whatever `turn_id` still tries to append."""
        ...

    def messages(self, session_id: str) -> list[Message]:
        """The session's messages so far without withdrawn ones, a list of the caller's own.

        Raises:
            UnknownSession: there is no such session.
        """
        ...

    def forget(self, session_id: str) -> None:
        """Let go of a session; unknown ids are ignored."""
        ...
