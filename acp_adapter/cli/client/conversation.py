"""The steps that every conversation has: initialize, a session, a prompt until its turn ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acp_adapter.cli.client.client import AcpClient
from acp_adapter.cli.client.errors import AgentUnsupported
from tools.os_compat import same_directory

PROTOCOL_VERSION = 1
_SECONDS_TO_ANSWER = 60.0
_MOST_TOLD = 5
_CAPABILITIES = {
    "fs": {"readTextFile": False, "writeTextFile": False},
    "terminal": False,
}
FORM_CAPABILITY: Mapping[str, Any] = {"form": {}, "url": {}}
# An extension that agents know from editors: the output of their commands comes as it is printed.
_META = {"terminal_output": True}


@dataclass(frozen=True, slots=True)
class Opened:
    """A session, ready for prompts.

    Attributes:
        session_id: its id.
        modes: the ids of the modes that the agent offers for it.
        initialized_at: when `initialize` was answered, in seconds since the agent's start.
        opened_at: when the session was there.
    """

    session_id: str
    modes: frozenset[str]
    initialized_at: float
    opened_at: float


@dataclass(frozen=True, slots=True)
class Earlier:
    """An earlier session to go on with: of that id, or the only one whose id begins so; without one the last of the
    directory.
    """

    session_id: str | None = None


def open_session(
    client: AcpClient,
    cwd: Path,
    client_name: str,
    earlier: Earlier | None = None,
    meta: Mapping[str, Any] | None = None,
) -> Opened:
    """Initialize the agent and open a session in `cwd`, or go on with an earlier one.

    Args:
        meta: what the client says of itself in `_meta` of its capabilities beside the usual.

    Raises:
        AgentRefused, AgentDied, AgentSilent: as `AcpClient.request`.
        AgentUnsupported: it speaks another version of the protocol, gave no session id, or has no earlier session.
    """
    forms = {"elicitation": FORM_CAPABILITY} if client.fills_forms else {}
    hello = {
        "protocolVersion": PROTOCOL_VERSION,
        "clientCapabilities": {**_CAPABILITIES, **forms, "_meta": {**_META, **(meta or {})}},
        "clientInfo": {"name": client_name, "version": "1"},
    }
    agent = client.request("initialize", hello, _SECONDS_TO_ANSWER)
    initialized_at = client.now()
    version = agent.get("protocolVersion")
    if version != PROTOCOL_VERSION:
        raise AgentUnsupported(
            f"The agent answered initialize with protocol version {version!r}; this client speaks only "
            f"{PROTOCOL_VERSION}. Use an agent that does."
        )
    lists = _lists_sessions(agent)
    session_id, answer = _new(client, cwd) if earlier is None else _resumed(client, cwd, earlier, lists=lists)
    client.attend(session_id)
    return Opened(session_id, _mode_ids(answer.get("modes")), initialized_at, client.now())


def send_prompt(client: AcpClient, session_id: str, text: str, timeout: float | None = None) -> str:
    """Send `text` and wait until the turn ends.

    Returns:
        its stop reason.

    Raises:
        AgentRefused, AgentDied, AgentSilent: as `AcpClient.request`.
        AgentUnsupported: the answer holds no stop reason.
    """
    prompt = {"sessionId": session_id, "prompt": [{"type": "text", "text": text}]}
    reason = client.request("session/prompt", prompt, timeout).get("stopReason")
    if not isinstance(reason, str):
        raise AgentUnsupported("The agent ended the turn without a stop reason. Report it to its authors.")
    return reason


def _new(client: AcpClient, cwd: Path) -> tuple[str, dict[str, Any]]:
    answer = client.request("session/new", {"cwd": str(cwd), "mcpServers": []}, _SECONDS_TO_ANSWER)
    session_id = answer.get("sessionId")
    if not isinstance(session_id, str) or not session_id:
        raise AgentUnsupported(
            f"The agent answered session/new without a session id, got {session_id!r}. Report it to its authors."
        )
    return session_id, answer


def _resumed(client: AcpClient, cwd: Path, earlier: Earlier, *, lists: bool) -> tuple[str, dict[str, Any]]:
    if earlier.session_id is None:
        session = _latest(client, cwd)
    else:
        session = _named(client, earlier.session_id) if lists else {"sessionId": earlier.session_id}
    place = {"sessionId": session["sessionId"], "cwd": str(cwd), "mcpServers": []}
    # Directories that are not named are none: going on here must not take them from the session.
    if roots := _roots_that_are_there(session):
        place["additionalDirectories"] = roots
    return session["sessionId"], client.request("session/resume", place, _SECONDS_TO_ANSWER)


def _latest(client: AcpClient, cwd: Path) -> dict[str, Any]:
    # Not every agent heeds the directory that was asked for.
    listed = _listed(client, {"cwd": str(cwd)})
    found = next((session for session in listed if _is_in(session, cwd)), None)
    if found is None:
        raise AgentUnsupported(
            f"There is no earlier session in {cwd} to go on with. Leave --continue out to begin one."
        )
    return found


def _is_in(session: dict[str, Any], cwd: Path) -> bool:
    named = session.get("cwd")
    if not isinstance(named, str):
        return named is None
    return same_directory(named, cwd)


def _named(client: AcpClient, beginning: str) -> dict[str, Any]:
    """The session of that id, or the only one whose id begins so; one that is not listed is left to the agent."""
    found = [session for session in _listed(client, {}) if session["sessionId"].startswith(beginning)]
    exact = [session for session in found if session["sessionId"] == beginning]
    if len(found) > 1 and not exact:
        ids = ", ".join(session["sessionId"] for session in found[:_MOST_TOLD])
        raise AgentUnsupported(f"Several sessions begin with {beginning!r}: {ids}. Give more of the id.")
    return next(iter(exact or found), {"sessionId": beginning})


def _listed(client: AcpClient, params: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """All sessions that the agent lists, in its order."""
    cursor: object = None
    seen: set[object] = set()
    while True:
        place = {} if cursor is None else {"cursor": cursor}
        page = client.request("session/list", {**params, **place}, _SECONDS_TO_ANSWER)
        sessions = page.get("sessions")
        for session in sessions if isinstance(sessions, list) else ():
            if isinstance(session, dict) and isinstance(session.get("sessionId"), str):
                yield session
        cursor = page.get("nextCursor")
        if not isinstance(cursor, str) or cursor in seen:
            return
        seen.add(cursor)


def _roots_that_are_there(session: dict[str, Any]) -> list[str]:
    roots = session.get("additionalDirectories")
    named = roots if isinstance(roots, list) else []
    return [root for root in named if isinstance(root, str) and Path(root).is_dir()]


def _lists_sessions(agent: dict[str, Any]) -> bool:
    capabilities = agent.get("agentCapabilities")
    sessions = capabilities.get("sessionCapabilities") if isinstance(capabilities, dict) else None
    return isinstance(sessions, dict) and sessions.get("list") is not None


def _mode_ids(modes: Any) -> frozenset[str]:
    offered = modes.get("availableModes") if isinstance(modes, dict) else None
    offered = offered if isinstance(offered, list) else []
    return frozenset(str(mode.get("id")) for mode in offered if isinstance(mode, dict))
