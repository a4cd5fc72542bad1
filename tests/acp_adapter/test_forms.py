"""Questions as forms, and filled forms as answers."""

from __future__ import annotations

from typing import Any

import pytest
from acp.schema import CreateFormSessionElicitationRequest

from acp_adapter.client_io.elicitation import UnfitValue, WrongForm, as_text, read_form, requested_schema
from tests.support.each import each
from tools.agent_ports import Field, PersonQuestion

EVERY_KIND = PersonQuestion(
    "How shall it be?",
    (
        Field("name", "Name", description="of the package", default="demo"),
        Field("share", "Share", "number"),
        Field("count", "Count", "integer", required=False),
        Field("sure", "Sure", "boolean", default=True),
        Field("one", "One", "choice", choices=("a", "b"), other=False),
        Field("free", "Free", "choice", choices=("a", "b")),
        Field("some", "Some", "choices", choices=("x", "y"), other=False, default=("x",)),
        Field("many", "Many", "choices", choices=("x", "y"), required=False),
    ),
)
FILLED = {"name": "n", "share": 0.5, "count": 3, "sure": False, "one": "a", "free": "b", "some": ["y"], "many": []}


def _filled(**changes: Any) -> dict[str, Any]:
    return {name: value for name, value in {**FILLED, **changes}.items() if value is not ...}


def test_the_schema_is_one_that_the_protocol_knows() -> None:
    schema = requested_schema(EVERY_KIND)
    parsed = CreateFormSessionElicitationRequest.model_validate(
        {"sessionId": "s", "mode": "form", "message": "m", "requestedSchema": schema}
    )
    assert parsed.model_dump(by_alias=True, exclude_none=True)["requestedSchema"] == schema
    assert {name: type(part).__name__ for name, part in (parsed.requested_schema.properties or {}).items()} == {
        "name": "ElicitationStringPropertySchema",
        "share": "ElicitationNumberPropertySchema",
        "count": "ElicitationIntegerPropertySchema",
        "sure": "ElicitationBooleanPropertySchema",
        "one": "ElicitationStringPropertySchema",
        "free": "ElicitationStringPropertySchema",
        "free_other": "ElicitationStringPropertySchema",
        "some": "ElicitationMultiSelectPropertySchema",
        "many": "ElicitationMultiSelectPropertySchema",
        "many_other": "ElicitationStringPropertySchema",
    }
    assert schema["required"] == ["name", "share", "sure", "one", "some"]
    assert schema["properties"]["some"]["minItems"] == 1


def test_a_filled_form_becomes_values_by_name() -> None:
    assert read_form(EVERY_KIND, FILLED) == {
        "name": "n", "share": 0.5, "count": 3, "sure": False, "one": "a", "free": "b", "some": ("y",)
    }  # fmt: skip


@each(
    ("changes", "expected"),
    [
        ({"count": 4.0}, {"count": 4}),
        ({"share": 2}, {"share": 2}),
        ({"free": ..., "free_other": " neither "}, {"free": "neither"}),
        ({"free": "a", "free_other": "neither"}, {"free": "neither"}),
        ({"free_other": "  "}, {"free": "b"}),
        ({"free": " neither of them "}, {"free": "neither of them"}),
        ({"free": "c", "free_other": "neither"}, {"free": "neither"}),
        ({"many": ["x", " w ", "", "w"]}, {"many": ("x", "w")}),
        ({"many": ["w"], "many_other": "z"}, {"many": ("w", "z")}),
        ({"many": ["x"], "many_other": "z"}, {"many": ("x", "z")}),
        ({"many": ..., "many_other": "z"}, {"many": ("z",)}),
        ({"some": ["y", "x", "y"]}, {"some": ("y", "x")}),
        ({"unasked": "is left out"}, {}),
    ],
)
def test_what_means_the_same_is_understood(changes: dict[str, Any], expected: dict[str, Any]) -> None:
    values = read_form(EVERY_KIND, _filled(**changes))
    assert {name: values[name] for name in expected} == expected
    assert "unasked" not in values


@each(
    "changes",
    [
        {"name": ...},
        {"name": " "},
        {"name": 3},
        {"share": "0.5"},
        {"share": float("nan")},
        {"share": True},
        {"count": 3.5},
        {"count": True},
        {"sure": "yes"},
        {"one": "c"},
        {"one": ""},
        {"free": ...},
        {"free": " "},
        {"free": 3},
        {"free": ..., "free_other": ["c"]},
        {"some": []},
        {"some": ["z"]},
        {"some": "x"},
        {"many": [3]},
    ],
)
def test_a_value_that_does_not_fit_is_refused_by_the_fields_name_alone(changes: dict[str, Any]) -> None:
    (field,) = {name.removesuffix("_other") for name in changes}
    with pytest.raises(WrongForm, match=field) as refused:
        read_form(EVERY_KIND, _filled(**changes))
    assert "0.5" not in str(refused.value)


@pytest.mark.parametrize("changes", [{"one": "c"}, {"some": ["x", "z"]}, {"sure": "yes"}, {"free_other": ["c"]}])
def test_a_value_that_no_field_can_hold_is_told_from_one_that_is_missing(changes: dict[str, Any]) -> None:
    with pytest.raises(UnfitValue):
        read_form(EVERY_KIND, _filled(**changes))
    with pytest.raises(WrongForm) as missing:
        read_form(EVERY_KIND, _filled(**dict.fromkeys(changes, ...), name=...))
    assert not isinstance(missing.value, UnfitValue)


@pytest.mark.parametrize("content", [None, {}, [], "text"])
def test_an_empty_form_is_no_answer_to_what_is_required(content: object) -> None:
    with pytest.raises(WrongForm):
        read_form(EVERY_KIND, content)


def test_as_text_the_choices_are_numbered() -> None:
    one = PersonQuestion("Which?", (Field("answer", "Your answer", "choice", choices=("a", "b")),))
    assert as_text(one) == "Which?\n\n1. a\n2. b"
    assert "**Name**: of the package" in as_text(EVERY_KIND)
