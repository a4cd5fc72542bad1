"""stdin and stdout may be regular files: a recorded conversation is answered to its end."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.support.waiting import PATIENCE


def test_requests_from_a_file_are_all_answered_into_a_file(tmp_path: Path, workspace: Path) -> None:
    requests = [
        {"id": 1, "method": "initialize", "params": {"protocolVersion": 1}},
        {"id": 2, "method": "session/new", "params": {"cwd": str(workspace), "mcpServers": []}},
        {"id": 3, "method": "session/new", "params": {"cwd": "relative", "mcpServers": []}},
        {"id": 4, "method": "session/new", "params": {"cwd": str(workspace), "mcpServers": []}},
    ]
    source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text("".join(json.dumps({"jsonrpc": "2.0", **request}) + "\n" for request in requests))
    with source.open("rb") as stdin, target.open("wb") as stdout:
        ended = subprocess.run(
            [sys.executable, "-P", "-m", "acp_adapter", "--offline"],
            stdin=stdin,
            stdout=stdout,
            timeout=PATIENCE,
            check=False,
        )
    answers = {answer["id"]: answer for answer in map(json.loads, target.read_text().splitlines()) if "id" in answer}
    assert ended.returncode == 0
    assert set(answers) == {1, 2, 3, 4}
    assert answers[3]["error"]["code"] == -32602
