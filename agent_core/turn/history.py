"""What one turn adds to the conversation: each message is stored before anything is done about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from agent_core.callbacks import Status
from agent_core.errors import TurnInterrupted
from agent_core.interrupt import CancelToken
from agent_core.messages import (
    INTERRUPTED_TURN,
    Content,
    Message,
    assistant_message,
    closing,
    holds_others_words,
    user_message,
)
from agent_core.sessions.records import PromptLeft
from agent_core.sessions.store import SessionStore
from tools.approval.approvals import Approvals
from tools.errors import ToolInterrupted
from tools.light_dataclass import dataclass

_FULL = "So much of this conversation waits to be saved that it goes on only when that works again."
_LOOK_AGAIN = 0.25


@dataclass(slots=True)
class TurnHistory:
    """The conversation as the turn sees it.

    Attributes:
        messages: all of it, without the system prompt.
        start: how many of them were there before the turn.
        token: the turn's.
        on_trouble: is told when storing fails, and when it works again.
        withdrawn: what of the turn the model is not shown again.
        broken_off: the text of the last answer as far as the person has seen it, while no message has it.
        approvals: know whether the session has read what others wrote, which is kept with its messages.
    """

    store: SessionStore
    session_id: str
    turn_id: str
    messages: list[Message]
    start: int
    token: CancelToken = field(default_factory=CancelToken)
    listener: Callable[[Message], None] | None = None
    on_trouble: Callable[[Status], None] | None = None
    withdrawn: tuple[Message, ...] = ()
    broken_off: str = ""
    approvals: Approvals | None = None
    _trouble: str = ""

    def remember(self, message: Message) -> None:
        """Store a message.

        Raises:
            TurnInterrupted: another turn has taken this one's place, or it was cancelled while it waited for room.
        """
        self._wait_for_room()
        self._mark(message)
        if not self.store.append(self.session_id, self.turn_id, message):
            raise TurnInterrupted
        self.tell_trouble()
        self.messages.append(message)
        if message["role"] == "assistant":
            self.broken_off = ""
        if self.listener is not None:
            self.listener(message)

    def tell_trouble(self) -> None:
        """Tell what was found damaged, and whether storing has begun to fail or works again, since this was told."""
        if self.on_trouble is not None and (damage := self.store.take_damage(self.session_id)):
            self.on_trouble(Status("storage", damage))
        trouble = self.store.trouble(self.session_id)
        if trouble == self._trouble:
            return
        if bool(trouble) != bool(self._trouble):
            self._tell(trouble or "The conversation is being saved again.")
        self._trouble = trouble

    def _wait_for_room(self) -> None:
        """Go on only when not too much waits to be stored.

        Raises:
            TurnInterrupted: the turn was cancelled meanwhile.
        """
        store, session_id = self.store, self.session_id
        if not store.is_full(session_id):
            return
        self._tell(f"{_FULL} {store.trouble(session_id)}".rstrip())
        while not self.token.wait_for(lambda: not store.is_full(session_id), _LOOK_AGAIN):
            if self.token.is_set():
                raise TurnInterrupted
        self.tell_trouble()

    def _tell(self, text: str) -> None:
        if self.on_trouble is not None:
            self.on_trouble(Status("storage", text))

    def close_off(self, note: str) -> None:
        """Make the history end well: open calls get a result, the assistant has the last word."""
        for message in closing(self.messages, note, self.broken_off):
            if self.store.append(self.session_id, self.turn_id, message):
                self.messages.append(message)
        self.broken_off = ""

    def close_earlier(self) -> None:
        """The same at the turn's begin: an earlier one may have been left in the middle."""
        self._recall_broken_off()
        self.close_off(INTERRUPTED_TURN)

    def _recall_broken_off(self) -> None:
        if closing(self.messages, INTERRUPTED_TURN):
            self.broken_off = self.store.answer_left(self.session_id, self.turn_id)

    def catch_up(self, left: PromptLeft, beside: str) -> None:
        """Tell the model what was said in a turn that ended before it was told, in front of all that this one says.

        Args:
            beside: what it is told beside that, '' for nothing.

        Raises:
            TurnInterrupted: another turn has taken this one's place.
        """
        self._recall_broken_off()
        messages = [*closing(self.messages, INTERRUPTED_TURN, self.broken_off), user_message(left.content, beside)]
        self.broken_off = ""
        messages.append(assistant_message(INTERRUPTED_TURN))
        for message in messages:
            self._mark(message)
        if not self.store.tell_left(self.session_id, self.turn_id, left, messages):
            raise TurnInterrupted
        self.messages += messages
        self.start = len(self.messages)

    def withdraw(self) -> None:
        """Take the turn out of what the model is shown from now on; the store keeps it."""
        if self.store.withdraw(self.session_id, self.turn_id):
            self.broken_off = ""
            self.withdrawn = tuple(self.messages[self.start :])
            del self.messages[self.start :]

    def _mark(self, message: Message) -> None:
        """Keep with a message, if it is of the user's side, that what others wrote was read by now."""
        if self.approvals is None or message["role"] == "assistant":
            return
        if not self.approvals.has_read_others and holds_others_words(message):
            self.approvals.note_others()
        if self.approvals.has_read_others:
            message["others"] = True

    def answered(self) -> bool:
        """Whether the model has said anything since the person's last message."""
        for message in reversed(self.messages):
            if message["role"] == "user" and not message.get("injected"):
                return False
            if message["role"] == "assistant" and not message.get("unfinished"):
                return True
        return False


def remember_prompt(
    history: TurnHistory, content: Content, complete: Callable[[], Content] | None, note: Callable[[], str]
) -> None:
    """Put the person's message into the history: completed, or as it is where completing it was broken off.

    Args:
        complete: makes what the model gets of it; None where it is complete.
        note: what the model is told beside it, '' for nothing.

    Raises:
        TurnInterrupted: completing it was broken off.
    """
    try:
        content = content if complete is None else complete()
    except ToolInterrupted as stop:
        raise TurnInterrupted from stop
    finally:
        history.remember(user_message(content, note()))
