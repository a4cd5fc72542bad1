"""Each requirement has its test."""

from __future__ import annotations

import re

from tests.tck import test_connection, test_offers, test_sessions, test_turns

_COUNTS = {
    "TRANSPORT": 2, "JSONRPC": 5, "INIT": 4, "SCHEMA": 2, "SESSION": 2, "PROMPT": 3, "CANCEL": 2, "LOAD": 3,
    "RESUME": 2, "LIST": 2, "DELETE": 2, "CLOSE": 2, "ADDDIRS": 1, "MODES": 2, "CONFIG": 3, "PROMPTCAP": 3,
    "AUTH": 5, "CLIENTCAP": 3, "EXT": 1, "META": 1, "ERROR": 1, "SHUTDOWN": 1, "STDERR": 1,
}  # fmt: skip


def test_no_requirement_is_without_a_test() -> None:
    wanted = {f"{name}_{number:03}" for name, count in _COUNTS.items() for number in range(1, count + 1)}
    names = [name for module in (test_connection, test_offers, test_sessions, test_turns) for name in dir(module)]
    assert set(re.findall(r"[A-Z]+_\d{3}", " ".join(names))) == wanted
