"""From a prompt to the command that it is, and to the command's answer."""

from __future__ import annotations

import logging
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from acp_adapter.commands.builtin import BUILT_IN, FOR_THE_MODEL, KNOWN_ELSEWHERE
from acp_adapter.commands.command import AsPrompt, Desk, Outcome, SlashCommand, Told, Typed
from acp_adapter.commands.registry import CommandShelf
from acp_adapter.events import EventBridge, Outbox
from agent_core.compaction.engine import Compaction
from agent_core.errors import HermesError, RequestError, StoreError
from agent_core.events import (
    AgentText,
    Noticed,
    PlanChanged,
    SaidAudio,
    SaidDocument,
    SaidImage,
    SaidLink,
    SaidPart,
    SaidText,
    SessionEvent,
    UserSaid,
)
from agent_core.sessions.records import COMMAND, COMPACTED, RESET
from agent_core.sessions.store import SessionStore

# Which command a prompt is.

_TYPED = re.compile(r"\s*/(?P<name>[A-Za-z0-9][A-Za-z0-9_:-]*)(?:\s+(?P<rest>.*))?", re.DOTALL)
_SHORTEST_SLIP = 4


def is_slashed(parts: Sequence[SaidPart]) -> bool:
    """Whether a prompt may be a command: its first text that is not blank begins with a slash. Never blocks."""
    return _beginning(parts) is not None


def is_at_once(parts: Sequence[SaidPart]) -> bool:
    """Whether a prompt is a command for the running turn, which does not wait for its end."""
    command = BUILT_IN.get(_name(parts)) or _known_elsewhere(parts)
    return command is not None and command.at_once


def typed_command(parts: Sequence[SaidPart], commands: Mapping[str, SlashCommand] = BUILT_IN) -> Typed | None:
    """The command that a prompt is; None for what is for the model.

    A name that no command has is for the model: it may be a path, or a route of the person's own program. Only
    where it looks like a slip (one letter too many, missing or other, or two swapped, but not the first) the person
    is asked whether they meant the command: nothing is done, and nothing reaches the model.
    """
    at, name = _beginning(parts), _name(parts)
    command = commands.get(name) or _known_elsewhere(parts) or _slip(name, commands)
    if command is None or at is None:
        return None
    return Typed(command, _rest(parts), tuple(parts), _rest(_texts(parts)), at)


def _known_elsewhere(parts: Sequence[SaidPart]) -> SlashCommand | None:
    """The command that answers to a name of another agent's, with no more words after it than such a command has.

    What is attached is no word of it: some clients attach the open file to every prompt.
    """
    known = KNOWN_ELSEWHERE.get(_name(parts))
    if known is None or (known.words is not None and len(_rest(_texts(parts)).split()) > known.words):
        return None
    return known.command


def _beginning(parts: Sequence[SaidPart]) -> int | None:
    """Which part begins with a slash: the first text that is not blank, or none.

    Clients put what the person attached, and what they add by themselves, before the words as well as behind them.
    """
    for at, part in enumerate(parts):
        if isinstance(part, SaidText) and (words := part.text.lstrip()):
            return at if words.startswith("/") else None
    return None


def _name(parts: Sequence[SaidPart]) -> str:
    """What stands between the slash and the first space; '' where there is no such word."""
    at = _beginning(parts)
    found = None if at is None else _TYPED.fullmatch(_text(parts[at]))
    return found["name"].lower() if found is not None else ""


def _rest(parts: Sequence[SaidPart]) -> str:
    """Everything behind the name. A client sends a mention in the middle of a sentence as a part of its own."""
    at = _beginning(parts)
    if at is None:
        return ""
    found = _TYPED.fullmatch(_text(parts[at]))
    words = [found["rest"] or "" if found is not None else "", *map(_in_words, parts[at + 1 :])]
    return " ".join(word for word in map(str.strip, words) if word)


def _texts(parts: Sequence[SaidPart]) -> Sequence[SaidText]:
    return [part for part in parts if isinstance(part, SaidText)]


def _text(part: SaidPart) -> str:
    return part.text if isinstance(part, SaidText) else ""


def _in_words(part: SaidPart) -> str:
    match part:
        case SaidText(text=text):
            return text
        case SaidLink(name=name, uri=uri):
            return name or uri
        case SaidDocument(uri=uri):
            return uri.rstrip("/").rpartition("/")[2]
        case SaidImage() | SaidAudio():
            return ""


def _slip(name: str, commands: Iterable[str]) -> SlashCommand | None:
    meant = sorted(known for known in commands if name and known[0] == name[0] and is_slip(name, known))
    if not meant:
        return None
    names = " or ".join(f"`/{known}`" for known in meant)
    told = Told(
        f"There is no command `/{name}`. Did you mean {names}? Nothing was done, and nothing was sent to the model. "
        f"{FOR_THE_MODEL}"
    )

    def tell(_typed: Typed, _desk: Desk) -> Told:
        return told

    return SlashCommand(name, "", tell)


def is_slip(typed: str, known: str) -> bool:
    """Whether two words of some length differ by one letter, or by two neighbours that are swapped."""
    shorter = min(len(typed), len(known))
    if shorter < _SHORTEST_SLIP or typed == known:
        return False
    start = next((at for at in range(shorter) if typed[at] != known[at]), shorter)
    one, other = typed[start:], known[start:]
    return (
        one[1:] == other  # one too many
        or one == other[1:]  # one missing
        or one[1:] == other[1:]  # another one
        or (one[1::-1] == other[:2] and one[2:] == other[2:])  # two swapped
    )


# Running it: its answer is shown, and stored as the conversation is.

log = logging.getLogger(__name__)


def perform(
    said: Sequence[SaidPart], shelf: CommandShelf, desk: Desk, own: EventBridge | None = None
) -> Outcome | None:
    """Run the command that a prompt is, on a worker thread. Files of the person's own commands are looked at before.

    Args:
        own: its turn, which has taken the prompt down; None while another turn has the session.

    Returns:
        `Told` when all is done and shown, `AsPrompt` when the turn is to go on with that text in place of the
        prompt's, None when it is to go on with the prompt as it is.
    """
    refresh_offer(shelf, desk.session.outbox)
    typed = typed_command(said, shelf.by_name())
    return None if typed is None else run(typed, desk, own)


def refresh_offer(shelf: CommandShelf, outbox: Outbox) -> None:
    """Look for changed commands of the person's own and skills, and offer all of them again if need be. Blocks."""
    if shelf.renew():
        outbox.put(shelf.offer())


def run(typed: Typed, desk: Desk, own: EventBridge | None = None) -> Outcome:
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
    if told.notice or own is None:
        _tell_beside(told, typed, desk)
        return told
    answer = AgentText(f"{own.turn_id}-message-1", told.text)
    if told.anew:
        told = replace(told, text=_begin_anew(desk, own, answer) or told.text)
        desk.session.outbox.put(replace(answer, text=told.text))
        return told
    own.record(answer, shown=True)
    outcome = COMMAND if told.made is None else COMPACTED
    if why := _store(desk, own.turn_id, outcome, told.made):
        log.info("the command /%s is not stored: %s", typed.command.name, why)
    return told


def _tell_beside(told: Told, typed: Typed, desk: Desk) -> None:
    """Tell what belongs to no turn of the command's own: a note, or an answer that another turn takes down."""
    turn_id = secrets.token_hex(8)
    if told.notice:
        desk.session.outbox.put(Noticed(f"{turn_id}-notice-1", told.text))
        return
    said, answer = UserSaid(f"{turn_id}-prompt", typed.parts), AgentText(f"{turn_id}-message-1", told.text)
    desk.session.tell_beside(said, answer)


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


def _begin_anew(desk: Desk, own: EventBridge, answer: SessionEvent) -> str:
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
