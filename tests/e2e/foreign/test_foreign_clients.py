"""Clients that this project did not write can talk to the agent."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
ACPX = HERE / "node_modules" / ".bin" / "acpx"
AGENT = (sys.executable, "-P", "-m", "acp_adapter", "--offline")


@pytest.fixture
def node() -> str:
    found = shutil.which("node")
    if found is None or not ACPX.exists():
        pytest.skip("the Node clients are not installed: run `make node-clients` (needs Node ≥ 20 and npm)")
    return found


def run(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words, check=False, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=50
    )


def acpx(node: str, workspace: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    return run(
        node, str(ACPX), "--agent", shlex.join(AGENT), "--approve-all", *flags, "exec", "say hello", cwd=workspace
    )


def test_acpx_has_a_conversation(node: str, workspace: Path) -> None:
    ran = acpx(node, workspace)
    assert ran.returncode == 0, ran.stderr
    assert "hello" in ran.stdout.lower()


def test_acpx_understands_every_message(node: str, workspace: Path) -> None:
    ran = acpx(node, workspace, "--format", "json", "--json-strict")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    messages = [json.loads(line) for line in ran.stdout.splitlines()]
    assert "end_turn" in [message.get("result", {}).get("stopReason") for message in messages]
    assert not [message for message in messages if "error" in message]


def test_the_typescript_sdk_has_a_conversation_with_a_permission(node: str, workspace: Path) -> None:
    seen = typescript_client(node, workspace, "write notes.txt remember\nsay done")
    assert seen["initialize"]["protocolVersion"] == 1
    assert seen["prompt"]["stopReason"] == "end_turn"
    assert seen["permissions"]
    assert "allow_once" in seen["permissions"][0]["options"]
    assert {update["sessionUpdate"] for update in seen["updates"]} >= {"agent_message_chunk", "tool_call"}
    assert (workspace / "notes.txt").read_text(encoding="utf-8") == "remember"
    assert seen["exitCode"] == 0


def test_the_typescript_sdk_lists_and_loads_a_session(
    node: str, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = typescript_client(node, workspace, "read README.md\nsay done")
    monkeypatch.setenv("LOAD_LATEST", "1")
    second = typescript_client(node, workspace, "say Again.")
    (listed,) = second["list"]["sessions"]
    assert listed["sessionId"] == second["session"]["sessionId"] == first["session"]["sessionId"]
    assert listed["title"]
    kinds = [update["sessionUpdate"] for update in second["updates"][: second["replayed"]]]
    assert {"user_message_chunk", "tool_call", "agent_message_chunk", "session_info_update"} <= set(kinds)
    assert second["prompt"]["stopReason"] == "end_turn"


def typescript_client(node: str, workspace: Path, prompt: str) -> dict[str, Any]:
    script = HERE / "typescript_client.mjs"
    ran = run(node, str(script), str(workspace), prompt, *AGENT, cwd=workspace)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)
