"""How tests start the scripted agent, and the usual JSON of its scenarios."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

SCRIPTED_AGENT = Path(__file__).with_name("scripted_agent.py")

OPTIONS = [
    {"optionId": "yes", "name": "Allow once", "kind": "allow_once"},
    {"optionId": "ever", "name": "Always allow", "kind": "allow_always"},
    {"optionId": "no", "name": "Reject", "kind": "reject_once"},
]


def agent_command(*steps: str) -> list[str]:
    """The command that plays `steps`."""
    return [sys.executable, str(SCRIPTED_AGENT), *steps]


def update(kind: str, /, **fields: Any) -> dict[str, Any]:
    """A session update."""
    return {"sessionUpdate": kind, **fields}


def update_step(kind: str, /, **fields: Any) -> str:
    """The step that sends a session update."""
    return "update=" + json.dumps(update(kind, **fields))


def permission_step(call_id: str = "call-1", options: list[dict[str, str]] = OPTIONS, **tool_call: Any) -> str:
    """The step that asks for a permission."""
    return "permission=" + json.dumps({"toolCall": {"toolCallId": call_id, **tool_call}, "options": options})
