"""Commands about the session as a whole: `/title`, `/fork`, `/export`, `/reset`."""

from __future__ import annotations

import re
import secrets
import time
from pathlib import Path

from acp_adapter.commands.command import Desk, Told, Typed
from acp_adapter.commands.markdown import code, plain
from agent_core.errors import RequestError
from agent_core.events import SessionNamed
from agent_core.sessions.archive.titles import clean_title
from agent_core.sessions.records import Transcript

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
    copy = desk.fork()
    title = desk.factory.sessions.archive.get(copy).title
    named = f", «{plain(title)}»" if title else ""
    return Told(
        f"The conversation so far was copied into the session {code(copy)}{named}. You stay in this one. Open the "
        f"copy from your editor's list of sessions, or in a terminal with "
        f"{code(f'hermes-acp prompt --session {copy} TEXT')}. Both work with the same files."
    )


def export(typed: Typed, desk: Desk) -> Told:
    """Write the session into a new file below the home directory, for the person alone."""
    from acp_adapter.cli.sessions.files import new_file  # noqa: PLC0415 - most people never export

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
    from acp_adapter.cli.terminal.safe_text import whole  # noqa: PLC0415
    from acp_adapter.export.as_markdown import to_markdown  # noqa: PLC0415
    from acp_adapter.export.page import to_html  # noqa: PLC0415
    from acp_adapter.export.trajectory import to_trajectory  # noqa: PLC0415

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
