"""The first messages to a language server: what we can do, where the workspace is, what it can do."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agent_core.lsp.languages import Places
from agent_core.lsp.peer import Peer
from tools.light_dataclass import dataclass

_CLIENT_CAPABILITIES: Mapping[str, Any] = {
    "general": {"positionEncodings": ["utf-16"]},
    "workspace": {"configuration": True, "workspaceFolders": True, "didChangeWatchedFiles": {}},
    "window": {"workDoneProgress": False},
    "textDocument": {
        "synchronization": {"didSave": True},
        "publishDiagnostics": {"versionSupport": True},
        "diagnostic": {"relatedDocumentSupport": False},
    },
}


@dataclass(frozen=True, slots=True)
class Greeting:
    """What a server can do.

    Attributes:
        answers: it is asked for a document's problems; otherwise it tells them when it likes.
        identifier: what it wants to be called then.
        wants_saves: it wants to be told when a file was saved.
    """

    answers: bool
    identifier: str | None
    wants_saves: bool


async def greet(peer: Peer, roots: tuple[Path, ...]) -> Greeting:
    """Introduce ourselves (`initialize`, `initialized`).

    Raises:
        LspFailure: it refused, or is gone.
    """
    folders = [{"uri": root.as_uri(), "name": root.name or str(root)} for root in roots]
    answer = await peer.request(
        "initialize",
        {
            "processId": os.getpid(),
            "clientInfo": {"name": "hermes-acp"},
            "rootPath": str(roots[0]),
            "rootUri": folders[0]["uri"],
            "workspaceFolders": folders,
            "capabilities": _CLIENT_CAPABILITIES,
        },
    )
    peer.notify("initialized", {})
    match answer:
        case {"capabilities": dict(can)}:
            return _understood(can)
    return _understood({})


def settings_section(name: str, places: Places) -> object:
    """Our value of a section of the settings that a server asks for; None where we have none.

    The workspace's own configuration files go before it in every server that asks.
    """
    environment = places.environment()
    match name:
        case "python" if environment is not None:
            return {"pythonPath": str(environment / "bin" / "python")}
        case "basedpyright":
            return {"analysis": {"typeCheckingMode": "standard"}}
        case "basedpyright.analysis":
            return {"typeCheckingMode": "standard"}
    return None


def _understood(can: Mapping[str, Any]) -> Greeting:
    pulled = can.get("diagnosticProvider")
    name = pulled.get("identifier") if isinstance(pulled, dict) else None
    sync = can.get("textDocumentSync")
    saves = sync.get("save") if isinstance(sync, dict) else None
    wants_saves = saves is not None and saves is not False
    return Greeting(bool(pulled), name if isinstance(name, str) else None, wants_saves)
