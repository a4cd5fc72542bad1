"""MCP servers: looked at, and connected to only when that is wanted."""

import pytest

from acp_adapter.cli.doctor.configuration import check_servers, try_servers
from tests.support.mcp_servers import plain
from tests.support.settings_files import configure


def served(command, *args, **more):
    return {"command": command, "args": list(args), **more}


def test_without_servers_there_is_nothing_to_tell(case):
    assert [*check_servers(case()), *try_servers(case())] == []


def test_settings_that_cannot_be_used_are_told_elsewhere(case, home):
    (home / "config.yaml").write_text("mcp_servers: [\n")
    assert [*check_servers(case()), *try_servers(case())] == []


def test_each_is_looked_at_and_none_started(case, home, tmp_path):
    program = tmp_path / "server"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
    program.chmod(0o755)
    entries = {
        "here": served(str(program)),
        "gone": served("/nowhere/mcp"),
        "lacks": served("x", env={"A": "${NONE}"}),
    }
    configure(home, {"mcp_servers": entries})
    found = {finding.text.partition(":")[0]: finding for finding in check_servers(case())}
    assert {name: finding.state for name, finding in found.items()} == {"here": "ok", "gone": "fail", "lacks": "fail"}
    assert "there is no program /nowhere/mcp" in found["gone"].text
    assert not (tmp_path / "started").exists()


@pytest.mark.usefixtures("mcp_sdk")
def test_all_are_connected_to_and_told_in_their_order(case, home):
    spec = plain()
    configure(home, {"mcp_servers": {"dead": served("/bin/false"), "files": served(spec.command, *spec.args)}})
    dead, files = try_servers(case())
    assert (dead.state, files.state) == ("fail", "ok")
    assert "11 tools" in files.text
