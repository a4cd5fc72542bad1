"""`hermes-acp sessions export`: a session as a file, or all of them as trajectories."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

from acp_adapter.cli.sessions.listing import every_session
from acp_adapter.export.files import new_file
from acp_adapter.export.html import to_html
from acp_adapter.export.markdown import to_markdown
from acp_adapter.export.transcript import is_completed, to_trajectory
from acp_adapter.format import one_line, safe_text, whole
from agent_core.config import load, secrets_of
from agent_core.errors import RequestError, SettingsError, StoreError, UnknownSession
from agent_core.home import Home
from agent_core.sessions.library import SessionLibrary
from agent_core.sessions.records import Transcript
from tools.redaction import Redactor

_STDOUT = "-"
_SHORT_ID = 8
COMPLETED, OTHERS = "trajectories.jsonl", "failed.jsonl"


def run_export(options: argparse.Namespace, library: SessionLibrary) -> int:
    """Write what `options` asks for."""
    if options.all:
        return _export_all(options, library)
    record = library.archive.find(options.id)
    transcript = library.archive.transcript(record.id)
    match options.format:
        case "html":
            document = to_html(transcript, redacting=_redactor(library))
        case "jsonl":
            document = f"{_trajectory(library, transcript)}\n"
        case _:
            document = to_markdown(transcript, redacting=_redactor(library))
    content = whole(document).encode()
    if options.output == _STDOUT:
        sys.stdout.buffer.write(content)
        return 0
    path = Path(options.output or f"session-{_file_name(record.id)}.{options.format}")
    with new_file(path, force=options.force) as file:
        file.write(content)
    print(f"Wrote {one_line(str(path))}.")
    return 0


def _export_all(options: argparse.Namespace, library: SessionLibrary) -> int:
    output: str = options.output
    if output == _STDOUT:
        for _, line in _lines(library):
            sys.stdout.buffer.write(line)
        return 0
    path = Path(output)
    if path.suffix == ".jsonl":
        with new_file(path, force=options.force) as file:
            counts = _write(library, file, file)
        print(f"Wrote {one_line(output)}: {sum(counts)} sessions, {counts[0]} of them completed.")
        return 0
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as problem:
        raise RequestError(
            f"The directory {path} could not be made: {problem.strerror}. Choose another --output."
        ) from problem
    with ExitStack() as stack:
        completed = stack.enter_context(new_file(path / COMPLETED, force=options.force))
        others = stack.enter_context(new_file(path / OTHERS, force=options.force))
        counts = _write(library, completed, others)
    print(f"Wrote {one_line(str(path / COMPLETED))}: {counts[0]} sessions, {OTHERS} beside it: {counts[1]}.")
    return 0


def _write(library: SessionLibrary, completed: BinaryIO, others: BinaryIO) -> tuple[int, int]:
    """Write each session to one of two files; how many went to each."""
    counts = [0, 0]
    for is_whole, line in _lines(library):
        (completed if is_whole else others).write(line)
        counts[not is_whole] += 1
    return counts[0], counts[1]


def _lines(library: SessionLibrary) -> Iterator[tuple[bool, bytes]]:
    """Each session as a line, with whether it came to its end."""
    for archived in (False, True):
        for record in every_session(library.archive, archived=archived):
            try:
                transcript = library.archive.transcript(record.id)
            except UnknownSession:
                continue  # it was deleted meanwhile
            if transcript.messages:
                yield is_completed(transcript), f"{_trajectory(library, transcript)}\n".encode()


def _trajectory(library: SessionLibrary, transcript: Transcript) -> str:
    session_id = transcript.session.id
    try:
        kept = library.store.kept(session_id)
    except StoreError as problem:
        print(
            f"hermes-acp sessions: {session_id} is exported without its system prompt: {safe_text(problem.public)}",
            file=sys.stderr,
        )
        kept = None
    return to_trajectory(transcript, kept.system if kept else None, kept.tools if kept else None, _redactor(library))


def _redactor(library: SessionLibrary) -> Redactor:
    """Also knows the secrets of the settings, if they can be read."""
    try:
        return Redactor(secrets_of(load(Home(library.database.path.parent))))
    except SettingsError:  # shapes are known without them
        return Redactor()


def _file_name(session_id: str) -> str:
    return "".join(sign if sign.isalnum() else "-" for sign in session_id[:_SHORT_ID])
