"""Tools that the user has put into the home."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.own_tools import WEATHER, load, own_registry, tool_file, write
from tests.support.tool_context import call, make_context
from tools import dispatch as dispatch_module
from tools import registry as toolbox_module
from tools import toolsets as toolsets_module
from tools.home_tools import HomeTools
from tools.registry import ToolRegistry
from tools.toolsets import get_tool_definitions


@pytest.fixture
def registry() -> Iterator[ToolRegistry]:
    with own_registry(dispatch_module, toolbox_module, toolsets_module) as registry:
        yield registry
    for name in [name for name in sys.modules if name.startswith("hermes_home_")]:
        del sys.modules[name]


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a file's loading adds to the environment goes with the test."""
    monkeypatch.setattr(os, "environ", os.environ.copy())
    monkeypatch.delenv("WEATHER_API_KEY", raising=False)


def _names(registry: ToolRegistry) -> list[str]:
    return [entry.name for entry in registry.entries()]


def _offered(*toolsets: str) -> list[str]:
    return [definition["function"]["name"] for definition in get_tool_definitions(toolsets or None)]


class TestFiles:
    def test_a_tool_file_just_works(self, home: Path, registry: ToolRegistry, tmp_path: Path) -> None:
        write(home / "tools" / "weather.py", WEATHER)

        own = load(home, registry, variables=lambda: {"WEATHER_API_KEY": "k1"})
        result = call(make_context(tmp_path), "weather", place="Bern")

        assert own.problems == ()
        assert json.loads(result.text) == {"place": "Bern", "key": "k1"}
        assert _offered() == ["weather"], "the editor's toolset has what the user added"
        assert _offered("weather") == ["weather"]

    def test_without_its_key_it_is_not_offered(self, home: Path, registry: ToolRegistry) -> None:
        write(home / "tools" / "weather.py", WEATHER)

        load(home, registry)

        assert _names(registry) == ["weather"]
        assert _offered() == []

    def test_its_toolset_can_be_disabled(self, home: Path, registry: ToolRegistry) -> None:
        write(home / "tools" / "one.py", tool_file("one"))
        write(home / "tools" / "two.py", tool_file("two"))

        load(home, registry)

        assert [d["function"]["name"] for d in get_tool_definitions(None, ["one"])] == ["two"]

    def test_an_async_handler_works_too(self, home: Path, registry: ToolRegistry, tmp_path: Path) -> None:
        source = """
            import asyncio, json
            from tools.registry import registry

            async def handler(args, **kw):
                await asyncio.sleep(0)
                return json.dumps({"task": kw["task_id"]})

            registry.register(name="slow", toolset="slow", schema={"type": "object"}, handler=handler, is_async=True)
        """
        write(home / "tools" / "slow.py", source)

        load(home, registry)

        assert json.loads(call(make_context(tmp_path), "slow").text) == {"task": "task-1"}

    def test_a_file_may_use_a_helper_beside_it(self, home: Path, registry: ToolRegistry) -> None:
        write(home / "tools" / "helper.py", "NAME = 'helped'\n")
        write(
            home / "tools" / "uses.py", tool_file("uses", before="from .helper import NAME\nassert NAME == 'helped'")
        )

        assert load(home, registry).problems == ()
        assert _names(registry) == ["uses"]

    def test_a_file_that_registers_nothing_is_not_run(self, home: Path, registry: ToolRegistry) -> None:
        write(home / "tools" / "notes.py", "raise RuntimeError('run')\n")
        write(home / "tools" / "_draft.py", tool_file("draft"))

        assert load(home, registry).problems == ()
        assert _names(registry) == []

    @pytest.mark.parametrize(
        ("source", "told"),
        [
            (tool_file("bad", before="def ("), "no valid Python: line 1"),
            (tool_file("bad", before="1 / 0"), "ZeroDivisionError: division by zero"),
            (tool_file("bad", before="raise SystemExit(3)"), "SystemExit: 3"),
            (tool_file("bad", before="import no_such_module_x.y"), "pip install no_such_module_x"),
            (tool_file("bad").replace("'object'", "'array'"), "not that of an object"),
        ],
    )
    def test_a_broken_file_is_told_and_stops_no_other(
        self, home: Path, registry: ToolRegistry, source: str, told: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        write(home / "tools" / "a.py", tool_file("a"))
        write(home / "tools" / "bad.py", source)
        write(home / "tools" / "z.py", tool_file("z"))

        own = load(home, registry)

        assert _names(registry) == ["a", "z"]
        (problem,) = own.problems
        assert problem.source == "tools/bad.py"
        assert told in problem.text
        assert told in caplog.text

    def test_a_file_that_does_not_come_back_stops_no_other(self, home: Path, registry: ToolRegistry) -> None:
        waits = "import threading\nthreading.Event().wait()\n"
        write(home / "tools" / "a.py", tool_file("a", before=waits))
        write(home / "tools" / "b.py", tool_file("b"))

        own = load(home, registry, seconds=0.2)

        assert _names(registry) == ["b"]
        assert "not done after 0.2 seconds" in own.problems[0].text

    def test_a_tool_of_ours_is_replaced_only_where_the_file_says_so(self, home: Path, registry: ToolRegistry) -> None:
        for name in ("terminal", "read_file"):
            registry.register(name, "files", {"type": "object"}, lambda args, **kw: "{}")
        write(home / "tools" / "one.py", tool_file("terminal", toolset="files"))
        write(home / "tools" / "two.py", tool_file("read_file", toolset="mine", override=True))

        own = load(home, registry)

        assert [problem.source for problem in own.problems] == ["tools/one.py"]
        assert "override=True" in own.problems[0].text
        terminal, read_file = registry.get("terminal"), registry.get("read_file")
        assert terminal is not None
        assert terminal.source == ""
        assert read_file is not None
        assert read_file.source == "tools/two.py"

    def test_a_home_without_tools_costs_nothing(self, home: Path, registry: ToolRegistry) -> None:
        modules = set(sys.modules)

        assert load(home, registry).problems == ()
        assert not {name for name in set(sys.modules) - modules if name.startswith("hermes_home_")}


class TestTrust:
    def test_a_file_that_everybody_may_change_is_refused(self, home: Path, registry: ToolRegistry) -> None:
        file = write(home / "tools" / "open.py", tool_file("open"))
        file.chmod(0o666)

        own = load(home, registry)

        assert _names(registry) == []
        assert f"chmod o-w {file}" in own.problems[0].text

    def test_so_is_one_in_a_folder_that_everybody_may_change(self, home: Path, registry: ToolRegistry) -> None:
        write(home / "tools" / "open.py", tool_file("open"))
        (home / "tools").chmod(0o777)

        assert f"chmod o-w {home / 'tools'}" in load(home, registry).problems[0].text
        assert _names(registry) == []

    def test_so_is_a_link_out_of_the_home(self, home: Path, registry: ToolRegistry, tmp_path: Path) -> None:
        outside = write(tmp_path / "repository" / "tool.py", tool_file("outside"))
        (home / "tools").mkdir()
        (home / "tools" / "tool.py").symlink_to(outside)

        assert "leads out of" in load(home, registry).problems[0].text
        assert _names(registry) == []

    @pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
    def test_so_is_another_user_s_file(self, home: Path, registry: ToolRegistry) -> None:
        os.chown(write(home / "tools" / "theirs.py", tool_file("theirs")), 12345, 12345)

        assert "belongs to another user" in load(home, registry).problems[0].text
        assert _names(registry) == []


class TestVariables:
    def test_a_variable_of_the_home_that_no_file_names_stays_ours(self, home: Path, registry: ToolRegistry) -> None:
        write(home / "tools" / "weather.py", WEATHER)

        load(home, registry, variables=lambda: {"WEATHER_API_KEY": "k1", "OPENROUTER_API_KEY": "k2"})

        assert os.environ["WEATHER_API_KEY"] == "k1"
        assert "OPENROUTER_API_KEY" not in os.environ

    def test_one_that_is_set_already_stays_as_it_is(self, home: Path, registry: ToolRegistry) -> None:
        os.environ["WEATHER_API_KEY"] = "set"
        write(home / "tools" / "weather.py", WEATHER)

        load(home, registry, variables=lambda: {"WEATHER_API_KEY": "k1"})

        assert os.environ["WEATHER_API_KEY"] == "set"


def test_they_are_loaded_when_tools_are_first_wanted_and_once(home: Path, registry: ToolRegistry) -> None:
    own = HomeTools(home)
    registry.add_loader(own.load)
    write(home / "tools" / "one.py", tool_file("one"))

    assert _offered() == ["one"]
    write(home / "tools" / "two.py", tool_file("two"))
    assert _offered() == ["one"], "until the program starts again"


def test_a_file_that_must_not_be_loaded_is_not_imported_by_another_either(
    home: Path, registry: ToolRegistry, tmp_path: Path
) -> None:
    folder = home / "tools"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "helper.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    (folder / "helper.py").chmod(0o666)
    (folder / "a.py").write_text("from .helper import x\n# register(\n")
    loaded = HomeTools(home)
    loaded.load()

    assert not (tmp_path / "ran").exists()
    assert "must not be loaded" in loaded.problems[0].text
