"""A stored conversation is made ready for its next request before the person asks. Nothing of it is sent.

To read, repair, count, convert and write a long history takes as much as all else that the first prompt after a load
needs. While the person reads what was loaded there is time for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from agent_core.compaction.tokens import TokenMeter
from agent_core.compaction.view import shown
from agent_core.messages import Message
from agent_core.providers.base import CacheTtl, ModelRequest, Provider, ReasoningEffort
from agent_core.providers.choice import ModelChoice
from agent_core.services import SessionServices, omissions_of
from agent_core.sessions.store import SessionStore
from agent_core.turn import SoundHistory
from tools.light_dataclass import dataclass

MOST_CHARS = 8 << 20
"""Of a conversation; with one full of images, what was made would take much memory until somebody prompts."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Who will be asked, and how, as far as it is known."""

    provider: Provider
    choice: ModelChoice
    reasoning: ReasoningEffort | None
    cache_ttl: CacheTtl


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """What was made of a conversation's messages.

    It is used for equal messages only: whatever happens to the conversation meanwhile, it is never out of date.

    Attributes:
        request: the next one as far as it is known; it names no model before `rehearse`.
    """

    sound: SoundHistory
    call_ids: set[str]
    meter: TokenMeter
    request: ModelRequest

    def hand_over(self, services: SessionServices) -> None:
        """Have a session that was not prompted in this process go on from it."""
        services.sound, services.meter = self.sound, self.meter
        services.call_ids |= self.call_ids


def recall(store: SessionStore, session_id: str) -> Rehearsed | None:
    """Read, repair and count a conversation, for which no model is needed; None for none, or a huge one.

    Raises:
        StoreError: it cannot be read. UnknownSession: there is none.
    """
    messages = store.messages(session_id)
    if not messages or sum(map(_size, messages)) > MOST_CHARS:
        return None
    kept, sound, meter = store.kept(session_id), SoundHistory(), TokenMeter()
    call_ids = set[str]()
    history = sound.take_up(messages, call_ids)
    told = shown(history, omissions_of(kept), store.compaction(session_id))
    request = ModelRequest(
        model="",
        # It may be another by then; what follows it is of use all the same.
        messages=({"role": "system", "content": (kept and kept.system) or ""}, *told),
        tools=(kept and kept.tools) or (),
        session_id=session_id,
    )
    meter.tokens(request.model, request)
    return Rehearsed(sound, call_ids, meter, request)


def rehearse(recalled: Rehearsed, asked: Asked) -> Rehearsed:
    """What was recalled with the request to `asked`; it stays as it is: a prompt may go on from it meanwhile."""
    request = replace(
        recalled.request,
        model=asked.choice.model,
        max_tokens=asked.choice.sent_limit,
        reasoning=asked.reasoning,
        cache_ttl=asked.cache_ttl,
    )
    return replace(recalled, request=request)


def _size(message: Message) -> int:
    """Characters, about."""
    content = message["content"]
    if content is None or isinstance(content, str):
        return len(content or "")
    return sum(len(text) for part in content for text in _texts(part))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _texts(each)
