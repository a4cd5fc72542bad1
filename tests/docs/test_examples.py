"""The programs on pages, as they stand there: what they show is there, and does what the page says."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from agent_core.config import load as load_settings
from agent_core.home import Home
from agent_core.memory.provider import MemoryProvider
from agent_core.messages import Message
from agent_core.providers import catalog
from agent_core.providers.base import ModelRequest, TextDelta
from agent_core.providers.choice import ModelChoice
from agent_core.providers.http_provider import HttpProvider
from agent_core.providers.resolve import resolve_model
from tests.support.doc_blocks import DOCS, blocks, file_on
from tests.support.own_tools import load, own_registry, write
from tests.support.raw_server import RawServer, event_stream
from tests.support.settings_files import configure
from tests.support.tool_context import call, make_context, payload
from tools import dispatch as dispatch_module
from tools import registry as toolbox_module
from tools import toolsets as toolsets_module
from tools.environments.backends import backend_names, forget_backend
from tools.registry import ToolRegistry


@pytest.fixture
def registry() -> Iterator[ToolRegistry]:
    with own_registry(dispatch_module, toolbox_module, toolsets_module) as registry:
        yield registry


def _python(page: str) -> list[str]:
    return [block.code for block in blocks(page) if block.language == "python"]


def _names(source: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "example"}
    exec(compile(source, "example", "exec", dont_inherit=True), names)
    return names


def _module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tool_of_the_page_is_registered_and_passes_its_own_tests(tmp_path: Path, registry: ToolRegistry) -> None:
    _module(write(tmp_path / "count_lines.py", file_on("adding-a-tool.md", "tools/count_lines.py")))
    assert [entry.name for entry in registry.entries()] == ["count_lines"]

    tests = _module(write(tmp_path / "test_it.py", file_on("adding-a-tool.md", "tests/tools/test_count_lines.py")))
    cases = {name: case for name, case in vars(tests).items() if name.startswith("test_")}
    assert len(cases) == 3
    for number, case in enumerate(cases.values()):
        folder = tmp_path / str(number)
        folder.mkdir()
        case(folder)


def test_the_service_of_the_page_is_chosen_by_its_name(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    service = _names(_python("adding-a-provider.md")[0])["EXAMPLE"]
    monkeypatch.setitem(catalog.SERVICES, service.name, service)  # type: ignore[arg-type]
    monkeypatch.setenv("EXAMPLE_API_KEY", "a-key")
    configure(home, {"model": {"provider": "example", "default": "maker/model"}})

    choice = resolve_model(load_settings(Home(home)))

    assert (choice.base_url, choice.model, choice.api_key) == ("https://api.example.com/v1", "maker/model", "a-key")
    assert (choice.api_mode, choice.dialect.stream_usage) == ("chat_completions", False)


def test_the_protocol_of_the_page_reads_an_answer() -> None:
    protocol = _names(_python("adding-a-provider.md")[1])["WORDS"]
    server = RawServer(event_stream(b"data: Good\n\n", b"data: morning.\n\n", b"data: [END]\n\n"))
    provider = HttpProvider(ModelChoice("example", "m", "chat_completions", server.origin, "a-key"), protocol)
    try:
        asked: list[Message] = [{"role": "user", "content": "Greet me."}]
        events = list(provider.stream(ModelRequest("m", asked)))
    finally:
        provider.close()
        server.close()

    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "Good morning. "
    assert server.requests[0].line.startswith("POST /ask ")
    assert server.requests[0].body == {"model": "m", "question": "Greet me."}


def test_the_tool_of_one_s_own_works_from_the_home(
    home: Path, tmp_path: Path, registry: ToolRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "environ", os.environ.copy())
    [source] = _python("tools/own-tools.md")
    write(home / "tools" / "weather.py", source)

    own = load(home, registry, variables=lambda: {"WEATHER_API_KEY": "k"})

    assert own.problems == ()
    assert payload(call(make_context(tmp_path), "weather", place="Bern")) == {"place": "Bern", "sky": "blue"}


def test_the_program_that_calls_tools_mends_every_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.py").write_text("old_name = 1\n")
    (tmp_path / "b.py").write_text("print(old_name)\n")
    context = make_context(tmp_path)

    def tool(name: str) -> Any:
        return lambda *first, **args: payload(
            call(context, name, **dict(zip(("pattern",), first, strict=False)), **args)
        )

    given = ModuleType("hermes_tools")
    vars(given).update(
        patch=tool("patch"),
        search_files=lambda pattern, file_glob: {"matches": [{"path": "a.py"}, {"path": "b.py"}]},
        terminal=lambda command: {"output": f"{command}: 2 passed"},
    )
    monkeypatch.setitem(sys.modules, "hermes_tools", given)
    [program] = _python("execute-code.md")
    for name in ("a.py", "b.py"):
        call(context, "read_file", path=name)

    _names(program)

    assert (tmp_path / "a.py").read_text() + (tmp_path / "b.py").read_text() == "new_name = 1\nprint(new_name)\n"
    assert capsys.readouterr().out == "python -m pytest -q: 2 passed\n"


def test_the_memory_of_the_page_is_registered_by_what_the_port_asks_for() -> None:
    [source] = _python("memory.md")
    made: list[object] = []

    class Context:
        register_memory_provider = staticmethod(made.append)

    names = _names(source)
    names["Notebook"] = object()
    names["register"](Context)

    assert made == [names["Notebook"]]
    text = (DOCS / "memory.md").read_text(encoding="utf-8")
    methods = {name for name in vars(MemoryProvider) if not name.startswith("_")}
    assert {name for name in methods if f"`{name}" not in text} == set()


def test_the_backend_of_the_page_is_one_that_can_be_chosen() -> None:
    [source] = _python("environments.md")
    try:
        _names(source)
        assert "mine" in backend_names()
    finally:
        forget_backend("mine")
