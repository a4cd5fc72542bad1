"""What the person is told of servers."""

from __future__ import annotations

from agent_core.mcp.specs import ServerSpec, ServerStatus, still_waiting, table, told, waiting

READY = ServerStatus("git", "ready", tools=("mcp__git__log",))
SLOW = ServerStatus("jira", "connecting")
OTHER = ServerStatus("figma", "connecting")
FAILED = ServerStatus("vault", "failed", "Its process exited with status 3.")
ODD = ServerStatus("odd", "ready", left_out=("two: its input schema is not an object",))


def test_those_that_still_connect_are_named() -> None:
    assert waiting([READY, SLOW, OTHER]) == "Waiting for MCP servers: jira, figma …"
    assert waiting([SLOW]) == "Waiting for MCP server: jira …"
    assert waiting([READY, FAILED]) == ""
    assert still_waiting([SLOW, READY]) == "Not yet connected, going on without: MCP server jira."
    assert still_waiting([READY]) == ""


def test_each_failure_is_told_once() -> None:
    already: set[str] = set()
    assert told([READY, FAILED, ODD], already) == [
        "MCP server vault could not be used: Its process exited with status 3.",
        "Tools of MCP server odd that are not offered: two: its input schema is not an object.",
    ]
    assert told([READY, FAILED, ODD], already) == []


def test_the_table_has_all_of_them() -> None:
    assert table([READY, FAILED, ODD]) == (
        "| server | state | tools |\n"
        "|---|---|---|\n"
        "| git | ready | `mcp__git__log` |\n"
        "| vault | failed | – |\n"
        "| odd | ready | – |\n"
        "\n"
        "- vault: Its process exited with status 3.\n"
        "- odd, not offered: two: its input schema is not an object"
    )
    assert "no MCP servers" in table([])


def test_many_tools_are_counted() -> None:
    many = ServerStatus("many", "ready", tools=tuple(f"t{number}" for number in range(40)))
    assert "`t29` and 10 more |" in table([many])


def test_a_spec_keeps_its_secrets_to_itself() -> None:
    spec = ServerSpec(
        "api",
        "http",
        url="https://me:password1@example.com:8443/mcp?key=query-secret",
        headers=(("Authorization", "Bearer token-secret"),),
    )
    assert repr(spec) == "ServerSpec(name='api', transport='http')"
    assert spec.place() == "https://example.com:8443/mcp"
    said = "bad token-secret at https://me:password1@example.com:8443/mcp?key=query-secret"
    assert spec.hide(said) == "bad *** at https://me:***@example.com:8443/mcp?***"
