"""acpx, a client for scripts, can use the agent: once, in a session of its own, with its rules for permissions."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.foreign.programs import ACPX, OFFLINE, run
from tests.support.mcp_servers import on_the_wire, plain

Ran = subprocess.CompletedProcess[str]
Acpx = Callable[..., Ran]
# Each of its commands is a process of Node's, and a session is a handful of commands.
pytestmark = [pytest.mark.long, pytest.mark.timeout(180)]

DENIED = 5
"""The exit code of acpx after a turn in which something was denied."""


@pytest.fixture
def command(node: str) -> tuple[str, ...]:
    return (node, str(ACPX), "--agent", shlex.join(OFFLINE), "--ttl", "30")


@pytest.fixture
def acpx(command: tuple[str, ...], workspace: Path) -> Acpx:
    """`acpx(words, …)` runs it in the workspace. What it keeps is in the test's own home."""
    return lambda *words: run(*command, *words, cwd=workspace)


@pytest.fixture
def session(acpx: Acpx) -> Iterator[Acpx]:
    """The same, with a session of acpx's that ends with the test, and its process with it."""
    assert acpx("sessions", "new").returncode == 0
    yield acpx
    assert acpx("sessions", "close").returncode == 0


@pytest.mark.slow
def test_acpx_has_a_conversation(acpx: Acpx) -> None:
    ran = acpx("--approve-all", "exec", "say hello")
    assert ran.returncode == 0, ran.stderr
    assert "hello" in ran.stdout.lower()


def test_acpx_understands_every_message(acpx: Acpx) -> None:
    asked = "read README.md\nedit sums.py a - b => a + b\nrun echo checked\nsay hello"
    ran = acpx("--format", "json", "--json-strict", "--approve-all", "exec", asked)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    messages = [json.loads(line) for line in ran.stdout.splitlines()]
    assert "end_turn" in [(message.get("result") or {}).get("stopReason") for message in messages]
    assert not [message for message in messages if "error" in message]


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["--deny-all", pytest.param("--approve-reads", marks=pytest.mark.slow)])
def test_what_acpx_denies_is_not_done(acpx: Acpx, workspace: Path, rule: str) -> None:
    before = (workspace / "sums.py").read_bytes()
    ran = acpx(rule, "exec", "edit sums.py a - b => a + b\nsay On.")
    assert ran.returncode == DENIED, ran.stdout + ran.stderr
    assert (workspace / "sums.py").read_bytes() == before
    assert "[done] end_turn" in ran.stdout


@pytest.mark.slow
def test_what_acpx_approves_is_done_with_its_files_and_without(acpx: Acpx, workspace: Path) -> None:
    assert acpx("--approve-all", "exec", "edit sums.py a - b => a + b").returncode == 0
    assert acpx("--approve-all", "--no-fs", "--no-terminal", "exec", "write new.txt hello").returncode == 0
    assert "a + b" in (workspace / "sums.py").read_text(encoding="utf-8")
    assert (workspace / "new.txt").read_text(encoding="utf-8") == "hello"


@pytest.mark.slow
def test_a_session_of_acpx_goes_on_in_its_mode(session: Acpx, workspace: Path) -> None:
    assert "one" in session("--no-fs", "prompt", "say one").stdout
    assert session("--no-fs", "set-mode", "accept_edits").returncode == 0
    edited = session("--no-fs", "--deny-all", "prompt", "edit sums.py a - b => a + b\nsay two")
    assert edited.returncode == 0, edited.stdout + edited.stderr
    assert "a + b" in (workspace / "sums.py").read_text(encoding="utf-8")
    listed = session("sessions", "list").stdout
    assert "say one" in listed
    assert str(workspace) in listed


@pytest.mark.slow
def test_acpx_cancels_a_running_command(session: Acpx, command: tuple[str, ...], workspace: Path) -> None:
    words = (*command, "--format", "json", "prompt", "run sleep 40")
    with subprocess.Popen(
        words, cwd=workspace, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as prompting:
        assert prompting.stdout is not None
        assert any('"in_progress"' in line for line in prompting.stdout)
        assert session("cancel").returncode == 0
        assert '"stopReason":"cancelled"' in prompting.stdout.read()


@pytest.mark.slow
def test_acpx_lends_the_agent_its_mcp_servers(session: Acpx, tmp_path: Path) -> None:
    config = tmp_path / "mcp.json"
    server = {"type": "stdio", **on_the_wire(plain("lent", env=(("LENT", "forty-two"),)))}
    config.write_text(json.dumps({"mcpServers": [server]}), encoding="utf-8")
    flags = ("--mcp-config", str(config), "--approve-all", "prompt")
    assert any("| ready |" in session(*flags, "/mcp").stdout for _ in range(15)), "the server is not connected"
    called = session(*flags, 'call mcp__lent__variable {"text": "LENT"}')
    assert called.returncode == 0, called.stdout + called.stderr
    assert "forty-two" in called.stdout
