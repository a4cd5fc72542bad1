"""`hermes-acp sessions search`: sessions by words that were said in them."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator

from acp_adapter.cli.sessions.words import ago, short_ids
from acp_adapter.cli.terminal.safe_text import one_line, safe_text
from acp_adapter.cli.terminal.style import Style, style_for
from acp_adapter.export.words import moment
from agent_core.errors import RequestError, StoreError
from agent_core.sessions.library import SessionLibrary
from agent_core.sessions.search.index import index_pending
from tools.agent_ports import RecalledMessage, RecalledSession, RecallQuery
from tools.errors import ToolError

_INDEXING_SECONDS = 5.0
_AROUND = 90
_SPEAKERS = {"user": "you", "assistant": "agent", "tool": "tool"}


def run_search(options: argparse.Namespace, library: SessionLibrary) -> int:
    """Tell the sessions that hold the words; 1 where there are none."""
    text = " ".join(f'"{words}"' if " " in words.strip() and '"' not in words else words for words in options.words)
    try:
        index_pending(library.database, 1_000_000, within=_INDEXING_SECONDS)
    except StoreError as problem:
        print(
            f"hermes-acp sessions: what was said last may not be found: {safe_text(problem.public)}", file=sys.stderr
        )
    try:
        found = library.recall.search(RecallQuery(text, limit=options.limit, window=1))
    except ToolError as problem:
        raise RequestError(f"The search for {text!r} failed: {problem}") from problem
    if not found:
        print(
            f"hermes-acp sessions: Nothing was found for {safe_text(text)}. Try fewer or other words.",
            file=sys.stderr,
        )
        return 1
    now, style = library.database.clock(), style_for(sys.stdout)
    ids = short_ids([session.session_id for session in found])
    for place, (short, session) in enumerate(zip(ids, found, strict=True)):
        if place:
            print()
        for line in found_lines(session, short, text, now, style):
            print(line)
    return 0


def found_lines(session: RecalledSession, short: str, text: str, now: float, style: Style) -> Iterator[str]:
    """A session with what was found in it: its id `short`, and each message on one line, cut around the words."""
    words = re.findall(r"\w+", text)
    pattern = re.compile("|".join(sorted(map(re.escape, words), key=len, reverse=True)) or r"(?!)", re.IGNORECASE)
    when = f"{moment(session.updated_at)}, {ago(now - session.updated_at)}"
    hits = f"{session.hits} hit{'' if session.hits == 1 else 's'}"
    title = style.paint(one_line(session.title) or "-", "bold")
    yield f"{style.paint(short, 'cyan')}  {title}"
    yield style.paint(f"  {when}, {one_line(session.cwd)}, {hits}", "dim")
    for message in session.messages:
        yield from _message(message, pattern, style)


def _message(message: RecalledMessage, pattern: re.Pattern[str], style: Style) -> Iterator[str]:
    text = " ".join(safe_text(message.text).split())
    if not text:
        return
    first = pattern.search(text) if message.is_hit else None
    start = max(0, first.start() - _AROUND) if first else 0
    end = (first.end() if first else 0) + _AROUND
    cut = text[start:end]
    shown = pattern.sub(lambda word: style.paint(word[0], "yellow", "bold"), cut) if message.is_hit else cut
    before, after = "..." if start else "", "..." if end < len(text) else ""
    line = f"{before}{shown}{after}"
    mark = style.paint(">", "yellow") if message.is_hit else " "
    yield f"  {mark} {_SPEAKERS[message.role]:<6}{line if message.is_hit else style.paint(line, 'dim')}"
