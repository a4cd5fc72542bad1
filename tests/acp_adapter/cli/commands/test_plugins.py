"""`hermes-acp plugins`, for people at a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.plugins import add_plugin, forget_plugins, tool
from tests.support.settings_files import configure
from tests.support.subcommands import main_of

main = main_of("plugins")


@pytest.fixture(autouse=True)
def _plugins_go_with_the_test() -> Iterator[None]:
    yield
    forget_plugins()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    add_plugin(tmp_path / "app" / ".hermes" / "plugins", "theirs", tool("theirs_tool"))
    return tmp_path / "app"


def _listed(capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, str]:
    main(["list", "--json", *more])
    return {entry["name"]: entry["state"] for entry in json.loads(capsys.readouterr().out)}


def test_without_any_that_is_said(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--project", str(home)]) == 0
    assert "no plugins" in capsys.readouterr().out


def test_they_are_listed_with_what_is_wrong(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    add_plugin(home / "plugins", "good", tool("good_tool"), version="1.0", description="Does\x1b[8m good")
    add_plugin(home / "plugins", "bad", "1 / 0")

    assert main(["list", "--project", str(home)]) == 1

    out = capsys.readouterr().out
    assert "good 1.0" in out
    assert "tools: good_tool" in out
    assert "ZeroDivisionError" in out
    assert "\x1b" not in out


def test_one_is_switched_off_and_on(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    add_plugin(home / "plugins", "one", tool("one_tool"))

    assert main(["disable", "one"]) == 0
    capsys.readouterr()
    assert _listed(capsys, "--project", str(home)) == {"one": "off"}
    assert main(["enable", "one"]) == 0
    capsys.readouterr()
    assert _listed(capsys, "--project", str(home)) == {"one": "loaded"}


def test_what_the_settings_keep_off_is_told(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    configure(home, {"plugins": {"disabled": ["one"]}})

    assert main(["enable", "one"]) == 1
    assert "plugins.disabled" in capsys.readouterr().err


def test_a_project_is_trusted_and_not_any_more(home: Path, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _listed(capsys, "--project", str(project)) == {"theirs": "untrusted"}
    assert main(["trust", str(project)]) == 0
    assert "plugins/theirs" in capsys.readouterr().out
    assert _listed(capsys, "--project", str(project)) == {"theirs": "loaded"}
    assert main(["untrust", str(project)]) == 0
    assert main(["untrust", str(project)]) == 1
    capsys.readouterr()
    assert _listed(capsys, "--project", str(project)) == {"theirs": "untrusted"}


def test_a_project_that_brings_nothing_is_told(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["trust", str(tmp_path)]) == 1
    assert "brings no plugins" in capsys.readouterr().err


@pytest.mark.parametrize("argv", [[], ["trust"], ["trust", "/no/such/place"], ["enable"], ["clear"]])
def test_wrong_usage_exits_with_2(home: Path, argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(argv)
    assert exit_.value.code == 2
    assert "usage: hermes-acp plugins" in capsys.readouterr().err
