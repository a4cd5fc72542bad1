"""Nothing but protocol messages ever reaches stdout, and nothing at all reaches stderr by default."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import EditorFactory
from tests.support.waiting import PATIENCE

_NOISE = "; ".join(
    (
        "echo to stdout",
        "echo to stderr >&2",
        "echo to the first descriptor > /proc/self/fd/1",
        f"{sys.executable} -c \"import os; os.write(1, b'raw bytes')\"",
    )
)


@pytest.mark.slow
async def test_a_command_that_prints_is_shown_in_its_card_and_nowhere_else(
    editor: EditorFactory, workspace: Path
) -> None:
    agent = await editor("--offline")
    await agent.initialize()
    session = await agent.new_session(workspace)

    await agent.prompt(session, f"run {_NOISE}\nsay done")  # every line is checked to be a message

    card = next(iter(agent.cards(session).values()))
    shown = card["content"][0]["content"]["text"]
    assert "to stdout" in shown
    assert "raw bytes" in shown
    await agent.close(expect=0)
    assert agent.stderr == ""


_NOISY_TOOL = """
import sys

class WithTheTools:
    def find_spec(self, name, path=None, target=None):
        if name == "tools.todo":
            import os
            from tools.registry import registry

            def noisy(args, **kw):
                print("printed", flush=True)
                sys.__stdout__.write("written"); sys.__stdout__.flush()
                os.write(1, b"raw")
                os.system("echo from a child")
                return '{"done": true}'

            registry.register("noisy", "planning", {"type": "object", "properties": {}}, noisy)

sys.meta_path.insert(0, WithTheTools())
"""


async def test_neither_tools_nor_children_reach_the_protocols_descriptors(
    editor: EditorFactory, workspace: Path, tmp_path: Path, home: Path
) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(_NOISY_TOOL)
    agent = await editor("--offline", env={"PYTHONPATH": str(site)})
    await agent.initialize()
    session = await agent.new_session(workspace)

    # Every line of stdout is checked to be a message.
    await agent.prompt(session, "call noisy {}\nrun ls /proc/self/fd; readlink /proc/self/fd/0\nsay done")

    noisy, listed = agent.cards(session).values()
    assert noisy["status"] == "completed"
    stray = (home / "logs" / "stdout.log").read_text()
    assert all(word in stray for word in ("printed", "written", "raw", "from a child"))
    shown = listed["content"][0]["content"]["text"]
    assert "/dev/null" in shown
    descriptors = {word for word in shown.split() if word.isdigit()}
    assert descriptors <= {"0", "1", "2", "3"}  # 3 is ls reading the directory


@pytest.mark.slow
def test_a_library_that_prints_while_it_is_loaded_does_not_reach_the_protocol(tmp_path: Path, home: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(
        "import sys, threading\n"
        "class Loud:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name in ('acp', 'pydantic'):\n"
        "            print('loading', name, flush=True)\n"
        "sys.meta_path.insert(0, Loud())\n"
    )
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}},
        {"jsonrpc": "2.0", "id": 2, "method": "session/new", "params": {"cwd": str(tmp_path), "mcpServers": []}},
        {"jsonrpc": "2.0", "id": 3, "method": "authenticate", "params": {"methodId": "hermes-configured"}},
    ]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with (tmp_path / "in.jsonl").open("rb") as stdin:
        ended = subprocess.run(
            [sys.executable, "-P", "-m", "acp_adapter", "--offline"],
            stdin=stdin,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
            env={**os.environ, "PYTHONPATH": str(site)},
        )
    messages = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [message["id"] for message in messages if "id" in message] == [1, 2, 3]
    assert "loading acp" in (home / "logs" / "stdout.log").read_text()
