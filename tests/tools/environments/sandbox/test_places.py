"""What is hidden, and what may be written, in made-up homes."""

import os
from pathlib import Path

import pytest

from tools.environments.sandbox.places import (
    cache_places,
    hidden_places,
    not_within,
    protected_places,
    temporary_places,
)


@pytest.fixture
def home(tmp_path):
    home = tmp_path.resolve() / "home"
    home.mkdir()
    return home


def _put(home, name, text=""):
    path = home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", [".ssh/id_ed25519", ".aws/credentials", ".gnupg/x", ".mozilla/firefox/cookies"])
def test_keys_and_browsers_are_hidden(home, name):
    path = _put(home, name)
    assert any(path.is_relative_to(each) for each in hidden_places(home, ()))


@pytest.mark.parametrize("name", [".bashrc", ".config/git/config", "code/main.py", ".cargo/config.toml", ".profile"])
def test_what_everyday_tools_read_is_not(home, name):
    path = _put(home, name)
    assert not any(path.is_relative_to(each) for each in hidden_places(home, ()))


def test_settings_are_hidden_only_while_a_secret_is_in_them(home):
    npmrc = _put(home, ".npmrc", "save-exact=true\n")
    assert npmrc not in hidden_places(home, ())
    npmrc.write_text("//registry.npmjs.org/:_authToken=npm_abc\n")
    assert npmrc in hidden_places(home, ())


def test_our_own_directory_is_hidden_even_where_a_root_lies_in_it(home):
    own = home / ".hermes"
    (own / "work").mkdir(parents=True)
    assert own in hidden_places(home, [own], [own / "work"])


def test_a_hidden_place_that_holds_a_root_is_not_hidden_as_a_whole(home):
    root = home / ".config" / "op" / "project"
    root.mkdir(parents=True)
    assert home / ".config" / "op" in hidden_places(home, ())
    assert home / ".config" / "op" not in hidden_places(home, (), [root])


def test_a_link_to_a_hidden_place_hides_what_it_leads_to(home, tmp_path):
    keys = tmp_path.resolve() / "elsewhere"
    keys.mkdir()
    (home / ".ssh").symlink_to(keys)
    assert keys in hidden_places(home, ())


def test_what_temporary_files_are_put_into_is_not_led_elsewhere_by_a_link(home, tmp_path):
    """Made by a command of an earlier session, where it may write."""
    root = tmp_path.resolve() / "root"
    root.mkdir()
    (root / "tmp").symlink_to(home)
    (home / "sub").mkdir()
    apart = tmp_path.resolve() / "apart"
    apart.mkdir()
    for named in (root / "tmp", root / "tmp" / "sub", root / "x" / ".." / "tmp"):
        assert not_within([named], [root]) == ()
        assert home not in temporary_places({"TMPDIR": str(named)}, [root])
    assert not_within([apart, apart / "missing"], [root]) == (apart,)


def test_caches_are_made_for_the_tools_that_are_there(home):
    found = cache_places(home, ["pip", "cargo"])
    assert home / ".cache" / "pip" in found
    assert home / ".cargo" / "registry" in found
    assert (home / ".cargo" / ".package-cache").is_file()
    assert not (home / ".npm").exists()
    assert (home / ".cache" / "pip").stat().st_mode & 0o777 == 0o700


def test_no_cache_is_a_place_of_programs(home):
    names = [
        ".local/bin/x",
        ".cargo/bin/x",
        "go/bin/x",
        ".cache/pre-commit/x",
        ".gradle/init.d/x",
        ".bashrc",
        ".npmrc",
    ]
    paths = [_put(home, name) for name in names]
    places = cache_places(home, ["pip", "cargo", "go", "npm", "gradle", "mvn", "uv"])
    assert not [path for path in paths if any(path.is_relative_to(place) for place in places)]


def test_temporary_places_are_resolved(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert not_within([tmp_path / "link"], []) == (Path(os.path.realpath(tmp_path / "real")),)
    assert Path("/tmp").resolve() in temporary_places({})


def test_what_runs_by_itself_is_protected_where_the_home_is_a_root(home):
    rc = _put(home, ".bashrc")
    (home / "project").mkdir()
    assert rc in protected_places(home, [home])
    assert protected_places(home, [home / "project"]) == ()
