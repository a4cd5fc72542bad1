"""The first two answers, as plain data."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from acp_adapter import __version__
from acp_adapter.capabilities import ClientCapabilities
from acp_adapter.startup import SessionSeed, first_options, initialize_result, open_session, session_result
from agent_core.config import Configuration, Overrides, load
from agent_core.errors import AuthRequired, RequestError
from agent_core.home import Home
from tests.support.settings_files import configure
from tests.support.wire import check_outgoing


def _config(home: Path, *, model: str | None = "offline") -> Configuration:
    return load(Home(home), Overrides(model, model))


def _opened(seed: SessionSeed, config: Configuration) -> dict[str, Any]:
    client = ClientCapabilities()
    return session_result(seed.session_id, first_options(seed, config, client), client)


@pytest.fixture
def config(home: Path) -> Configuration:
    return _config(home)


def test_initialize_tells_our_version_and_what_we_can_do() -> None:
    result = initialize_result(ClientCapabilities())
    check_outgoing({"jsonrpc": "2.0", "id": 1, "result": result}, "initialize")
    assert result["protocolVersion"] == 1
    assert result["agentInfo"]["version"] == __version__
    assert initialize_result(ClientCapabilities()) == result


def test_each_session_has_an_id_of_its_own_and_the_directories_it_was_given(
    config: Configuration, tmp_path: Path
) -> None:
    (tmp_path / "extra").mkdir()
    server = {"name": "server", "command": "/bin/true", "args": [], "env": []}
    seeds = [open_session(str(tmp_path), [str(tmp_path / "extra")], [server], config) for _ in range(2)]
    assert len({seed.session_id for seed in seeds}) == 2
    assert seeds[0].cwd == tmp_path
    assert seeds[0].extra_roots == (tmp_path / "extra",)
    assert [spec.name for spec in seeds[0].servers] == ["server"]
    result = _opened(seeds[0], config)
    check_outgoing({"jsonrpc": "2.0", "id": 1, "result": result}, "session/new")
    assert result["sessionId"] == seeds[0].session_id


@pytest.mark.parametrize(("setting", "mode"), [("ask", "default"), ("off", "dont_ask")])
def test_the_settings_choose_the_first_mode(setting: str, mode: str, home: Path, tmp_path: Path) -> None:
    configure(home, {"approvals": {"mode": setting}})
    config = _config(home)
    seed = open_session(str(tmp_path), (), (), config)
    assert seed.choices.mode == _opened(seed, config)["modes"]["currentModeId"] == mode


def test_the_settings_choose_whether_commands_run_in_the_editor_s_terminals(home: Path, tmp_path: Path) -> None:
    assert not open_session(str(tmp_path), (), (), _config(home)).choices.editor_terminals
    configure(home, {"editor": {"terminals": True}})
    assert open_session(str(tmp_path), (), (), _config(home)).choices.editor_terminals


def test_a_directory_with_dots_is_made_plain(config: Configuration, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    assert open_session(f"{tmp_path}/a/../a/.", (), (), config).cwd == tmp_path / "a"


@pytest.mark.parametrize("name", ["cwd", "additionalDirectories"])
@pytest.mark.parametrize("value", ["relative", "", "~", None, 7, "/bad\0path"])
def test_a_directory_that_cannot_be_used_is_named(
    name: str, value: Any, config: Configuration, tmp_path: Path
) -> None:
    _check_refused(name, value, config, tmp_path)


@pytest.mark.parametrize(
    ("name", "value"), [("cwd", "/no/such/directory"), ("cwd", "file"), ("additionalDirectories", ".")]
)
def test_a_session_needs_its_own_directory_and_absolute_further_ones(
    name: str, value: str, config: Configuration, tmp_path: Path
) -> None:
    _check_refused(name, value, config, tmp_path)


@pytest.mark.parametrize("value", ["/no/such/directory", "file"])
def test_a_further_directory_that_is_not_there_is_left_out_and_stays_named(
    value: str, config: Configuration, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    path = str(tmp_path / value)
    seed = open_session(str(tmp_path), (path, str(tmp_path)), (), config)
    assert seed.extra_roots == (tmp_path,)
    assert [str(each.path) for each in seed.missing] == [path]
    assert seed.named_roots == (str(tmp_path), path)


def _check_refused(name: str, value: Any, config: Configuration, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    path = str(tmp_path / "file") if value == "file" else value
    arguments = (path, ()) if name == "cwd" else (str(tmp_path), (path,))
    with pytest.raises(RequestError, match=name) as refused:
        open_session(*arguments, (), config)
    assert "\n" not in refused.value.public


@pytest.mark.skipif(os.geteuid() == 0, reason="root may enter every directory")
def test_a_directory_that_may_not_be_entered_is_told(config: Configuration, tmp_path: Path) -> None:
    (tmp_path / "closed" / "inner").mkdir(parents=True)
    (tmp_path / "closed").chmod(0)
    with pytest.raises(RequestError, match="Permission denied"):
        open_session(str(tmp_path / "closed" / "inner"), (), (), config)


def test_without_a_model_the_client_is_told_to_sign_in(home: Path, tmp_path: Path) -> None:
    with pytest.raises(AuthRequired):
        open_session(str(tmp_path), (), (), _config(home, model=None))
