"""What a session keeps between its turns ⇄ the columns of `sessions`, and the long texts in `texts`."""

from __future__ import annotations

import hashlib
import json
import operator
import sqlite3
from dataclasses import asdict, replace

from agent_core.errors import StoreError, UnknownSession
from agent_core.sessions.archive.session_rows import DELETING, Row
from agent_core.sessions.database.bodies import pack, unpack
from agent_core.sessions.events.event_codec import read_step
from agent_core.sessions.events.stored_values import plain_text
from agent_core.sessions.kept_state import KeptState
from agent_core.sessions.live.spending_rows import add_spending
from agent_core.sessions.live.spent_columns import spent_from, usage_text
from tools.light_dataclass import dataclass

_QUERY = (
    "SELECT kept, system_hash, tools_hash, model, requests, usage, cost,"
    " (SELECT body FROM texts WHERE hash = system_hash), (SELECT body FROM texts WHERE hash = tools_hash)"
    " FROM sessions WHERE id = ? AND archived < ?"
)


@dataclass(frozen=True, slots=True, eq=False)
class PackedState:
    """What is kept, ready to be stored. Long texts are compressed only if they are not stored yet."""

    state: KeptState
    kept: str
    usage: str
    system: tuple[str, str] | None
    tools: tuple[str, str] | None


class ToolsText:
    """The text of tool definitions. Each prompt stores them, and they are nearly always those of the one before.

    Safe to use from several threads.
    """

    def __init__(self) -> None:
        self._last: tuple[tuple[dict[str, object], ...], tuple[str, str]] | None = None

    def of(self, tools: tuple[dict[str, object], ...]) -> tuple[str, str]:
        """Its hash, and the text.

        Raises:
            TypeError, ValueError: they hold what is no JSON.
        """
        last = self._last
        # Not by ==, for which 1 is True and 1.0.
        if last is None or len(last[0]) != len(tools) or not all(map(operator.is_, last[0], tools)):
            last = self._last = tools, _hashed(json.dumps(tools))
        return last[1]


def packed_state(state: KeptState, tools_text: ToolsText | None = None) -> PackedState:
    """`state` as it will lie in its row.

    Args:
        tools_text: remembers the text of the tools that were packed last.

    Raises:
        TypeError, ValueError: it holds what is no JSON.
    """
    kept = {
        "plan": [asdict(item) for item in state.plan],
        "omissions": {
            "results": sorted(state.omitted_results),
            "sealed_before": state.sealed_before,
            "images_before": state.images_before,
        },
        "program": state.program,
        "prompt": {"layers": state.prompt_layers, "notes": state.prompt_notes},
    }
    return PackedState(
        state,
        json.dumps(kept),
        usage_text(state.spent),
        None if state.system is None else _hashed(state.system),
        None if state.tools is None else (tools_text or ToolsText()).of(state.tools),
    )


def write_state(connection: sqlite3.Connection, session_id: str, packed: PackedState) -> None:
    """Store what is kept; a session that is gone stays so."""
    for text in (packed.system, packed.tools):
        if text is not None:
            _store_text(connection, *text)
    state = packed.state
    add_spending(connection, session_id, state.spent, plain_text(state.model))
    connection.execute(
        "UPDATE sessions SET kept = ?, system_hash = ?, tools_hash = ?, model = coalesce(?, model), requests = ?,"
        " usage = ?, cost = ? WHERE id = ?",
        (
            packed.kept,
            packed.system[0] if packed.system else None,
            packed.tools[0] if packed.tools else None,
            plain_text(state.model) or None,
            state.spent.requests,
            packed.usage,
            state.spent.cost,
            session_id,
        ),
    )


def read_state(connection: sqlite3.Connection, session_id: str) -> KeptState | None:
    """What was last stored; None if nothing was.

    Raises:
        UnknownSession: there is no such session.
        StoreError: it is damaged.
    """
    row = connection.execute(_QUERY, (session_id, DELETING)).fetchone()
    if row is None:
        raise UnknownSession(session_id)
    if row[0] == "{}":
        return None
    try:
        return _state_from(row)
    except (ValueError, TypeError, KeyError, AttributeError) as problem:
        raise StoreError(
            f"What session {session_id!r} keeps between its turns is damaged ({type(problem).__name__}: {problem}). "
            "Run `hermes-acp doctor` to see what can be repaired.",
            kind="corrupt",
        ) from problem


def kept_from(kept: str) -> KeptState:
    """What the column `kept` says; system prompt, tools, model and what was spent are in others.

    Raises:
        ValueError, TypeError, KeyError, AttributeError: it is damaged.
    """
    values = json.loads(kept)
    omissions = values["omissions"]
    prompt = values.get("prompt", {})  # earlier versions had none
    return KeptState(
        plan=tuple(map(read_step, values["plan"])),
        program=str(values["program"]),
        omitted_results=frozenset(omissions["results"]),
        sealed_before=int(omissions["sealed_before"]),
        images_before=int(omissions["images_before"]),
        prompt_layers=tuple((str(name), int(size)) for name, size in prompt.get("layers", ())),
        prompt_notes=tuple(map(str, prompt.get("notes", ()))),
    )


def _state_from(row: Row) -> KeptState:
    kept, system_hash, tools_hash, model, requests, usage, cost, system, tools = row
    definitions = _text(tools_hash, tools)
    return replace(
        kept_from(kept),
        system=_text(system_hash, system),
        tools=None if definitions is None else tuple(json.loads(definitions)),
        model=model or "",
        spent=spent_from(requests, usage, cost),
    )


def _hashed(text: str) -> tuple[str, str]:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(), text


def _store_text(connection: sqlite3.Connection, digest: str, text: str) -> None:
    if connection.execute("SELECT 1 FROM texts WHERE hash = ?", (digest,)).fetchone() is None:
        connection.execute("INSERT OR IGNORE INTO texts (hash, body) VALUES (?, ?)", (digest, pack(text)))


def _text(digest: str | None, body: str | bytes | None) -> str | None:
    """The text; None where there is none, or where it was lost: it is made anew then."""
    return None if digest is None or body is None else str(unpack(body))
