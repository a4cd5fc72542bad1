"""The words of a summary of earlier work: the side task «compression»."""

from __future__ import annotations

from collections.abc import Sequence

from agent_core.auxiliary.asking import Completion
from agent_core.auxiliary.client import AuxiliaryClient
from agent_core.interrupt import CancelToken
from agent_core.messages import Message

_ROOM = 3000


def summarise(client: AuxiliaryClient, messages: Sequence[Message], token: CancelToken) -> Completion | None:
    """What a model answers to `messages`, in at most about 3,000 tokens; None where none answers in time.

    Raises:
        TurnInterrupted: `token` was cancelled.
    """
    return client.complete("compression", messages, max_tokens=_ROOM, token=token)
