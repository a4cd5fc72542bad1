"""A failure that nobody handles says what went wrong without a secret: in the log, on stderr, by commands."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.editor import Editor
from tests.support.model_server import ModelServer, Reply, ToolCall
from tests.support.own_tools import write
from tests.support.settings_files import use_model

SECRET = "planted-9-qKw071271"  # without a shape: known by its value alone
_CRASHING = f"""
import gc
import threading
import warnings

from tools.registry import registry


class Bad:
    def __del__(self):
        raise RuntimeError("collected with {SECRET}")


def crash(args, **kw):
    def fail():
        raise RuntimeError("died with {SECRET}")

    thread = threading.Thread(target=fail, name="named")
    thread.start()
    thread.join()
    Bad()
    gc.collect()
    warnings.warn("old with {SECRET}")
    return '{{"done": true}}'


registry.register("crash", "mine", {{"type": "object"}}, crash)
"""
_ENDED_BY = f"""
import sys, threading
from acp_adapter.logs import log_unhandled, print_unhandled
{{begin}}()
def fail():
    raise RuntimeError("died with {SECRET}")
thread = threading.Thread(target=fail, name="named")
thread.start()
thread.join()
fail()
"""


async def _crashed(home: Path, workspace: Path, server: ModelServer, **env: str) -> Editor:
    use_model(home, server, model={"api_key": SECRET})
    write(home / "tools" / "crash.py", _CRASHING)
    server.add(Reply(tool_calls=[ToolCall("1", "crash", {})]), Reply("Done."))
    agent = await Editor.spawn(env={"PYTHONWARNINGS": "default", **env}, cwd="/")
    await agent.initialize()
    session = await agent.new_session(workspace)
    await agent.prompt(session, "Crash.")
    assert agent.cards(session)["1"]["status"] == "completed", agent.cards(session)
    return agent


async def test_what_nobody_handles_is_a_record_without_secrets_and_nothing_on_stderr(
    home: Path, workspace: Path, model_server: ModelServer
) -> None:
    agent = await _crashed(home, workspace, model_server)
    told = agent.stderr
    await agent.close(expect=0, within=30)

    log = (home / "logs" / "hermes-acp.log").read_text("utf-8")
    for said in ("died with", "collected with", "old with"):
        assert f"{said} [redacted: our key]" in log, said
    assert "in the thread named" in log
    assert SECRET not in log
    assert told == ""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signal")
async def test_the_stacks_that_python_prints_when_a_signal_kills_it_hold_no_value(
    home: Path, workspace: Path, model_server: ModelServer
) -> None:
    agent = await _crashed(home, workspace, model_server, PYTHONFAULTHANDLER="1")
    assert agent.process is not None
    os.kill(agent.process.pid, signal.SIGABRT)
    await agent.exit_code()
    assert "most recent call first" in agent.stderr
    assert SECRET not in agent.stderr
    await agent.close()


@pytest.mark.parametrize("begin", ["log_unhandled", "print_unhandled"])
def test_what_ends_the_process_is_told_on_stderr_without_secrets(begin: str, home: Path) -> None:
    (home / ".env").write_text(f"OPENAI_API_KEY={SECRET}\n")
    ended = subprocess.run(
        [sys.executable, "-P", "-c", _ENDED_BY.replace("{begin}", begin)],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert ended.returncode == 1
    assert SECRET not in ended.stderr
    assert "in the thread named" in ended.stderr
    assert "it ends the process" in ended.stderr
    assert ("Traceback" in ended.stderr) is (begin == "print_unhandled")
    if begin == "print_unhandled":
        assert ended.stderr.count("RuntimeError: died with [redacted: our key]") == 2
    else:
        assert len(ended.stderr.splitlines()) == 2
