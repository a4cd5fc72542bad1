"""`/compact TOPIC`: the conversation is compressed because the person says so."""

from __future__ import annotations

import secrets
from collections.abc import Callable

from acp_adapter.commands.command import Desk, Told, Typed
from agent_core.callbacks import CompressionStep, Status
from agent_core.compressing.session_compression import CompressionListeners, SessionCompression
from agent_core.compressing.turn_compression import window_use
from agent_core.context.compaction import Compaction
from agent_core.context.view import shown
from agent_core.errors import RequestError, TurnInterrupted
from agent_core.events import ContextCompacted, ContextUsed
from agent_core.messages import INTERRUPTED_TURN, Message, closing, repaired
from agent_core.providers.base import ModelRequest, Usage
from agent_core.providers.choice import ModelChoice
from agent_core.services import SessionServices
from agent_core.sessions.live.sqlite_store import PATIENCE
from tools.light_dataclass import dataclass

_BROKEN_OFF = "Broken off: nothing was compressed, and the model still sees the conversation as it did."
_NOTHING = "There is nothing to compress: {why} Nothing was changed."
_NO_WORD = "the model has seen nothing of this session yet."
_NO_GAIN = "what the model sees of the conversation would not become noticeably smaller."


def compact(typed: Typed, desk: Desk) -> Told:
    """Compress the conversation, with what the person names kept above all."""
    from acp_adapter.events import compaction_event  # noqa: PLC0415 - most people never ask for it

    session, store = desk.session, desk.factory.sessions.store
    store.take_lease(session.id, PATIENCE)
    history = repaired(store.messages(session.id))
    if not history:
        return Told(_NOTHING.format(why=_NO_WORD))
    services = session.services = session.services or desk.factory.services(session.id, session.call_ids)
    if services.engine is None:
        raise RequestError("/compact cannot be done: this session has no context engine. Nothing was changed.")
    services.compaction = store.compaction(session.id)
    # What a turn that was broken off has left open is closed when the next one begins; so it is seen here.
    history += closing(history, INTERRUPTED_TURN)
    watch = _Watch(desk, services, f"{secrets.token_hex(8)}-compaction-1", compaction_event)
    work = SessionCompression(
        services,
        services.engine,
        keep=watch.keep,
        forget_files=session.workspace.seen.forget_all,
        token=desk.token,
        listeners=CompressionListeners(watch.step, watch.status, watch.count),
    )
    try:
        model = desk.model()
        use = window_use(services.meter, _request(desk, services, history, model), model)
        made = work.compress(history, use, services.meter.measure(model.name), "asked", typed.rest)
    except TurnInterrupted:
        return Told(_BROKEN_OFF)
    finally:
        store.keep(session.id, services.kept())
    if made is None:
        return Told(_NOTHING.format(why=watch.why or _NO_GAIN))
    return Told(_told(made, history, watch.why), made=made)


@dataclass(slots=True)
class _Watch:
    """Shows a compression while it goes on."""

    desk: Desk
    services: SessionServices
    id: str
    event_of: Callable[[str, CompressionStep], ContextCompacted]
    why: str = ""

    @staticmethod
    def keep(_made: Compaction) -> bool:
        """It is stored with the command's answer, so that a kill leaves nothing half done."""
        return True

    def step(self, step: CompressionStep) -> None:
        self.desk.session.show(self.event_of(self.id, step))
        if step.made is not None and step.window:
            self.desk.session.show(ContextUsed(step.made.tokens_after, step.window, step.session_cost))

    def status(self, status: Status) -> None:
        self.why = status.text

    def count(self, usage: Usage, cost: float | None) -> None:
        self.services.spend(usage, cost)


def _request(desk: Desk, services: SessionServices, history: list[Message], model: ModelChoice) -> ModelRequest:
    """The request that would come next."""
    tools = services.tools if services.tools is not None else [entry.definition() for entry in desk.tools()]
    system: Message = {"role": "system", "content": services.system or ""}
    view = shown(history, services.omissions, services.compaction)
    return ModelRequest(model.model, (system, *view), tools=tools, max_tokens=model.max_tokens)


def _told(made: Compaction, history: list[Message], warning: str) -> str:
    last = f"the last {len(history) - made.up_to} of {len(history)} messages"
    kept = f"As they are stay the first {made.head} and {last}{', and what you wrote last' if made.kept else ''}"
    if not made.summary:
        kept = "All messages stay; old tool results are shown to the model as one line each"
    before, after = f"{made.tokens_before:,}", f"{made.tokens_after:,}"
    words = [
        f"The model sees ≈ **{after}** tokens of this conversation now, instead of ≈ {before}.",
        f"{made.made_by} wrote the summary." if made.made_by else "It was made by rule; no model wrote in it.",
        f"{kept}. The conversation stays here and stored, whole, and `/undo` takes this back.",
    ]
    return " ".join([*words, *([warning] if warning else [])])
