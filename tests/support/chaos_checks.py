"""What has to hold of a session in which turns were cancelled: shown again as it was, each news told once."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from contextlib import closing
from pathlib import Path
from typing import Any

from agent_core.sessions.database import unpack
from tests.support.merged_view import MergedView

_ROUND = re.compile(r"All of (r\d+) is done\.")
_REFUSED = re.compile(r"is over already|is no task")
"""What a command beside a turn could not do is said beside the conversation, and not shown again."""
_HEARD = re.compile(r"Heard after r(\d+)\.")


def check_news(database: Path, session: str, tasks: Sequence[dict[str, Any]]) -> None:
    """Each news is told by one message; each end of a task is news, or was seen in what a tool gave."""
    told: Counter[str] = Counter()
    texts: list[str] = []
    seen: list[str] = []
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        rows = connection.execute("SELECT body FROM messages WHERE session_id = ?", (session,)).fetchall()
    for message in (unpack(body) for (body,) in rows):
        if message.get("news"):
            told.update(message["news"])
            texts.append(str(message["content"]))
        elif message["role"] == "tool":
            seen.append(str(message["content"]))
    assert set(told.values()) <= {1}, told
    for task in tasks:
        if task["tells"] and task["state"] in ("done", "failed"):
            times = sum(text.count(f"{task['id']} ended") for text in texts)
            times += any(re.search(rf"session_id {task['id']} · (?:exit|ended)", text) for text in seen)
            assert times == 1, f"the end of {task} was told {times} times"


def _without_gap(entry: dict[str, Any]) -> dict[str, Any]:
    match entry:
        case {"kind": "agent_message_chunk", "content": [{"type": "text", "text": str(text)} as first, *rest]}:
            return {**entry, "content": [{**first, "text": text.lstrip("\n")}, *rest]}
    return entry


def check_same(live: MergedView, again: MergedView) -> None:
    """What was shown live is shown again, but the prompts, which the editor shows by itself.

    A text that came beside the turns may be on the other side of a prompt then, so that the next one needs a blank
    line before it, or needs none any more.
    """

    def shown(view: MergedView) -> list[dict[str, Any]]:
        return [
            _without_gap(entry)
            for entry in view.entries
            if entry["kind"] != "user_message_chunk" and not _REFUSED.search(str(entry.get("content")))
        ]

    for before, after in zip(shown(live), shown(again), strict=False):
        if before != after:
            names = [name for name in before | after if before.get(name) != after.get(name)]
            wrong = "".join(f"\n{name}:\n  {before.get(name)!r}\n  {after.get(name)!r}" for name in names)
            raise AssertionError(f"{before.get('toolCallId', before['kind'])} is shown otherwise again: {wrong}")
    assert len(shown(live)) == len(shown(again))


def check_prompts(again: MergedView, rounds: Sequence[str], unsure: AbstractSet[str]) -> None:
    """What the person said is there once, in order, also what was cancelled."""
    said = again.texts("user_message_chunk")
    numbers = [int(found[1]) for text in said if (found := _HEARD.search(text))]
    assert numbers == sorted(set(numbers)), numbers
    names = [found[1] for text in said if (found := _ROUND.search(text))]
    assert [name for name in names if name not in unsure] == [name for name in rounds if name not in unsure]
