"""What the port of files says about its writes reaches model and person, whatever the tool."""

import json
from dataclasses import replace

import pytest

from tests.support.tool_context import make_context, value_of
from tools.dispatch import dispatch
from tools.environments.local_files import LocalFileSystem
from tools.errors import ToolError
from tools.result import ShownText, ok

SAID = "Written on disk. And so was that."


@pytest.fixture
def call(shared_registry, tmp_path):
    """Calls a handler whose context's files have something to say."""

    class Remarking(LocalFileSystem):
        def remarks(self):
            return ("Written on disk.", "And so was that.")

    def call(handler):
        schema = {"type": "object", "properties": {}}
        shared_registry.register(name="demo", toolset="demo", schema=schema, handler=handler)
        return dispatch("demo", {}, replace(make_context(tmp_path), fs=Remarking()))

    return call


def test_beside_what_the_tool_shows(call):
    result = call(lambda args, **kw: ok({"a": 1}, ShownText("shown")))
    assert json.loads(result.text) == {"a": 1, "note": SAID}
    assert result.shown == (ShownText("shown"), ShownText(SAID))


def test_after_a_note_of_the_tool_itself(call):
    result = call(lambda args, **kw: ok({"note": "Kept."}))
    assert json.loads(result.text) == {"note": f"Kept. {SAID}"}
    assert result.shown == ()


def test_in_an_error(call):
    def fail(args, **kw):
        raise ToolError("Only half of it worked.")

    result = call(fail)
    assert (result.text, result.failed) == (f"Error: Only half of it worked.\n\n{SAID}", True)
    assert value_of(result) == {"error": f"Only half of it worked. {SAID}"}


@pytest.mark.parametrize("text", ["plain", "[1]", "{broken"])
def test_below_other_text(call, text):
    assert call(lambda args, **kw: text).text == f"{text}\n\n{SAID}"
