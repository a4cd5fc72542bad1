"""Plugins of the home and of packages: found, loaded, isolated."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from agent_core.compaction.compactor import ENGINES
from agent_core.plugins.discovery import in_packages
from agent_core.plugins.plugin import Candidate, CommandCall, Manifest, Prompt
from tests.support.each import each
from tests.support.own_tools import tool_file, write
from tests.support.plugins import add_plugin, loaded, plugin_registry, plugins_of, tool
from tests.support.settings_files import configure
from tests.support.tool_context import call, make_context
from tools.environments.backends import backend_names, forget_backend
from tools.registry import ToolRegistry
from tools.toolsets import get_tool_definitions


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a plugin's loading adds to the environment goes with the test."""
    monkeypatch.setattr(os, "environ", os.environ.copy())
    monkeypatch.delenv("WEATHER_API_KEY", raising=False)


def _names(registry: ToolRegistry) -> list[str]:
    return [entry.name for entry in registry.entries()]


def test_a_plugin_registers_tools_commands_and_hooks(home: Path, registry: ToolRegistry, tmp_path: Path) -> None:
    source = """
        from . import schemas

        def register(ctx):
            ctx.register_tool(name="hello", toolset="hello", schema=schemas.HELLO, handler=hello)
            ctx.register_command("greet", greet, description="Greets", args_hint="whom")
            ctx.register_hook("post_tool_call", lambda tool_name: None)
            ctx.log.info("there is %s", ctx.settings)

        def hello(args, **kw):
            return '{"hello": "you"}'

        def greet(args, cwd):
            return f"Hello {args} in {cwd.name}"
    """
    folder = add_plugin(home / "plugins", "hello-world", source, version="1.2", description="Says hello")
    write(folder / "schemas.py", "HELLO = {'description': 'Greets.', 'parameters': {'type': 'object'}}\n")

    plugins = loaded(home, registry)

    [status] = plugins.statuses
    assert (status.name, status.version, status.state, status.detail) == ("hello-world", "1.2", "loaded", "")
    assert status.offers.told == "tools: hello; commands: /greet; hooks: post_tool_call"
    assert json.loads(call(make_context(tmp_path), "hello").text) == {"hello": "you"}
    assert registry.get("hello").source == "plugin hello-world"  # type: ignore[union-attr]
    assert [d["function"]["name"] for d in get_tool_definitions()] == ["hello"]
    [command] = plugins.commands(tmp_path)
    assert command.run(CommandCall("Ada", "session-1", Path("/srv/app"))) == "Hello Ada in app"
    assert [hook.event for hook in plugins.hooks()] == ["post_tool_call"]


def test_its_tools_may_be_files_too(home: Path, registry: ToolRegistry) -> None:
    write(home / "plugins" / "many" / "plugin.yaml", "name: many\n")
    write(home / "plugins" / "many" / "tools" / "one.py", tool_file("one"))
    write(home / "plugins" / "many" / "tools" / "two.py", tool_file("two"))

    assert loaded(home, registry).problems() == ()
    assert _names(registry) == ["one", "two"]


def test_it_is_told_its_own_settings_and_no_others(home: Path, registry: ToolRegistry) -> None:
    configure(home, {"plugins": {"entries": {"one": {"town": "Bern"}, "two": {"key": "x"}}}})
    add_plugin(home / "plugins", "one", "assert ctx.settings == {'town': 'Bern'} and ctx.api_version == 1")

    assert loaded(home, registry).problems() == ()


def test_a_command_may_be_a_prompt(home: Path, registry: ToolRegistry, tmp_path: Path) -> None:
    add_plugin(home / "plugins", "one", "ctx.register_command('plan', lambda args: ctx.prompt('Plan ' + args))")

    [command] = loaded(home, registry).commands(tmp_path)

    assert command.run(CommandCall("it", "s", tmp_path)) == Prompt("Plan it")


def test_skills_memories_and_engines_are_offered(home: Path, registry: ToolRegistry, tmp_path: Path) -> None:
    source = """
        def register(ctx):
            ctx.register_skills_folder("know")
            ctx.register_memory_provider(object, name="notes")
            ctx.register_context_engine(lambda settings, session_id, clean: None, name="shorter")
    """
    folder = add_plugin(home / "plugins", "rich", source)
    (folder / "know").mkdir()
    try:
        plugins = loaded(home, registry)

        assert plugins.problems() == ()
        assert plugins.skill_folders(tmp_path) == (folder / "know",)
        assert plugins.memories == {"notes": object}
        assert "shorter" in ENGINES
    finally:
        ENGINES.pop("shorter", None)


def test_an_environment_is_there_when_a_session_wants_it(home: Path, registry: ToolRegistry) -> None:
    add_plugin(home / "plugins", "cloud", "ctx.register_environment('cloud', lambda wanted: None)")
    plugins = plugins_of(home, registry)
    registry.add_loader(plugins.load)
    try:
        for name in ("local", "ssh"):
            plugins.load_for_backend(name)
            assert plugins.statuses == (), "that needs no plugin"
        plugins.load_for_backend("cloud")

        assert plugins.problems() == ()
        assert "cloud" in backend_names()
    finally:
        forget_backend("cloud")


def test_the_environment_of_a_plugin_that_fails_is_forgotten(home: Path, registry: ToolRegistry) -> None:
    add_plugin(home / "plugins", "cloud", "ctx.register_environment('cloud', print); 1 / 0")

    assert "ZeroDivisionError" in loaded(home, registry).problems()[0]
    assert "cloud" not in backend_names()


@each(
    "source, told",
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("ctx.register_command('no way', lambda: None)", "a command cannot be called 'no way'"),
        ("ctx.register_skills_folder('gone')", "there is no folder"),
        ("ctx.register_context_engine(lambda *a: None, name='compressor')", "which there is already"),
        ("ctx.register_hook('stop', 3)", "takes a function"),
        ("import no_such_module_x", "pip install no_such_module_x"),
        ("def register():\n    pass", "TypeError"),
        ("async def no(): ...\ndef register(ctx): ctx.register_hook('pre_tool_call', no)", "no async one"),
    ],
)
def test_a_broken_plugin_is_told_and_leaves_nothing_behind(home: Path, source: str, told: str) -> None:
    add_plugin(home / "plugins", "bad", f"{source}" if "def register" in source else f"{tool('half')}; {source}")
    add_plugin(home / "plugins", "good", tool("whole"))
    with plugin_registry() as registry:
        plugins = loaded(home, registry)

        assert [status.state for status in plugins.statuses] == ["failed", "loaded"]
        assert told in plugins.problems()[0]
        assert _names(registry) == ["whole"]


def test_what_a_broken_plugin_had_replaced_is_there_again(home: Path) -> None:
    add_plugin(home / "plugins", "first", tool("shared", "first"))
    replacing = "ctx.register_tool('shared', 'other', {'type': 'object'}, lambda args, **kw: 'second', override=True)"
    hooking = "ctx.add_hook('pre_tool_call', lambda *_: 'no')"
    add_plugin(home / "plugins", "second", f"{replacing}; {hooking}; 1 / 0")
    with plugin_registry() as registry:
        loaded(home, registry)

        entry = registry.get("shared")
        assert entry is not None
        assert entry.source == "plugin first"
        assert registry.hooks("pre_tool_call") == ()


def test_one_that_does_not_come_back_is_not_waited_for_and_can_add_nothing_later(
    home: Path, registry: ToolRegistry
) -> None:
    add_plugin(home / "plugins", "slow", f"import sys; sys.for_plugin_test.wait(); {tool('late')}")
    release = threading.Event()
    sys.for_plugin_test = release  # type: ignore[attr-defined]
    try:
        plugins = loaded(home, registry, seconds=0.1)
        [loader] = [thread for thread in threading.enumerate() if thread.name == "load plugin slow"]
        release.set()
        loader.join(10)

        assert "not done after 0.1 seconds" in plugins.problems()[0]
        assert _names(registry) == []
    finally:
        del sys.for_plugin_test  # type: ignore[attr-defined]


@each(
    "manifest, wanted",
    [
        ({"kind": "platform"}, ("not for this program", "")),
        ({"api": 2}, ("failed", "was written for plugin API 2")),
        ({"requires_env": ["WEATHER_API_KEY"]}, ("failed", "needs WEATHER_API_KEY")),
        ({"requires_env": [{"name": "WEATHER_API_KEY", "secret": True}]}, ("failed", "needs WEATHER_API_KEY")),
    ],
)
def test_what_is_not_for_us_is_not_run(home: Path, manifest: dict[str, object], wanted: tuple[str, str]) -> None:
    add_plugin(home / "plugins", "other", "raise RuntimeError('run')", **manifest)
    with plugin_registry() as registry:
        [status] = loaded(home, registry).statuses

    assert status.state == wanted[0]
    assert wanted[1] in status.detail


@each(
    "settings, states",
    [
        ({}, ["loaded", "loaded"]),
        ({"enabled": ["one"]}, ["loaded", "off"]),
        ({"disabled": ["one"]}, ["off", "loaded"]),
        ({"enabled": []}, ["off", "off"]),
    ],
)
def test_the_settings_say_which_are_loaded(home: Path, settings: dict[str, object], states: list[str]) -> None:
    configure(home, {"plugins": settings})
    for name in ("one", "two"):
        add_plugin(home / "plugins", name, tool(name))
    with plugin_registry() as registry:
        assert [status.state for status in loaded(home, registry).statuses] == states


def test_one_that_was_switched_off_is_off_until_it_is_switched_on(home: Path, registry: ToolRegistry) -> None:
    add_plugin(home / "plugins", "one", tool("one"))
    plugins = plugins_of(home, registry)
    plugins.state.disable("one", off=True)
    plugins.load()

    assert [status.state for status in plugins.statuses] == ["off"]
    plugins.state.disable("one", off=False)
    assert [status.state for status in loaded(home, registry).statuses] == ["loaded"]


def test_a_folder_without_a_manifest_is_none(home: Path, registry: ToolRegistry) -> None:
    write(home / "plugins" / "notes" / "__init__.py", "raise RuntimeError('run')\n")

    assert loaded(home, registry).statuses == ()


@each(
    "files, told",
    [
        ({"plugin.yaml": "name: [broken"}, "plugin.yaml that cannot be read"),
        ({"plugin.yaml": "name: empty"}, "neither __init__.py"),
    ],
)
def test_a_plugin_whose_files_are_wrong_is_told(home: Path, files: dict[str, str], told: str) -> None:
    for name, text in files.items():
        write(home / "plugins" / "broken" / name, text)
    with plugin_registry() as registry:
        assert told in loaded(home, registry).problems()[0]


def test_one_that_others_may_change_is_not_run(home: Path, registry: ToolRegistry, tmp_path: Path) -> None:
    folder = add_plugin(home / "plugins", "open", f"open({str(tmp_path / 'ran')!r}, 'w')")
    write(folder / "helper.py", "").chmod(0o666)

    assert "chmod o-w" in loaded(home, registry).problems()[0]
    assert not (tmp_path / "ran").exists()


def test_a_second_one_of_the_same_name_is_told(home: Path, registry: ToolRegistry) -> None:
    for name in ("one", "two"):
        write(add_plugin(home / "plugins", name, tool(name)) / "plugin.yaml", "name: same\n")

    plugins = loaded(home, registry)

    assert _names(registry) == ["one"]
    assert "has the name of another plugin" in plugins.problems()[0]


def test_what_we_do_not_offer_is_told_and_the_rest_works(home: Path, registry: ToolRegistry) -> None:
    add_plugin(
        home / "plugins",
        "rich",
        f"ctx.register_platform('x'); ctx.register_hook('pre_tool_cal', print); {tool('rich')}",
    )

    plugins = loaded(home, registry)

    assert _names(registry) == ["rich"]
    assert "the hook pre_tool_cal (did you mean pre_tool_call" in plugins.problems()[0]
    assert "register_platform" in plugins.problems()[0]


def test_packages_bring_plugins_by_entry_points(home: Path, registry: ToolRegistry) -> None:
    def register(ctx: object) -> None:
        exec(tool("packaged"), {"ctx": ctx})

    def packages() -> Iterator[tuple[Candidate, str]]:
        yield Candidate(Manifest("a"), "package", "a-plugin", entry=lambda: register), ""
        yield Candidate(Manifest("b"), "package", "b-plugin", entry=lambda: SimpleNamespace(register=register)), ""
        yield Candidate(Manifest("c"), "package", "c-plugin", entry=lambda: 1 / 0), ""

    plugins = loaded(home, registry, packages=packages)

    assert [status.state for status in plugins.statuses] == ["loaded", "failed", "failed"]
    assert "belongs to toolset" in plugins.problems()[0], "the second may not replace the first one's tool"
    assert _names(registry) == ["packaged"]


def test_the_entry_points_of_installed_packages_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "some_plugin.py", "def register(ctx): pass\n")
    info = tmp_path / "some_plugin-2.0.dist-info"
    write(info / "METADATA", "Metadata-Version: 2.1\nName: some-plugin\nVersion: 2.0\n")
    write(info / "entry_points.txt", "[hermes_acp.plugins]\nsome = some_plugin:register\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    [(candidate, why)] = [found for found in in_packages() if found[0].manifest.name == "some"]

    assert why == ""
    assert (candidate.manifest.version, candidate.place) == ("2.0", "some-plugin")
    assert callable(candidate.entry and candidate.entry())
    monkeypatch.delitem(sys.modules, "some_plugin")

    # An older one, without a plugin, that is found first is the one that would be imported.
    older = tmp_path / "first" / "some_plugin-1.0.dist-info"
    write(older / "METADATA", "Metadata-Version: 2.1\nName: some-plugin\nVersion: 1.0\n")
    monkeypatch.syspath_prepend(str(tmp_path / "first"))
    assert [found for found in in_packages() if found[0].manifest.name == "some"] == []
