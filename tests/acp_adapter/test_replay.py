"""A stored session as updates: a golden transcript for each kind of client, and the list of sessions."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from acp_adapter.capabilities import ClientCapabilities
from acp_adapter.commands.builtin import COMMANDS
from acp_adapter.projection import list_result, replay_params
from agent_core.events import CommandsOffered
from agent_core.sessions.records import Holder, SessionPage
from tests.support.sample_transcript import sample_transcript
from tests.support.wire import check_outgoing

_GOLDEN = Path(__file__).with_name("golden")
_OFFERED = CommandsOffered(tuple(command.offer for command in COMMANDS))
_CLIENTS = {"plain": ClientCapabilities(), "terminal": ClientCapabilities(terminal_output=True)}


def _replayed(client: str, *, runs_elsewhere: bool = False) -> list[dict[str, Any]]:
    params = replay_params(
        sample_transcript(), "default", _CLIENTS[client], _OFFERED, runs_elsewhere=runs_elsewhere, call_ids=set()
    )
    return [json.loads(json.dumps(each)) for each in params]


@pytest.mark.parametrize("client", _CLIENTS)
def test_a_session_is_shown_again_as_the_golden_transcript_has_it(client: str) -> None:
    """After a wanted change, what the failing test prints is the new golden file."""
    golden = _GOLDEN / f"replay-{client}.json"
    replayed = _replayed(client)
    assert replayed == json.loads(golden.read_text(encoding="utf-8")), json.dumps(replayed, indent=1)


@pytest.mark.parametrize("client", _CLIENTS)
def test_every_update_is_one_that_the_protocol_knows(client: str) -> None:
    for params in _replayed(client):
        check_outgoing({"jsonrpc": "2.0", "method": "session/update", "params": params})


def test_a_turn_without_an_end_is_interrupted_unless_it_runs_elsewhere() -> None:
    here, elsewhere = json.dumps(_replayed("plain")), json.dumps(_replayed("plain", runs_elsewhere=True))
    assert ("-interrupted" in here, "-running" in here) == (True, False)
    assert ("-interrupted" in elsewhere, "-running" in elsewhere) == (False, True)


def test_the_list_leaves_out_what_is_not_known() -> None:
    session = sample_transcript().session
    bare = replace(session, title=None, roots=(), holder=Holder("t", "host", 1, "now", "hermes-acp", 0.0))
    (entry,) = list_result(SessionPage((bare,)), None)["sessions"]
    assert set(entry) == {"sessionId", "cwd", "updatedAt"}
    full = list_result(SessionPage((replace(session, roots=("/srv/more",)),), "next"), "/srv/link")
    assert full["nextCursor"] == "next"
    assert full["sessions"][0]["cwd"] == "/srv/link"
    assert full["sessions"][0]["additionalDirectories"] == ["/srv/more"]
