"""The registry: who may register what, what is available, and how tool files are found."""

import logging
import sys
import textwrap
import threading
import time

import pytest

from tools.registry import RegistrationError, ToolRegistry, registered_by, tool_error, tool_result
from tools.registry import registry as the_registry
from tools.toolsets import discover

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


def _handler(args, **kw):
    return "{}"


@pytest.fixture
def registry():
    return ToolRegistry()


def _register(registry, name="echo", toolset="demo", **extra):
    registry.register(name=name, toolset=toolset, schema=SCHEMA, handler=_handler, **extra)
    return registry.get(name)


class TestRegistering:
    def test_a_registered_tool_is_found_by_name_and_by_toolset(self, registry):
        entry = _register(registry, description="Says it again.", emoji="🔁", parallel="safe")

        assert registry.entries() == [entry]
        assert registry.get("missing") is None
        assert (entry.parallel, entry.emoji, entry.is_async) == ("safe", "🔁", False)

    def test_tools_are_listed_by_name_whatever_the_order_of_registration(self, registry):
        for name in ("b", "c", "a"):
            _register(registry, name)

        assert [entry.name for entry in registry.entries()] == ["a", "b", "c"]

    def test_another_toolset_cannot_shadow_a_tool(self, registry):
        entry = _register(registry)

        with pytest.raises(RegistrationError, match=r"'echo' belongs to toolset 'demo'.*'plugin'"):
            _register(registry, toolset="plugin")

        assert registry.get("echo") is entry

    def test_another_toolset_may_replace_a_tool_when_it_says_so(self, registry):
        _register(registry)

        assert _register(registry, toolset="plugin", override=True).toolset == "plugin"

    def test_the_same_toolset_may_register_again(self, registry):
        _register(registry, description="old")

        assert _register(registry, description="new").description == "new"

    def test_but_not_somebody_else_in_its_name(self, registry):
        entry = _register(registry)

        with registered_by("tools/mine.py"), pytest.raises(RegistrationError, match="override=True"):
            _register(registry)

        assert registry.get("echo") is entry

    def test_a_server_s_tool_may_replace_another_server_s(self, registry):
        _register(registry, toolset="mcp-one")

        assert _register(registry, toolset="mcp-two").toolset == "mcp-two"

    def test_but_none_of_ours(self, registry):
        _register(registry)

        with pytest.raises(RegistrationError, match="'mcp-one' may not replace it"):
            _register(registry, toolset="mcp-one")

    def test_a_tool_that_was_taken_back_is_gone(self, registry):
        _register(registry)

        registry.unregister("echo")
        registry.unregister("echo")

        assert registry.entries() == []

    def test_whose_tool_it_is_is_known(self, registry):
        with registered_by("plugin x"):
            theirs = _register(registry, "theirs")

        assert (theirs.source, _register(registry).source) == ("plugin x", "")

    @pytest.mark.parametrize("schema", [{}, {"type": "string"}, {"parameters": {}}, {"parameters": []}])
    def test_a_schema_that_is_not_an_object_s_is_refused(self, registry, schema):
        with pytest.raises(RegistrationError, match="'bad'"):
            registry.register(name="bad", toolset="demo", schema=schema, handler=_handler)

    def test_a_whole_function_definition_serves_as_schema(self, registry):
        whole = {"name": "echo", "description": "Says it again.", "parameters": SCHEMA}

        registry.register(name="echo", toolset="demo", schema=whole, handler=_handler)

        assert registry.get("echo").schema == SCHEMA
        assert registry.get("echo").description == "Says it again."

    def test_many_threads_may_register_at_once(self, registry):
        threads = [threading.Thread(target=_register, args=(registry, f"tool-{number}")) for number in range(50)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert len(registry.entries()) == 50


class TestAvailability:
    def test_without_conditions_a_tool_is_available(self, registry):
        assert _register(registry).available()

    @pytest.mark.parametrize("answer", [True, False])
    def test_the_check_decides(self, registry, answer):
        assert _register(registry, check_fn=lambda: answer).available() is answer

    def test_a_check_that_fails_means_no(self, registry, caplog):
        def broken():
            raise OSError("no device")

        with caplog.at_level(logging.WARNING):
            assert not _register(registry, check_fn=broken).available()
        assert "echo" in caplog.text

    def test_every_required_variable_must_be_set(self, registry, monkeypatch):
        entry = _register(registry, requires_env=["DEMO_ONE", "DEMO_TWO"])
        monkeypatch.setenv("DEMO_ONE", "1")
        monkeypatch.delenv("DEMO_TWO", raising=False)
        assert not entry.available()

        monkeypatch.setenv("DEMO_TWO", "")
        assert not entry.available()

        monkeypatch.setenv("DEMO_TWO", "2")
        assert entry.available()

    def test_the_check_is_spared_when_a_variable_is_missing(self, registry, monkeypatch):
        monkeypatch.delenv("DEMO_ONE", raising=False)
        calls = []

        assert not _register(registry, requires_env=["DEMO_ONE"], check_fn=lambda: calls.append(1)).available()
        assert calls == []

    def test_what_the_check_said_counts_for_half_a_minute(self, registry, monkeypatch):
        now, answers = [100.0], [True, False]
        monkeypatch.setattr(time, "monotonic", lambda: now[0])
        entry = _register(registry, check_fn=lambda: answers.pop(0))

        assert entry.available()
        now[0] += 29.9
        assert entry.available()
        now[0] += 0.2
        assert not entry.available()

    def test_tools_that_share_a_check_share_its_answer(self, registry):
        calls = []

        def check():
            calls.append(1)
            return True

        entries = [_register(registry, name, check_fn=check) for name in ("a", "b")]

        assert all(entry.available() for entry in entries)
        assert calls == [1]

    def test_a_check_that_failed_is_told_once(self, registry, caplog):
        entry = _register(registry, check_fn=lambda: 1 / 0)

        assert not entry.available()
        caplog.clear()
        assert not entry.available()
        assert caplog.text == ""


class TestLoaders:
    def test_a_loader_is_called_once_when_tools_are_wanted(self, registry):
        calls = []
        registry.add_loader(lambda: calls.append(1))
        assert calls == []

        registry.load()
        registry.load()

        assert calls == [1]

    def test_who_comes_meanwhile_waits(self, registry):
        begun, go_on, order = threading.Event(), threading.Event(), []

        def slow():
            begun.set()
            assert go_on.wait(10)
            order.append("loaded")

        def second():
            registry.load()
            order.append("second")

        registry.add_loader(slow)
        first = threading.Thread(target=registry.load)
        first.start()
        assert begun.wait(10)
        other = threading.Thread(target=second)
        other.start()
        go_on.set()
        for thread in (first, other):
            thread.join(10)

        assert order == ["loaded", "second"]

    def test_a_loader_may_ask_for_tools_itself(self, registry):
        registry.add_loader(registry.load)
        registry.load()


class TestAnswers:
    def test_handlers_have_words_for_success_and_failure(self):
        assert tool_result(text="ü") == '{"text": "ü"}'
        assert tool_result([1, {2}]) == '[1, "{2}"]'
        assert tool_error(ValueError("no"), line=3) == '{"error": "no", "line": 3}'


class TestDefinition:
    def test_models_are_told_name_description_and_parameters(self, registry):
        assert _register(registry, description="Says it again.").definition() == {
            "type": "function",
            "function": {"name": "echo", "description": "Says it again.", "parameters": SCHEMA},
        }

    def test_overrides_are_asked_each_time_and_leave_the_schema_alone(self, registry):
        answers = iter([{"required": []}, {"required": ["text", "more"]}])
        entry = _register(registry, dynamic_schema_overrides=lambda: next(answers))

        required = [entry.definition()["function"]["parameters"]["required"] for _ in range(2)]

        assert required == [[], ["text", "more"]]
        assert entry.schema == SCHEMA

    def test_overrides_may_be_those_of_a_function(self, registry):
        override = {"description": "Now.", "parameters": {"required": []}}
        entry = _register(registry, description="Then.", dynamic_schema_overrides=lambda: override)

        function = entry.definition()["function"]

        assert function["description"] == "Now."
        assert function["parameters"] == {**SCHEMA, "required": []}

    def test_overrides_that_fail_leave_the_plain_schema(self, registry, caplog):
        def broken():
            raise RuntimeError("not now")

        entry = _register(registry, dynamic_schema_overrides=broken)

        with caplog.at_level(logging.WARNING):
            assert entry.definition()["function"]["parameters"] == SCHEMA
        assert "echo" in caplog.text


@pytest.fixture
def package(shared_registry, tmp_path, monkeypatch):
    """A package of tool files; what its modules register is gone after the test."""
    monkeypatch.syspath_prepend(str(tmp_path))
    folder = tmp_path / "demo_tools"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] == "demo_tools"]:
        del sys.modules[name]


def _tool_file(name, before="", after=""):
    return textwrap.dedent(
        """
        from tools.registry import registry
        {before}
        registry.register(
            name={name!r}, toolset="demo", schema={{"type": "object"}}, handler=lambda args, **kw: "{{}}"
        )
        {after}
        """
    ).format(name=name, before=before, after=after)


def _discover(package):
    failures = discover("demo_tools", package)
    return [entry.name for entry in the_registry.entries() if entry.toolset == "demo"], failures


class TestDiscovery:
    def test_every_file_that_registers_at_its_top_level_is_imported(self, package):
        (package / "one.py").write_text(_tool_file("one"))
        (package / "two.py").write_text(_tool_file("two"))

        assert _discover(package) == (["one", "two"], {})

    @pytest.mark.parametrize(
        "source",
        [
            "raise RuntimeError('imported')\n",
            "def later():\n    registry.register(name='x')\nraise RuntimeError('imported')\n",
            "TEXT = 'registry.register('\nraise RuntimeError('imported')\n",
            "# registry.register(\nraise RuntimeError('imported')\n",
            "other.registry.register(1)\nraise RuntimeError('imported')\n",
        ],
    )
    def test_a_file_that_registers_nothing_is_not_imported(self, package, source):
        (package / "helper.py").write_text(source)

        assert _discover(package) == ([], {})

    @pytest.mark.parametrize(
        ("broken", "error"),
        [
            (_tool_file("bad", before="import no_such_module_anywhere"), "ModuleNotFoundError"),
            (_tool_file("bad", before="1 / 0"), "ZeroDivisionError"),
            (_tool_file("bad", before="raise SystemExit(3)"), "SystemExit"),
            (_tool_file("bad", before="def ("), "SyntaxError"),
            (_tool_file("bad").replace('"object"', '"array"'), "RegistrationError"),
        ],
    )
    def test_a_broken_file_is_reported_and_does_not_stop_the_others(self, package, broken, error, caplog):
        (package / "a_good.py").write_text(_tool_file("a_good"))
        (package / "broken.py").write_text(broken)
        (package / "z_good.py").write_text(_tool_file("z_good"))

        names, failures = _discover(package)

        assert names == ["a_good", "z_good"]
        assert {module: type(problem).__name__ for module, problem in failures.items()} == {
            "demo_tools.broken": error
        }
        assert "demo_tools.broken" in caplog.text

    def test_a_file_that_is_no_text_is_passed_over(self, package, caplog):
        (package / "binary.py").write_bytes(b"registry.register(\xff\xfe")
        (package / "good.py").write_text(_tool_file("good"))

        assert _discover(package)[0] == ["good"]
        assert "binary.py" in caplog.text

    def test_a_file_with_null_characters_does_not_stop_the_others(self, package):
        (package / "nulls.py").write_text("registry.register(\0)")
        (package / "good.py").write_text(_tool_file("good"))

        names, failures = _discover(package)

        assert names == ["good"]
        assert list(failures) == ["demo_tools.nulls"]

    def test_what_a_file_does_after_registering_may_fail_and_the_tool_stays(self, package):
        (package / "late.py").write_text(_tool_file("late", after="1 / 0"))

        names, failures = _discover(package)

        assert names == ["late"]
        assert list(failures) == ["demo_tools.late"]
