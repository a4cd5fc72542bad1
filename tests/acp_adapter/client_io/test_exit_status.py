"""How editors tell that a command has ended."""

from __future__ import annotations

from typing import Any

from acp_adapter.client_io.terminals import ExitStatus, read_status
from tests.support.each import each


@each(
    ("answer", "expected"),
    [
        ({"exitCode": 0, "signal": None}, ExitStatus(0, None)),
        ({"exitCode": 130}, ExitStatus(130, None)),
        ({"exitCode": None, "signal": "SIGKILL"}, ExitStatus(None, "SIGKILL")),
        ({"exitCode": 137, "signal": "sigkill"}, ExitStatus(None, "SIGKILL")),
        ({"signal": "KILL"}, ExitStatus(None, "SIGKILL")),
        ({"signal": "9"}, ExitStatus(None, "SIGKILL")),
        ({"signal": 15}, ExitStatus(None, "SIGTERM")),
        ({"signal": "999"}, ExitStatus(None, "signal 999")),
        ({"signal": "Killed"}, ExitStatus(None, "Killed")),
        ({"exitCode": -9}, ExitStatus(None, "SIGKILL")),
        ({"exitCode": 1, "signal": ""}, ExitStatus(1, None)),
        ({"exitCode": 1, "signal": 0}, ExitStatus(1, None)),
        ({"exitCode": None, "signal": None}, None),
        ({"exitCode": True}, None),
        ({"exitCode": "1"}, None),
        ({}, None),
    ],
)
def test_a_status_is_read(answer: dict[str, Any], expected: ExitStatus | None) -> None:
    assert read_status(answer) == expected
