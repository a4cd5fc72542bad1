"""Arguments before a tool gets them: what is clear is put right, the rest is an error that names it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.each import each
from tools.arguments import Checked, checked
from tools.registry import Parallel, ToolEntry


def _check(
    arguments: dict[str, Any],
    properties: dict[str, Any] | None = None,
    required: tuple[str, ...] = (),
    toolset: str = "demo",
    source: str = "",
    parallel: Parallel = "never",
    **more: Any,
) -> Checked:
    schema = {"type": "object", "properties": properties or {}, "required": list(required), **more}
    entry = ToolEntry("demo", toolset, schema, lambda args, **kw: "{}", "", source=source, parallel=parallel)
    return checked(entry, arguments)


def _one(value: Any, schema: dict[str, Any], toolset: str = "demo") -> Any:
    found = _check({"a": value}, {"a": schema}, toolset=toolset)
    assert not found.problem, found.problem
    return found.arguments.get("a", "absent")


INTEGER, NUMBER, BOOLEAN, STRING = ({"type": kind} for kind in ("integer", "number", "boolean", "string"))
STRINGS = {"type": "array", "items": STRING}
ITEM = {"type": "object", "properties": {"n": INTEGER, "text": STRING}, "required": ["n"]}
MODE = {"type": "string", "enum": ["replace", "patch"]}


@each(
    ("value", "schema", "expected"),
    [
        ("5", INTEGER, 5),
        (" 5 ", INTEGER, 5),
        ("-5", INTEGER, -5),
        ("5.0", INTEGER, 5),
        (5.0, INTEGER, 5),
        (5, INTEGER, 5),
        ("2.5", NUMBER, 2.5),
        ("2", NUMBER, 2),
        (2, NUMBER, 2),
        ("true", BOOLEAN, True),
        ("False", BOOLEAN, False),
        (1, BOOLEAN, True),
        (0, BOOLEAN, False),
        (5, STRING, "5"),
        ("5", STRING, "5"),
        ("[1]", STRING, "[1]"),
        ("null", STRING, "null"),
        ('["a", "b"]', STRINGS, ["a", "b"]),
        ("a", STRINGS, ["a"]),
        ("", STRINGS, "absent"),
        ([1, "b"], STRINGS, ["1", "b"]),
        ('{"n": "1"}', ITEM, {"n": 1}),
        ({"n": "1", "text": None}, ITEM, {"n": 1}),
        ({"n": 1, "more": None}, ITEM, {"n": 1, "more": None}),
        ('[{"n": "1"}]', {"type": "array", "items": ITEM}, [{"n": 1}]),
        ({"n": "1"}, {"type": "array", "items": ITEM}, [{"n": 1}]),
        ('{"n": "1"}', {"type": "array", "items": ITEM}, [{"n": 1}]),
        ("PATCH", MODE, "patch"),
        ("", MODE, "absent"),
        ("", INTEGER, "absent"),
        ("", STRING, ""),
        (None, STRING, "absent"),
        ("3", {"type": ["integer", "null"]}, 3),
        (None, {"type": ["integer", "null"]}, None),
        ("3", {"anyOf": [INTEGER, {"type": "null"}]}, 3),
        (None, {"anyOf": [INTEGER, {"type": "null"}]}, None),
        (None, {"anyOf": [INTEGER, STRING]}, "absent"),
        ("2", {"enum": [1, 2]}, 2),
    ],
)
def test_what_is_clear_is_put_right(value: Any, schema: dict[str, Any], expected: Any) -> None:
    fitted = _one(value, schema)

    assert fitted == expected
    assert type(fitted) is type(expected)


@each(
    "schema",
    [
        {"$ref": "#/$defs/x"},
        {"anyOf": [INTEGER, BOOLEAN]},
        {"oneOf": [INTEGER, STRINGS]},
        {"allOf": [INTEGER]},
        {"type": "integer", "not": {"const": 5}},
        {},
        {"type": "decimal"},
        {"properties": {}},
    ],
)
def test_where_a_schema_says_more_than_is_read_nothing_is_changed(schema: dict[str, Any]) -> None:
    assert _one("5", schema) == "5"


@each(
    ("value", "schema", "told"),
    [
        ("soon", INTEGER, "The argument 'a' has to be a whole number, not 'soon'."),
        (2.5, INTEGER, "a whole number, not 2.5"),
        (True, INTEGER, "a whole number, not True"),
        ("nan", NUMBER, "a number, not 'nan'"),
        ("9" * 5000, INTEGER, "a whole number"),
        ("maybe", BOOLEAN, "true or false, not 'maybe'"),
        ({"x": 1}, STRING, "a string, not an object"),
        (True, STRING, "a string, not True"),
        (["a"], STRING, "a string, not ['a']"),
        ({"x": 1}, STRINGS, "a list"),
        ("[a", STRINGS, "a list, not '[a'"),
        ("words", ITEM, "an object, not 'words'"),
        ([{"n": "x"}], {"type": "array", "items": ITEM}, "'a[0].n' has to be a whole number, not 'x'"),
        ({"text": "x"}, ITEM, "an object with 'n'"),
        ("delete", MODE, "one of replace, patch, not 'delete'"),
    ],
)
def test_what_is_not_clear_is_an_error_that_says_what_is_due(value: Any, schema: dict[str, Any], told: str) -> None:
    assert told in _check({"a": value}, {"a": schema}).problem


def test_several_wrong_arguments_are_told_at_once() -> None:
    problem = _check({"a": "x", "b": "y"}, {"a": INTEGER, "b": BOOLEAN}).problem

    assert "'a'" in problem
    assert "'b'" in problem


class TestMissing:
    def test_it_is_named_with_what_is_due(self) -> None:
        path = {"type": "string", "description": "A file."}

        assert _check({}, {"path": path}, ("path",)).problem == (
            "demo: The argument 'path' is missing; it has to be a string - A file."
        )

    def test_null_is_missing_too(self) -> None:
        assert "'path' is missing" in _check({"path": None}, {"path": STRING}, ("path",)).problem

    @pytest.mark.parametrize("sent", ["file_path", "paths"])
    def test_a_name_that_comes_near_is_asked_about(self, sent: str) -> None:
        problem = _check({sent: "a.py"}, {"path": STRING, "limit": INTEGER}, ("path",)).problem

        assert f"Is {sent!r} meant to be 'path'?" in problem

    def test_a_name_that_does_not_come_near_is_only_told(self) -> None:
        problem = _check({"zzz": 1}, {"path": STRING}, ("path",)).problem

        assert "It got 'zzz', which it does not know." in problem
        assert "meant" not in problem


class TestUnknown:
    def test_a_tool_that_changes_nothing_ignores_it_with_a_note(self) -> None:
        found = _check({"path": "a", "limt": 3}, {"path": STRING, "limit": INTEGER}, ("path",), parallel="safe")

        assert not found.problem
        assert found.note == "demo has no argument 'limt' (did you mean 'limit'?)"

    def test_any_other_tool_does_nothing(self) -> None:
        found = _check({"path": "a", "limt": 3}, {"path": STRING, "limit": INTEGER}, ("path",))

        assert found.problem == (
            "demo has no argument 'limt' (did you mean 'limit'?). It takes: path, limit. Nothing was done."
        )

    def test_what_asks_for_nothing_is_passed_over(self) -> None:
        assert _check({"x": None, "y": "", "explanation": "To see."}) == Checked({})

    def test_a_name_in_another_case_is_the_same(self) -> None:
        assert _check({"Path": "a", "max-Lines": 3}, {"path": STRING, "max_lines": INTEGER}).arguments == {
            "path": "a",
            "max_lines": 3,
        }

    def test_a_schema_that_takes_others_has_no_note(self) -> None:
        assert _check({"x": 1}, additionalProperties=True).note == ""

    @pytest.mark.parametrize("whose", [{"source": "tools/x.py"}, {"toolset": "mcp-x"}])
    def test_whether_a_guest_s_tool_uses_it_is_not_known(self, whose: dict[str, str]) -> None:
        found = _check({"x": 1}, **whose)  # type: ignore[arg-type]

        assert (found.arguments, found.note) == ({"x": 1}, "")


class TestServers:
    """Tools of MCP servers: the server judges."""

    def test_what_is_certain_is_put_right(self) -> None:
        assert _one("5", INTEGER, "mcp-x") == 5

    @pytest.mark.parametrize(("value", "schema"), [("x", INTEGER), ("other", MODE), ("", INTEGER)])
    def test_what_does_not_fit_is_passed_on(self, value: Any, schema: dict[str, Any]) -> None:
        assert _one(value, schema, "mcp-x") == value

    def test_null_for_something_required_is_passed_on(self) -> None:
        found = _check({"a": None}, {"a": STRING}, ("a",), toolset="mcp-x")

        assert (found.problem, found.arguments) == ("", {"a": None})


@pytest.mark.parametrize("schema", [{"type": "object"}, {"type": "object", "properties": None, "required": None}])
def test_a_schema_without_properties_takes_anything(schema: dict[str, Any]) -> None:
    entry = ToolEntry("demo", "mcp-x", schema, lambda args, **kw: "{}", "")

    assert checked(entry, {"a": 1}).arguments == {"a": 1}


@pytest.mark.parametrize(
    "broken",
    [{"properties": ["a"]}, {"required": 5}, {"properties": {"a": {"anyOf": 5}}}, {"properties": {"a": {"enum": 5}}}],
)
def test_a_schema_that_is_none_changes_nothing(broken: dict[str, Any]) -> None:
    entry = ToolEntry("demo", "mcp-x", {"type": "object", **broken}, lambda args, **kw: "{}", "")

    assert checked(entry, {"a": "5"}) == Checked({"a": "5"})
