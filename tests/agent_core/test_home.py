"""Where settings and sessions live."""

from __future__ import annotations

import pwd
import stat
from pathlib import Path

import pytest

from agent_core.errors import SettingsError
from agent_core.home import Home, find_home
from tests.support.each import each


@pytest.mark.parametrize("environ", [{}, {"HERMES_HOME": ""}, {"HERMES_HOME": "  "}])
def test_the_home_is_below_the_users_when_nothing_is_said(environ):
    assert find_home(environ).root == Path.home() / ".hermes"


@pytest.mark.parametrize(
    ("configured", "root"),
    [
        ("/srv/hermes", "/srv/hermes"),
        ("/srv/x/../hermes", "/srv/hermes"),
        ("~/elsewhere", "{home}/elsewhere"),
    ],
)
def test_the_variable_names_the_home(configured, root):
    assert find_home({"HERMES_HOME": configured}).root == Path(root.format(home=Path.home()))


def test_a_user_without_a_home_directory_is_told_what_to_set(monkeypatch):
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(pwd, "getpwuid", {}.__getitem__)
    with pytest.raises(SettingsError, match="Set HOME, or HERMES_HOME"):
        find_home({})


def test_a_relative_home_is_refused():
    with pytest.raises(SettingsError, match="absolute"):
        find_home({"HERMES_HOME": "relative/home"})


def test_a_profile_has_a_home_of_its_own_below_the_home():
    assert find_home({"HERMES_HOME": "/srv/hermes"}, "work-2.1_x").root == Path("/srv/hermes/profiles/work-2.1_x")


@each("profile", ["", ".", "..", "../x", "a/b", "/etc", "a\0b", "-x", "ä b", "a\n"])
def test_a_profile_cannot_leave_the_home(profile):
    with pytest.raises(SettingsError, match="--profile"):
        find_home({"HERMES_HOME": "/srv/hermes"}, profile)


def test_the_paths_below_it():
    home = Home(Path("/h"))
    assert (home.config_file, home.env_file, home.logs) == (
        Path("/h/config.yaml"),
        Path("/h/.env"),
        Path("/h/logs"),
    )


def test_directories_are_made_for_the_user_alone_and_may_exist(tmp_path):
    home = Home(tmp_path / "deep" / "home")
    for _ in range(2):
        assert home.make(home.logs) == home.logs
    assert [stat.S_IMODE(path.stat().st_mode) for path in (home.root, home.logs)] == [0o700, 0o700]
