"""`hermes-acp mcp` and what `hermes-acp doctor` says of MCP servers."""

from __future__ import annotations

import json
import shlex
import threading
import urllib.request
import webbrowser
from pathlib import Path

import pytest

from acp_adapter.cli.doctor.main import main as doctor
from agent_core.mcp.oauth import ServerTokens
from tests.agent_core.mcp.test_signing_in import wants_sign_in
from tests.support.mcp_servers import plain
from tests.support.settings_files import configure
from tests.support.subcommands import main_of

main = main_of("mcp")


@pytest.fixture
def servers(home: Path) -> Path:
    spec = plain()
    entries = {
        "files": {"command": spec.command, "args": list(spec.args)},
        "api": {"url": "https://me:secret9@mcp.example.com/mcp?key=secret8"},
        "gone": {"command": "/nowhere/mcp"},
        "lacks": {"command": "x", "env": {"A": "${NOT_SET_ANYWHERE}"}},
    }
    configure(home, {"mcp_servers": entries})
    return home


def test_the_list_names_them_without_secrets(servers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    said = capsys.readouterr().out
    assert "api  http  https://mcp.example.com/mcp\n" in said
    assert "The variable NOT_SET_ANYWHERE is not set" in said
    assert "secret" not in said
    assert main(["list", "--json"]) == 0
    assert [one["name"] for one in json.loads(capsys.readouterr().out)] == ["files", "api", "gone", "lacks"]


def test_no_servers_are_no_error(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    assert "no servers in mcp_servers" in capsys.readouterr().out


def test_a_test_says_what_a_server_offers_or_what_is_wrong(servers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["test", "files"]) == 0
    assert capsys.readouterr().out == "files can be used: 11 tools, 0 prompts, 0 resources.\n"
    assert main(["test", "gone"]) == 1
    assert "There is no program /nowhere/mcp" in capsys.readouterr().err
    assert main(["test", "nobody"]) == 1
    assert "There is no server 'nobody' in mcp_servers" in capsys.readouterr().err


def test_a_program_gets_no_variable_that_a_key_of_the_settings_comes_from(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = plain()
    script = f'[ -z "$OFFICE_BADGE" ] || exit 3; exec {shlex.join((spec.command, *spec.args))}'
    office = {"name": "office", "base_url": "http://127.0.0.1:9/v1", "key_env": "OFFICE_BADGE"}
    servers = {"files": {"command": "/bin/sh", "args": ["-c", script]}}
    configure(home, {"mcp_servers": servers, "custom_providers": [office]})
    monkeypatch.setenv("OFFICE_BADGE", "badge-1234")
    assert main(["test", "files"]) == 0
    assert doctor(["--mcp", "--quick"]) in {0, 1}
    assert "files is connected" in capsys.readouterr().out


def test_a_program_has_no_sign_in(servers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["login", "files"]) == 1
    assert "has no sign-in" in capsys.readouterr().err
    assert main(["logout", "api"]) == 0
    assert "Nothing was kept: https://mcp.example.com/mcp" in capsys.readouterr().out


def test_a_sign_in_at_an_address_prints_the_page_and_is_kept(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def browse(url: str) -> bool:
        threading.Thread(target=lambda: urllib.request.urlopen(url).read(), daemon=True).start()
        return True

    monkeypatch.setattr(webbrowser, "open", browse)
    monkeypatch.setenv("DISPLAY", ":0")
    with wants_sign_in() as spec:
        assert main(["login", spec.url]) == 0
        said = capsys.readouterr().out
        assert "/authorize?response_type=code" in said
        assert f"Signed in at {spec.url}: 1 tools" in said
        assert ServerTokens(home).has(spec.url)
        assert main(["logout", spec.url]) == 0
        assert not ServerTokens(home).has(spec.url)


@pytest.mark.long
def test_the_doctor_has_a_line_for_each_and_tries_them_when_asked(
    servers: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert doctor(["--quick"]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "files: " in said
    assert "gone: there is no program /nowhere/mcp" in said
    assert "lacks: The variable NOT_SET_ANYWHERE is not set" in said
    entries = {"files": {"command": plain().command, "args": list(plain().args)}}
    configure(servers, {"mcp_servers": entries, "model": {"provider": "offline"}})
    servers.chmod(0o700)
    assert doctor(["--mcp", "--quick"]) == 0
    assert "files is connected: 11 tools" in capsys.readouterr().out
