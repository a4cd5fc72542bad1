"""The servers of `mcp_servers`: read, with their variables, joined with the client's."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from agent_core.config import Configuration, load
from agent_core.home import Home
from agent_core.mcp.factory import configured_servers, joined
from agent_core.mcp.specs import Certificates, ServerSpec


def configuration(home: Path, servers: object, *, env: str = "", **more: object) -> Configuration:
    (home / "config.yaml").write_text(yaml.safe_dump({"mcp_servers": servers, **more}, sort_keys=False))
    (home / ".env").write_text(env)
    return load(Home(home), environ={"FROM_ENVIRONMENT": "e"})


def specs(home: Path, servers: object, **more: object) -> dict[str, ServerSpec]:
    config = configuration(home, servers, **more)  # type: ignore[arg-type]
    return {spec.name: spec for spec in configured_servers(config, Path("/srv/app"))}


def test_both_kinds_are_read_with_their_limits_and_filters(tmp_path: Path) -> None:
    found = specs(
        tmp_path,
        {
            "git": {
                "command": "uvx",
                "args": ["mcp-git", 5],
                "env": {"PORT": 80},
                "cwd": "/srv",
                "timeout": 9,
                "connect_timeout": 3,
                "tools": {"include": "git_*", "prompts": False},
            },
            "web": {"url": "https://mcp.example.com/mcp", "headers": {"X-A": "b"}, "transport": "streamable-http"},
            "old": {"url": "http://127.0.0.1:1/sse", "type": "sse"},
            "off": {"command": "x", "enabled": False},
        },
    )
    assert list(found) == ["git", "web", "old"]
    git, web = found["git"], found["web"]
    assert (git.transport, git.command, git.args) == ("stdio", "uvx", ("mcp-git", "5"))
    assert (git.env, git.cwd) == ((("PORT", "80"),), "/srv")
    assert (git.policy.call_seconds, git.policy.connect_seconds, git.policy.prompts) == (9, 3, False)
    assert [git.policy.uses(name) for name in ("git_log", "push")] == [True, False]
    assert (web.transport, web.url, web.headers) == ("http", "https://mcp.example.com/mcp", (("X-A", "b"),))
    assert found["old"].transport == "sse"


def test_a_list_of_tools_wins_over_those_that_are_left_out(tmp_path: Path) -> None:
    tools = {"include": ["a"], "exclude": ["a", "b"]}
    found = specs(
        tmp_path, {"x": {"command": "x", "tools": tools}, "y": {"command": "x", "tools": {"exclude": "b*"}}}
    )
    assert [found["x"].policy.uses(name) for name in ("a", "b", "c")] == [True, False, False]
    assert [found["y"].policy.uses(name) for name in ("a", "b", "bc")] == [True, False, False]


def test_variables_come_from_env_and_the_place_from_the_session(tmp_path: Path) -> None:
    servers = {
        "x": {
            "command": "run",
            "args": ["${workspaceFolder}", "${env:FROM_ENVIRONMENT}"],
            "env": {"TOKEN": "${SECRET}"},
        }
    }
    spec = specs(tmp_path, servers, env="SECRET=s3cret\n")["x"]
    assert (spec.args, spec.env) == (("/srv/app", "e"), (("TOKEN", "s3cret"),))
    assert "s3cret" not in repr(spec)


def test_a_server_that_lacks_a_variable_is_there_with_what_to_do(tmp_path: Path) -> None:
    found = specs(
        tmp_path, {"x": {"url": "https://mcp.example.com", "headers": {"A": "${MISSING}"}}, "y": {"command": "y"}}
    )
    assert "The variable MISSING is not set. Put it into" in found["x"].problem
    assert not found["y"].problem


@pytest.mark.parametrize(
    ("server", "told"),
    [
        ({"command": "a", "url": "https://b"}, "either a command or a url"),
        ({"args": ["a"]}, "either a command or a url"),
        ({"command": "a", "timeout": -1}, "timeout = -1"),
        ("npx thing", "key: value"),
    ],
)
def test_a_wrong_entry_is_left_out_by_name_and_the_others_stay(tmp_path: Path, server: object, told: str) -> None:
    config = configuration(tmp_path, {"bad": server, "good": {"command": "x"}})
    good, bad = configured_servers(config, tmp_path)
    assert (good.name, bad.name) == ("good", "bad")
    assert told in bad.problem
    assert any("mcp_servers.bad" in warning for warning in config.warnings)


def test_an_error_shows_no_value_that_may_be_secret(tmp_path: Path) -> None:
    config = configuration(
        tmp_path, {"bad": {"command": "x", "env": {"A": ["hidden"]}, "args": 7, "url": ["hidden"]}}
    )
    (spec,) = configured_servers(config, tmp_path)
    assert "hidden" not in f"{config.warnings} {spec.problem}"
    assert "not shown" in spec.problem


def test_an_address_that_is_none_is_told(tmp_path: Path) -> None:
    assert "is no address" in specs(tmp_path, {"x": {"url": "mcp.example.com"}})["x"].problem


def test_the_clients_server_wins_by_its_name() -> None:
    given, mine = ServerSpec("a", "stdio", command="theirs"), ServerSpec("a", "stdio", command="mine")
    other = ServerSpec("b", "stdio", command="b")
    assert joined((given,), (mine, other)) == (given, other)


def test_certificates_and_pings_are_read_in_ours_and_in_upstreams_form(tmp_path: Path) -> None:
    found = specs(
        tmp_path,
        {
            "ours": {"url": "https://a/mcp", "ca_file": "~/ca.pem", "client_cert": "/c", "client_key": "/k"},
            "theirs": {"url": "https://a/mcp", "ssl_verify": "/ca.pem", "client_cert": ["/c", "/k"]},
            "idle": {"url": "https://a/mcp", "ssl_verify": True, "keepalive_interval": 0},
            "open": {"url": "https://a/mcp", "ssl_verify": False},
        },
    )
    assert found["ours"].certificates == Certificates(str(Path.home() / "ca.pem"), "/c", "/k")
    assert found["theirs"].certificates == Certificates("/ca.pem", "/c", "/k")
    assert (found["ours"].policy.ping_every, found["idle"].policy.ping_every) == (180, 0)
    assert "ssl_verify cannot be switched off" in found["open"].problem
