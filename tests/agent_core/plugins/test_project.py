"""What a project brings runs only as the user has trusted it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent_core.plugins.discovery import ProjectPlugins
from agent_core.plugins.plugins import Plugins
from tests.support.folded_case import fold_case
from tests.support.own_tools import write
from tests.support.plugins import add_plugin, plugins_of, tool
from tests.support.settings_files import configure
from tools.home_tools import LoadFailed
from tools.registry import ToolRegistry


@pytest.fixture
def plugins(home: Path, registry: ToolRegistry) -> Plugins:
    return plugins_of(home, registry)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "app" / ".hermes" / "plugins"


def _project(plugins: Plugins, place: Path) -> ProjectPlugins:
    project = plugins.project(place.parent.parent)
    project.look()
    return project


def _tools(project: ProjectPlugins) -> list[str]:
    return [entry.name for entry in project.tools()]


def _states(project: ProjectPlugins) -> list[str]:
    return [status.state for status in project.statuses]


RAN = "open(__file__ + '.ran', 'w')"


def test_nothing_of_it_is_run_before_it_is_trusted(plugins: Plugins, place: Path) -> None:
    folder = add_plugin(place, "one", f"{RAN}; {tool('one')}")

    project = _project(plugins, place)

    assert (_states(project), _tools(project)) == (["untrusted"], [])
    assert list(folder.glob("*.ran")) == []
    assert "type /trust" in project.problems()[0]


def test_what_was_trusted_is_loaded_for_sessions_of_that_project_alone(
    plugins: Plugins, place: Path, registry: ToolRegistry, tmp_path: Path
) -> None:
    add_plugin(place, "one", f"{tool('one')}; ctx.register_hook('stop', print); ctx.register_command('x', print)")
    project = _project(plugins, place)

    assert list(project.trust()) == ["plugins/one"]

    assert (_states(project), _tools(project), project.problems()) == (["loaded"], ["one"], ())
    assert registry.entries() == [], "not for the whole process"
    assert [command.name for command in plugins.commands(project.root)] == ["x"]
    assert plugins.commands(tmp_path) == ()
    assert [entry.source for entry in project.tools()] == ["plugin one"], "it is asked about as the user's own are"


def test_the_trust_outlasts_the_process(home: Path, plugins: Plugins, place: Path, registry: ToolRegistry) -> None:
    add_plugin(place, "one", tool("one"))
    _project(plugins, place).trust()

    assert _tools(_project(plugins_of(home, registry), place)) == ["one"]


def test_two_spellings_of_the_project_are_trusted_as_one(
    home: Path, plugins: Plugins, place: Path, registry: ToolRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_plugin(place, "one", tool("one"))
    project = place.parent.parent
    link = project.with_name("link")
    link.symlink_to(project)
    _project(plugins, link / ".hermes" / "plugins").trust()
    assert _tools(_project(plugins_of(home, registry), place)) == ["one"]

    fold_case(monkeypatch, project)
    other = project.with_name("APP")
    assert plugins.state.trusted(other) == plugins.state.trusted(project) != {}
    assert plugins.state.untrust(other)
    assert plugins.state.projects() == {}


def test_a_link_in_the_place_of_a_trusted_project_passes_no_trust_on(plugins: Plugins, place: Path) -> None:
    add_plugin(place, "one", tool("one"))
    project = place.parent.parent
    _project(plugins, place).trust()
    other = project.with_name("other")
    project.rename(other)
    project.symlink_to(other)
    assert plugins.state.trusted(other) == plugins.state.trusted(project) == {}


def _changes(place: Path) -> dict[str, Any]:
    folder = place / "one"
    return {
        "code": lambda: write(folder / "__init__.py", "def register(ctx): 1 / 0\n"),
        "manifest": lambda: write(folder / "plugin.yaml", "name: [\n"),
        "another file": lambda: write(folder / "more.py", ""),
        "a link": lambda: (folder / "link").symlink_to("/etc/passwd"),
    }


@pytest.mark.parametrize("change", ["code", "manifest", "another file", "a link"])
def test_a_change_neither_runs_nor_takes_away_what_was_trusted(
    home: Path, plugins: Plugins, place: Path, registry: ToolRegistry, change: str
) -> None:
    add_plugin(place, "one", tool("one"))
    project = _project(plugins, place)
    project.trust()
    _changes(place)[change]()

    project.look()
    later = _project(plugins_of(home, registry), place)

    for each in (project, later):
        assert (_states(each), _tools(each)) == (["loaded"], ["one"])
        assert "has changed since you trusted it" in each.problems()[0]


def test_a_change_that_is_trusted_counts_at_once(plugins: Plugins, place: Path) -> None:
    add_plugin(place, "one", tool("one"))
    project = _project(plugins, place)
    project.trust()
    add_plugin(place, "one", tool("other"))
    project.trust()

    assert (_tools(project), project.problems()) == (["other"], ())


def test_what_has_changed_or_come_since_it_was_shown_is_not_trusted(plugins: Plugins, place: Path) -> None:
    add_plugin(place, "one", tool("one"))
    project = _project(plugins, place)
    project.show()
    add_plugin(place, "one", tool("other"))

    with pytest.raises(LoadFailed, match="has changed since it was shown"):
        project.trust()
    project.show()
    add_plugin(place, "two", tool("two"))
    with pytest.raises(LoadFailed, match="plugins/two"):
        project.trust()
    assert _states(project) == ["untrusted"]
    project.show()
    assert list(project.trust()) == ["plugins/one", "plugins/two"]


def test_one_that_is_removed_is_used_until_the_program_ends(
    home: Path, plugins: Plugins, place: Path, registry: ToolRegistry
) -> None:
    folder = add_plugin(place, "one", tool("one"))
    project = _project(plugins, place)
    project.trust()
    (folder / "plugin.yaml").unlink()
    project.look()

    assert _tools(project) == ["one"]
    assert "not in the project any more" in project.problems()[0]
    assert _tools(_project(plugins_of(home, registry), place)) == []


def test_trust_that_was_taken_back_is_gone_with_the_next_process(
    home: Path, plugins: Plugins, place: Path, registry: ToolRegistry
) -> None:
    add_plugin(place, "one", tool("one"))
    _project(plugins, place).trust()

    assert plugins.state.untrust(place.parent.parent)
    assert _states(_project(plugins_of(home, registry), place)) == ["untrusted"]
    assert not plugins.state.untrust(place.parent.parent)


def test_a_copy_that_somebody_changed_is_not_run(
    home: Path, plugins: Plugins, place: Path, registry: ToolRegistry
) -> None:
    folder = add_plugin(place, "one", tool("one"))
    _project(plugins, place).trust()
    [copy] = (home / "cache" / "trusted").rglob("__init__.py")
    copy.write_text("def register(ctx): 1 / 0\n")
    write(folder / "__init__.py", "changed = 1\n")

    assert _states(_project(plugins_of(home, registry), place)) == ["untrusted"]


def test_each_thing_is_trusted_by_itself(plugins: Plugins, place: Path) -> None:
    add_plugin(place, "one", tool("one"))
    add_plugin(place, "two", tool("two"))
    project = _project(plugins, place)

    project.trust(["plugins/two"])

    assert (_states(project), _tools(project)) == (["untrusted", "loaded"], ["two"])


def test_one_that_fails_is_told_and_another_works(plugins: Plugins, place: Path) -> None:
    add_plugin(place, "bad", f"{tool('half')}; 1 / 0")
    add_plugin(place, "good", tool("good"))
    project = _project(plugins, place)
    project.trust()

    assert (_states(project), _tools(project)) == (["failed", "loaded"], ["good"])
    assert "ZeroDivisionError" in project.problems()[0]


def test_it_may_not_offer_what_the_whole_process_has(plugins: Plugins, place: Path) -> None:
    add_plugin(
        place, "one", f"ctx.register_memory_provider(object); ctx.add_hook('pre_tool_call', print); {tool('one')}"
    )
    project = _project(plugins, place)
    project.trust()

    assert _tools(project) == ["one"]
    assert "register_memory_provider, which only plugins of the home may" in project.problems()[0]
    assert plugins.memories == {}


def test_links_are_not_followed(plugins: Plugins, place: Path, tmp_path: Path) -> None:
    add_plugin(tmp_path / "elsewhere", "one", tool("one"))
    place.mkdir(parents=True)
    (place / "one").symlink_to(tmp_path / "elsewhere" / "one")

    assert _project(plugins, place).brought() == []

    folder = add_plugin(place, "two", tool("two"))
    (folder / "data").symlink_to("/etc")
    with pytest.raises(LoadFailed, match="a link or no file"):
        _project(plugins, place).trust()


def test_a_project_whose_hermes_folder_leads_elsewhere_brings_nothing(
    plugins: Plugins, place: Path, tmp_path: Path
) -> None:
    add_plugin(tmp_path / "elsewhere" / "plugins", "one", tool("one"))
    place.parent.parent.mkdir()
    place.parent.symlink_to(tmp_path / "elsewhere")

    assert _project(plugins, place).brought() == ()


def test_the_home_is_no_project_s(home: Path, plugins: Plugins) -> None:
    add_plugin(home / "plugins", "one", tool("one"))

    project = plugins.project(home.parent)
    project.look()

    assert project.statuses == ()


def test_one_that_is_switched_off_is_not_used_any_more_and_again_once_it_is_on(plugins: Plugins, place: Path) -> None:
    add_plugin(place, "one", f"{tool('one')}; ctx.register_hook('stop', print); ctx.register_command('x', print)")
    add_plugin(place, "two", tool("two"))
    project = _project(plugins, place)
    project.trust()
    for off, states, tools in ((True, ["off", "loaded"], ["two"]), (False, ["loaded", "loaded"], ["one", "two"])):
        plugins.state.disable("one", off=off)
        project.look()
        assert (_states(project), _tools(project)) == (states, tools)
        assert len(plugins.commands(project.root)) == (0 if off else 1)
        assert project.problems() == ()


def test_one_that_was_off_from_the_beginning_is_loaded_once_it_is_on(plugins: Plugins, place: Path) -> None:
    add_plugin(place, "one", tool("one"))
    plugins.state.disable("one", off=True)
    project = _project(plugins, place)
    project.trust()
    assert (_states(project), _tools(project)) == (["off"], [])

    plugins.state.disable("one", off=False)
    project.look()

    assert (_states(project), _tools(project)) == (["loaded"], ["one"])


def test_the_list_of_those_that_are_on_holds_for_a_project_s_too_but_not_for_its_hooks(
    home: Path, plugins: Plugins, place: Path
) -> None:
    for name in ("one", "two"):
        add_plugin(place, name, tool(name))
    write(place.parent / "hooks" / "hooks.yaml", "Stop: [{command: 'true'}]\n")
    configure(home, {"plugins": {"enabled": ["two"]}})
    project = _project(plugins, place)
    project.trust()

    assert (_states(project), _tools(project)) == (["off", "loaded", "loaded"], ["two"])
    assert project.hooks_copy() is not None
    configure(home, {"plugins": {"enabled": ["one"], "disabled": ["hooks"]}})
    project.look()
    assert (_states(project), _tools(project)) == (["loaded", "off", "off"], ["one"])
    assert project.hooks_copy() is None
