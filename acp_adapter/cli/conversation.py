"""The steps that every conversation has: initialize, a session, a prompt until its turn ends."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acp_adapter.cli.client import AcpClient
from acp_adapter.cli.client_errors import AgentUnsupported

PROTOCOL_VERSION = 1
_SECONDS_TO_ANSWER = 60.0
_CAPABILITIES = {
    "fs": {"readTextFile": False, "writeTextFile": False},
    "terminal": False,
    # An extension that agents know from editors: the output of their commands comes as it is printed.
    "_meta": {"terminal_output": True},
}


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
    """An earlier session to go on with: of that id, or without one the last of the directory."""

    session_id: str | None = None


def open_session(client: AcpClient, cwd: Path, client_name: str, earlier: Earlier | None = None) -> Opened:
    """Initialize the agent and open a session in `cwd`, or go on with an earlier one.

    Raises:
        AgentRefused, AgentDied, AgentSilent: as `AcpClient.request`.
        AgentUnsupported: it speaks another version of the protocol, gave no session id, or has no earlier session.
    """
    hello = {
        "protocolVersion": PROTOCOL_VERSION,
        "clientCapabilities": _CAPABILITIES,
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
    session_id, answer = _new(client, cwd) if earlier is None else _resumed(client, cwd, earlier)
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


def _resumed(client: AcpClient, cwd: Path, earlier: Earlier) -> tuple[str, dict[str, Any]]:
    session_id = earlier.session_id or _latest(client, cwd)
    place = {"sessionId": session_id, "cwd": str(cwd), "mcpServers": []}
    return session_id, client.request("session/resume", place, _SECONDS_TO_ANSWER)


def _latest(client: AcpClient, cwd: Path) -> str:
    sessions = client.request("session/list", {"cwd": str(cwd)}, _SECONDS_TO_ANSWER).get("sessions")
    for session in sessions if isinstance(sessions, list) else ():
        if isinstance(session, dict) and isinstance(found := session.get("sessionId"), str):
            return found
    raise AgentUnsupported(f"There is no earlier session in {cwd} to go on with. Leave --continue out to begin one.")


def _mode_ids(modes: Any) -> frozenset[str]:
    offered = modes.get("availableModes") if isinstance(modes, dict) else None
    return frozenset(str(mode.get("id")) for mode in offered or () if isinstance(mode, dict))
