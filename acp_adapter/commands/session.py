"""Commands about the whole conversation: `/title`, `/fork`, `/export`, `/reset`, `/compact`, `/undo` and others."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable
from pathlib import Path

from acp_adapter.commands.command import Desk, Told, Typed, code, plain
from acp_adapter.events import compaction_event
from acp_adapter.format import whole
from acp_adapter.startup import new_session_id
from agent_core.callbacks import CompressionStep, Status
from agent_core.compaction.engine import Compaction
from agent_core.compaction.session_compaction import CompressionListeners, SessionCompression, window_use
from agent_core.compaction.view import shown
from agent_core.errors import RequestError, TurnInterrupted
from agent_core.events import ContextCompacted, ContextUsed, SessionNamed
from agent_core.messages import INTERRUPTED_TURN, Message, closing, repaired
from agent_core.providers.base import ModelRequest, Usage
from agent_core.providers.choice import ModelChoice
from agent_core.services import SessionServices
from agent_core.sessions.records import NewSession, Transcript
from agent_core.sessions.store import PATIENCE
from agent_core.sessions.titles import clean_title
from tools.light_dataclass import dataclass

# `/title`, `/fork`, `/export`, `/reset`.

_FORMATS = {"html": "html", "md": "md", "markdown": "md", "jsonl": "jsonl", "json": "jsonl"}
_UNFIT = re.compile(r"[^a-z0-9]+")
_LONGEST_NAME = 40
_TRIES = 100


def name_session(typed: Typed, desk: Desk) -> Told:
    """Give the session the person's own title, or show the one that it has."""
    session = desk.session
    if not typed.rest:
        shown = f"**{plain(session.title)}**" if session.title else "none yet"
        return Told(f"Title: {shown}. `/title …` gives it another.")
    title = clean_title(typed.rest)
    if not desk.factory.sessions.archive.name(session.id, title, "person"):
        raise RequestError("The title was not changed: nothing is left of it on one line. Write words.")
    session.title = title
    session.outbox.put(SessionNamed(title, time.time()))
    return Told(f"This session is called **{plain(title)}** now.")


def fork(_typed: Typed, desk: Desk) -> Told:
    """Copy the session; the person goes on in either."""
    archive, session = desk.factory.sessions.archive, desk.session
    desk.factory.sessions.store.settle(session.id)
    seed, choices, source = session.seed, session.choices, archive.get(session.id).source
    new = NewSession(
        new_session_id(), str(seed.cwd), seed.named_roots, source, choices.mode, options=choices.stored()
    )
    copy = archive.fork(session.id, new).id
    title = archive.get(copy).title
    named = f", «{plain(title)}»" if title else ""
    return Told(
        f"The conversation so far was copied into the session {code(copy)}{named}. You stay in this one. Open the "
        f"copy from your editor's list of sessions, or in a terminal with "
        f"{code(f'hermes-acp prompt --session {copy} TEXT')}. Both work with the same files."
    )


def export(typed: Typed, desk: Desk) -> Told:
    """Write the session into a new file below the home directory, for the person alone."""
    from acp_adapter.export.files import new_file  # noqa: PLC0415 - most people never export

    wanted = (typed.words or "html").lower()
    if wanted not in _FORMATS:
        raise RequestError(
            f"/export {typed.words[:40]!r} cannot be done: write /export html, /export md or /export jsonl. To "
            f"choose the place as well: hermes-acp sessions export {desk.session.id} --output FILE. "
            "Nothing was written."
        )
    ending, library = _FORMATS[wanted], desk.factory.sessions
    transcript = library.archive.transcript(desk.session.id)
    document = _document(ending, transcript, desk)
    folder = library.database.path.parent / "exports"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as problem:
        raise RequestError(f"{folder} could not be made: {problem.strerror}. Nothing was written.") from problem
    path = _free(folder, _file_name(transcript), ending)
    with new_file(path, force=False) as file:
        file.write(document)
    return Told(
        f"Wrote {code(str(path))} ({-(-len(document) // 1000):,} kB). It holds the whole conversation, without "
        "the secrets that were recognised in it."
    )


def reset(_typed: Typed, desk: Desk) -> Told:
    """Let the model begin anew: what was said stays in view and stored, and is not shown to it any more."""
    if not desk.factory.sessions.store.messages(desk.session.id):
        return Told("There is nothing to forget: the model has seen nothing of this session yet.")
    return Told(
        "The model begins anew: it sees nothing of what was said before this line. The conversation stays here and "
        "stored, files are as they are, and `/undo` takes this back.",
        anew=True,
    )


def _document(ending: str, transcript: Transcript, desk: Desk) -> bytes:
    from acp_adapter.export.html import to_html  # noqa: PLC0415
    from acp_adapter.export.markdown import to_markdown  # noqa: PLC0415
    from acp_adapter.export.transcript import to_trajectory  # noqa: PLC0415

    redacting = desk.factory.redactor()
    if ending == "html":
        return whole(to_html(transcript, redacting=redacting)).encode()
    if ending == "md":
        return whole(to_markdown(transcript, redacting=redacting)).encode()
    kept = desk.factory.sessions.store.kept(transcript.session.id)
    line = to_trajectory(transcript, kept.system if kept else None, kept.tools if kept else None, redacting)
    return whole(f"{line}\n").encode()


def _file_name(transcript: Transcript) -> str:
    words = _UNFIT.sub("-", (transcript.session.title or "session").lower()).strip("-")
    return f"{words[:_LONGEST_NAME].rstrip('-') or 'session'}-{time.strftime('%Y%m%d-%H%M%S')}"


def _free(folder: Path, name: str, ending: str) -> Path:
    """A path that nothing has yet; whoever takes it meanwhile keeps it."""
    names = (name, *(f"{name}-{secrets.token_hex(3)}" for _ in range(_TRIES)))
    paths = (folder / f"{each}.{ending}" for each in names)
    return next(path for path in paths if not path.exists())


# `/compact`.

_BROKEN_OFF = "Broken off: nothing was compressed, and the model still sees the conversation as it did."
_NOTHING = "There is nothing to compress: {why} Nothing was changed."
_NO_WORD = "the model has seen nothing of this session yet."
_NO_GAIN = "what the model sees of the conversation would not become noticeably smaller."


def compact(typed: Typed, desk: Desk) -> Told:
    """Compress the conversation, with what the person names kept above all."""
    session, store = desk.session, desk.factory.sessions.store
    store.take_lease(session.id, PATIENCE)
    history = repaired(store.messages(session.id))
    if not history:
        return Told(_NOTHING.format(why=_NO_WORD))
    services = session.services or desk.factory.services(session.id, session.workspace, session.call_ids)
    session.services = services
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


# `/undo`, `/rewind N`, `/redo`.

_NUMBER = re.compile(r"0{0,9}[1-9][0-9]{0,8}")
_HOW = {
    "undo": "/undo takes nothing after it",
    "redo": "/redo takes nothing after it",
    "rewind": "Write how many turns, as in /rewind 2",
}


def rewind(typed: Typed, desk: Desk) -> Told:
    """Take turns back, or bring them again."""
    from acp_adapter.commands.undo import Rewinding  # noqa: PLC0415 - most people never undo

    name = typed.command.name
    if typed.rest != typed.words:  # a mention may be called like a number
        raise RequestError(f"/{name} cannot be done: it takes no mentions. {_HOW[name]}. Nothing was changed.")
    turns = turns_to_rewind(name, typed.rest)
    rewinding = Rewinding(desk.factory.sessions, desk.session, desk.factory.memory_files())
    return Told(rewinding.take_back(turns, desk.token))


def turns_to_rewind(name: str, rest: str) -> int:
    """How many turns `/undo` or `/rewind N` takes back; 0 for `/redo`.

    Raises:
        RequestError: what follows the name is no such number.
    """
    if name in {"undo", "redo"} and not rest:
        return int(name == "undo")
    if name == "rewind" and _NUMBER.fullmatch(rest):
        return int(rest)
    raise RequestError(f"/{name} {rest[:40]!r} cannot be done: {_HOW[name]}. Nothing was changed.")
