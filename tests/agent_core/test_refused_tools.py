"""A tool whose schema the model's server refuses is left out and named; no prompt ends by it."""

from __future__ import annotations

import json

import pytest

from agent_core.cancel import CancelToken
from agent_core.errors import ModelFailed, ProviderStatusError
from agent_core.providers.errors import classify
from tests.support.agents import Ears
from tests.support.choices import choice_for
from tests.support.each import each
from tests.support.model_server import ModelServer, Reply, Status
from tests.support.wire_agents import PROTOCOLS, wired

BAD = "mcp__shop__order"
NAMES = ("mcp__shop__list", BAD, "mcp__shop__pay", "mcp__wiki__read", "mcp__wiki__write")


def sent_tools(request):
    """The names of the tools that a request was sent with."""
    return [tool.get("function", tool)["name"] for tool in request.body.get("tools", ())]


def error(message, status=400, **more):
    return Status(status, {"error": {"message": message, "type": "invalid_request_error"} | more})


def by_name(request, name):
    return error(
        f"Invalid schema for function '{name}': In context=('properties', 'a'), array schema missing items.",
        param=f"tools[{sent_tools(request).index(name)}].function.parameters",
        code="invalid_function_parameters",
    )


def by_place(request, name):
    place = sent_tools(request).index(name)
    return error(
        f"tools.{place}.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12."
    )


def as_google(request, name):
    place = sent_tools(request).index(name)
    return error(
        f"* GenerateContentRequest.tools[0].function_declarations[{place}].parameters.properties[labels].items: "
        "missing field.\n"
    )


def without_a_name(request, name):
    return error("Failed to initialize samplers: failed to parse grammar")


def without_a_reason(request, name):
    return error("Param Incorrect")


def refusing(words, *bad):
    """Refuses each request that has one of these tools, in such words."""

    def answer(request):
        sent = [name for name in bad if name in sent_tools(request)]
        return words(request, sent[0]) if sent else Reply("done")

    return answer


@pytest.fixture
def mcp_tools(add_tool):
    for name in NAMES:
        add_tool(name, lambda args, **kw: "{}")


def told(ears):
    return [status.text for status in ears.of("status")]


@pytest.mark.parametrize("mode", PROTOCOLS)
@pytest.mark.parametrize("words", [by_name, by_place, as_google, without_a_name])
@pytest.mark.usefixtures("mcp_tools")
def test_a_tool_whose_schema_is_refused_is_left_out_and_named(over, mode, words):
    with ModelServer(default=refusing(words, BAD)) as server:
        ears, agent = Ears(), over(wired(server.base_url, mode))
        assert agent.run_conversation("go", callbacks=ears.callbacks())["final_response"] == "done"
        last = sent_tools(server.requests[-1])
        assert {*NAMES} - {*last} == {BAD}
        assert f"Trying again without the tool {BAD}." in " ".join(told(ears))
        assert told(ears)[-1] == (
            f"Learned of custom:test-model: it refuses the schema of the tool {BAD}, left out from now on. "
            "/status shows it, and can forget it."
        )
        asked, before = len(server.requests), len(told(ears))
        assert agent.run_conversation("again", callbacks=ears.callbacks())["final_response"] == "done"
        assert len(server.requests) == asked + 1
        assert len(told(ears)) == before


@pytest.mark.usefixtures("mcp_tools")
def test_a_refusal_that_names_the_tool_costs_one_request(over):
    with ModelServer(default=refusing(by_name, BAD)) as server:
        over(wired(server.base_url)).chat("go")
        assert len(server.requests) == 2


@pytest.mark.parametrize("words", [by_name, by_place, without_a_name, without_a_reason])
@pytest.mark.usefixtures("mcp_tools")
def test_several_tools_whose_schemas_are_refused_are_all_found(over, words):
    bad = ("mcp__shop__list", "mcp__wiki__read", "mcp__wiki__write")
    with ModelServer(default=refusing(words, *bad)) as server:
        assert over(wired(server.base_url)).chat("go") == "done"
        assert {*NAMES} - {*sent_tools(server.requests[-1])} == {*bad}


@pytest.mark.usefixtures("mcp_tools")
def test_a_refusal_without_a_reason_is_traced_to_the_tool_of_a_server(over):
    with ModelServer(default=refusing(without_a_reason, BAD)) as server:
        assert over(wired(server.base_url)).chat("go") == "done"
        assert {*NAMES} - {*sent_tools(server.requests[-1])} == {BAD}
        assert "terminal" in sent_tools(server.requests[-1])


@pytest.mark.usefixtures("mcp_tools")
def test_a_tool_of_our_own_is_found_as_well(over):
    with ModelServer(default=refusing(without_a_name, "terminal")) as server:
        assert over(wired(server.base_url)).chat("go") == "done"
        last = sent_tools(server.requests[-1])
        assert "terminal" not in last
        assert {*NAMES} <= {*last}


@pytest.mark.usefixtures("mcp_tools")
def test_what_is_not_about_tools_is_told_as_it_was_and_nothing_is_left_out(over):
    for words in ("failed to parse grammar", "Param Incorrect"):
        with ModelServer(default=error(words)) as server:
            with pytest.raises(ModelFailed, match=words):
                over(wired(server.base_url)).chat("go")
            assert {*NAMES} <= {*sent_tools(server.requests[0])}
            assert len(server.requests) < 8


@pytest.mark.usefixtures("mcp_tools")
def test_a_server_that_takes_no_tools_and_does_not_say_so_is_not_asked_about_each(over):
    with ModelServer(
        default=lambda request: error("Param Incorrect") if sent_tools(request) else Reply("ok")
    ) as server:
        with pytest.raises(ModelFailed, match="Param Incorrect"):
            over(wired(server.base_url)).chat("go")
        assert all("terminal" in sent_tools(request) for request in server.requests if sent_tools(request))


@pytest.mark.usefixtures("mcp_tools")
def test_a_search_that_another_failure_ends_tells_the_first(over):
    answers = iter([error("failed to parse grammar"), Reply("ok"), Status(401)])
    with ModelServer(default=lambda _: next(answers)) as server:
        with pytest.raises(ModelFailed, match="cannot work with the schema of a tool"):
            over(wired(server.base_url)).chat("go")
        assert len(server.requests) == 3


def test_the_search_among_very_many_refused_tools_asks_a_bounded_number_of_questions(over, add_tool):
    names = [f"mcp__shop__tool_{number}" for number in range(100)]
    for name in names:
        add_tool(name, lambda args, **kw: "{}")
    with ModelServer(default=refusing(without_a_name, *names[::2])) as server:
        assert over(wired(server.base_url)).chat("go") == "done"
        left = {*sent_tools(server.requests[-1])}
        assert not {*names[::2]} & left
        assert "terminal" in left
        assert len(server.requests) < 50


@pytest.mark.usefixtures("mcp_tools")
def test_a_cancel_ends_the_search(over):
    token = CancelToken()

    def answer(request):
        if "terminal" in sent_tools(request):
            return error("failed to parse grammar")
        token.cancel()
        return Reply("ok")

    with ModelServer(default=answer) as server:
        result = over(wired(server.base_url)).run_conversation("go", token=token)
        assert result["stop_reason"] == "cancelled"
        assert len(server.requests) == 2


def test_a_tool_whose_schema_has_changed_is_tried_again(over, add_tool):
    def answer(request):
        is_old = '"old"' in json.dumps(request.body.get("tools"))
        return by_name(request, BAD) if is_old else Reply("done")

    with ModelServer(default=answer) as server:
        for argument, is_sent in (("old", False), ("new", True)):
            add_tool(BAD, lambda args, **kw: "{}", "never", argument)
            over(wired(server.base_url)).chat("go")
            assert (BAD in sent_tools(server.requests[-1])) is is_sent


@pytest.mark.usefixtures("mcp_tools")
def test_another_model_is_asked_with_all_tools(over):
    with ModelServer(default=refusing(by_name, BAD)) as server, ModelServer(default=Reply("other")) as other:
        over(wired(server.base_url)).chat("go")
        over(wired(other.base_url)).chat("go")
        assert {*NAMES} <= {*sent_tools(other.requests[-1])}


def found(body):
    choice = choice_for("http://127.0.0.1/v1")
    return classify(ProviderStatusError("refused", 400, json.dumps({"error": {"message": body}})), choice)


@each(
    "body, tools",
    [
        ("Invalid schema for function 'azure-get': In context=(), object schema missing properties.", ("azure-get",)),
        ("tools.59.custom.input_schema: JSON schema is invalid.", (59,)),
        ("The json schema definition at toolConfig.tools.1.toolSpec.inputSchema is invalid.", (1,)),
        ("Unable to submit request because run_it functionDeclaration parameters.modes schema is", ("run_it",)),
        ("Unknown name \"x\" at 'tools[0].function_declarations[8].parameters.properties[1].value'", (8,)),
        ("tools.function.parameters is not a valid moonshot flavored json schema, details: <At path 'a'>", ()),
        ("Unable to generate parser for this template. JSON schema conversion failed: Unrecognized schema", ()),
    ],
)
def test_a_refusal_of_a_schema_is_recognized_with_the_tools_that_it_names(body, tools):
    assert (found(body).reason, found(body).tools) == ("tool_schema", tools)


@each(
    "body",
    [
        "messages.3.tool_calls.0.function.arguments: invalid JSON",
        "Invalid schema for response_format 'answer': 'type' is missing",
        "Invalid parameter: messages with role 'tool' must follow a message with 'tool_calls'",
        "this model does not support tools",
    ],
)
def test_other_refusals_are_not_taken_for_one_of_a_schema(body):
    assert found(body).reason != "tool_schema"
