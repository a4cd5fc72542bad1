"""A prompt that is a command, from its words to its answer, which is stored as the conversation is."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from acp_adapter.commands.command import AsPrompt, Desk, Outcome, Told, Typed
from acp_adapter.commands.shelf import CommandShelf
from acp_adapter.commands.typed import is_slashed, offered, typed_command
from acp_adapter.outbox import Outbox
from agent_core.context.compaction import Compaction
from agent_core.errors import HermesError, RequestError, StoreError
from agent_core.events import AgentText, Noticed, PlanChanged, SessionEvent, UserSaid
from agent_core.prompt_parts import SaidPart
from agent_core.sessions.records import COMMAND, COMPACTED, RESET
from agent_core.sessions.store import SessionStore

log = logging.getLogger(__name__)


class Record(Protocol):
    """Takes down what happens in a running turn, and shows it in its place there; False where the turn is over."""

    def __call__(self, event: SessionEvent, *, shown: bool = False) -> bool:
        """Do so."""
        ...


def perform(said: Sequence[SaidPart], desk: Desk, beside: Record | None = None) -> Outcome | None:
    """Run the command that a prompt is, on a worker thread. Files of the person's own commands are looked at before.

    Args:
        beside: takes down what happens in the turn that runs meanwhile, or says that it is over; None where none
            does.

    Returns:
        `Told` when all is done and shown, `AsPrompt` when the turn is to go on with that text in place of the
        prompt's, None when it is to go on with the prompt as it is.
    """
    refresh_offer(desk.shelf, desk.session.outbox)
    typed = _typed(said, desk.shelf) if is_slashed(said) else None
    return None if typed is None else run(typed, desk, beside)


def refresh_offer(shelf: CommandShelf, outbox: Outbox) -> None:
    """Look for changed commands of the person's own and skills, and offer all of them again if need be. Blocks."""
    changed = shelf.refresh()
    changed = shelf.refresh_added() or changed
    if shelf.refresh_skills() or changed:
        outbox.put(offered(shelf.commands, shelf.skills, shelf.prompts, shelf.added))


def _typed(said: Sequence[SaidPart], shelf: CommandShelf) -> Typed | None:
    return typed_command(said, shelf.commands, shelf.skills, shelf.prompts, shelf.added)


def run(typed: Typed, desk: Desk, beside: Record | None = None) -> Outcome:
    """Run a command; what it tells is shown and stored. Failures are told, too.

    Args:
        beside: as in `perform`.
    """
    try:
        came_out = typed.command.run(typed, desk)
    except HermesError as problem:
        came_out = Told(problem.public, notice=beside is not None)
    if isinstance(came_out, AsPrompt):
        return came_out
    told = _with_unused(came_out, typed)
    turn_id = secrets.token_hex(8)
    if told.notice:
        desk.session.outbox.put(Noticed(f"{turn_id}-notice-1", told.text))
        return told
    answer = AgentText(f"{turn_id}-message-1", told.text)
    events = (UserSaid(f"{turn_id}-prompt", typed.parts), *told.shown)
    if told.anew:
        told = replace(told, text=_begin_anew(desk, turn_id, (*events, PlanChanged(()), answer)) or told.text)
        desk.session.outbox.put(replace(answer, text=told.text))
        return told
    if beside is not None:
        # A turn of the command's own would end the one that runs.
        late = [event for event in events if not beside(event)]
        if not beside(answer, shown=True):
            desk.session.outbox.put(answer)
            late.append(answer)
        return replace(told, late=tuple(late))
    desk.session.outbox.put(answer)
    outcome = COMMAND if told.made is None else COMPACTED
    if why := _store(desk, turn_id, (*events, answer), outcome, told.made):
        log.info("the command /%s is not stored: %s", typed.command.name, why)
    return told


def keep_late(told: Told, desk: Desk) -> None:
    """Store what was shown beside a turn that is over, as a turn of the command's own; none may run. Blocks."""
    if why := _store(desk, secrets.token_hex(8), told.late, COMMAND):
        log.info("a command beside a turn is not stored: %s", why)


def _with_unused(told: Told, typed: Typed) -> Told:
    """Whatever a person attaches is used, or said not to be."""
    if not typed.attached:
        return told
    things = "What you attached was" if typed.attached == 1 else f"The {typed.attached} things you attached were"
    return replace(told, text=f"{told.text}\n\n{things} not used: `/{typed.command.name}` takes text only.")


def _store(
    desk: Desk, turn_id: str, events: Sequence[SessionEvent], outcome: str, made: Compaction | None = None
) -> str:
    """Store what was typed and told as a turn without messages; why that was not possible, '' if it was.

    All of it is written at its end, so that a kill leaves nothing half done.
    """
    store, session_id = desk.factory.sessions.store, desk.session.id
    try:
        store.begin_turn(session_id, turn_id)
    except (RequestError, StoreError) as problem:
        return problem.public
    journal = store.journal(session_id, turn_id)
    for event in events:
        journal.record(event)
    if made is not None:
        store.compact(session_id, turn_id, made)
    store.end_turn(session_id, turn_id, outcome)
    return store.trouble(session_id)


def _begin_anew(desk: Desk, turn_id: str, events: Sequence[SessionEvent]) -> str:
    """Let the model's history begin behind this turn; why that was not possible, '' if it was."""
    store, session = desk.factory.sessions.store, desk.session
    why = _store(desk, turn_id, events, RESET)
    store.reload(session.id)
    if why or (why := _still_seen(store, session.id)):
        return f"The model still sees the conversation: that it begins anew could not be stored. {why}"
    session.outbox.put(PlanChanged(()))
    session.workspace.approvals.forget_others()
    services = session.services
    kept = services.kept() if services is not None else store.kept(session.id)
    if kept is None:
        return ""
    kept = replace(kept, plan=(), system=None, omitted_results=frozenset(), sealed_before=0, images_before=0)
    store.keep(session.id, kept)
    if services is not None:
        services.restore(kept, same_prompt=True)
        services.prefix.expect("begun anew")
        if services.skills is not None:
            services.skills.renew_index()
    return ""


def _still_seen(store: SessionStore, session_id: str) -> str:
    """Why the model still has a history; '' if it has none."""
    try:
        return "It is tried again with the next prompt." if store.messages(session_id) else ""
    except StoreError as problem:
        return problem.public
