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


class OwnTurn(Protocol):
    """The turn of a command that nothing else runs beside; it takes down what the command shows."""

    @property
    def turn_id(self) -> str:
        """Names it."""
        ...

    def record(self, event: SessionEvent, *, shown: bool = False) -> bool:
        """Take something down, and show it in its place there."""
        ...


def perform(said: Sequence[SaidPart], desk: Desk, own: OwnTurn | None = None) -> Outcome | None:
    """Run the command that a prompt is, on a worker thread. Files of the person's own commands are looked at before.

    Args:
        own: its turn, which has taken the prompt down; None while another turn has the session.

    Returns:
        `Told` when all is done and shown, `AsPrompt` when the turn is to go on with that text in place of the
        prompt's, None when it is to go on with the prompt as it is.
    """
    refresh_offer(desk.shelf, desk.session.outbox)
    typed = _typed(said, desk.shelf) if is_slashed(said) else None
    return None if typed is None else run(typed, desk, own)


def refresh_offer(shelf: CommandShelf, outbox: Outbox) -> None:
    """Look for changed commands of the person's own and skills, and offer all of them again if need be. Blocks."""
    changed = shelf.refresh()
    changed = shelf.refresh_added() or changed
    if shelf.refresh_skills() or changed:
        outbox.put(offered(shelf.commands, shelf.skills, shelf.prompts, shelf.added))


def _typed(said: Sequence[SaidPart], shelf: CommandShelf) -> Typed | None:
    return typed_command(said, shelf.commands, shelf.skills, shelf.prompts, shelf.added)


def run(typed: Typed, desk: Desk, own: OwnTurn | None = None) -> Outcome:
    """Run a command; what it tells is shown and stored. Failures are told, too.

    Args:
        own: as in `perform`.
    """
    try:
        came_out = typed.command.run(typed, desk)
    except HermesError as problem:
        came_out = Told(problem.public, notice=own is None)
    if isinstance(came_out, AsPrompt):
        return came_out
    told = _with_unused(came_out, typed)
    turn_id = secrets.token_hex(8) if own is None else own.turn_id
    if told.notice:
        desk.session.outbox.put(Noticed(f"{turn_id}-notice-1", told.text))
        return told
    answer = AgentText(f"{turn_id}-message-1", told.text)
    if own is None:
        desk.session.tell_beside(UserSaid(f"{turn_id}-prompt", typed.parts), answer)
    elif told.anew:
        told = replace(told, text=_begin_anew(desk, own, answer) or told.text)
        desk.session.outbox.put(replace(answer, text=told.text))
    else:
        own.record(answer, shown=True)
        outcome = COMMAND if told.made is None else COMPACTED
        if why := _store(desk, turn_id, outcome, told.made):
            log.info("the command /%s is not stored: %s", typed.command.name, why)
    return told


def store_late(late: Sequence[Sequence[SessionEvent]], desk: Desk) -> None:
    """Store what commands have shown while no turn was open, each as a turn of its own. Blocks."""
    for events in late:
        turn_id = secrets.token_hex(8)
        journal = desk.factory.sessions.store.journal(desk.session.id, turn_id)
        for event in events:
            journal.record(event)
        if why := _store(desk, turn_id, COMMAND):
            log.info("a command beside a turn is not stored: %s", why)


def _with_unused(told: Told, typed: Typed) -> Told:
    """Whatever a person attaches is used, or said not to be."""
    if not typed.attached:
        return told
    things = "What you attached was" if typed.attached == 1 else f"The {typed.attached} things you attached were"
    return replace(told, text=f"{told.text}\n\n{things} not used: `/{typed.command.name}` takes text only.")


def _store(desk: Desk, turn_id: str, outcome: str, made: Compaction | None = None) -> str:
    """Store what was taken down in a turn without messages; why that was not possible, '' if it was.

    All of it is written at its end, so that a kill leaves nothing half done.
    """
    store, session_id = desk.factory.sessions.store, desk.session.id
    try:
        store.begin_turn(session_id, turn_id)
    except (RequestError, StoreError) as problem:
        store.end_turn(session_id, turn_id)
        return problem.public
    if made is not None:
        store.compact(session_id, turn_id, made)
    store.end_turn(session_id, turn_id, outcome)
    return store.trouble(session_id)


def _begin_anew(desk: Desk, own: OwnTurn, answer: SessionEvent) -> str:
    """Let the model's history begin behind this turn; why that was not possible, '' if it was."""
    store, session = desk.factory.sessions.store, desk.session
    for event in (PlanChanged(()), answer):
        own.record(event)
    why = _store(desk, own.turn_id, RESET)
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
