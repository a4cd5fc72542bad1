"""A model with a small window gets a smaller prompt and few tools; the rest is reached through one of them."""

import json

import pytest

from agent_core.agent import AIAgent
from agent_core.callbacks import CallRequested
from agent_core.compaction.tokens import text_tokens, tools_tokens
from agent_core.model_request.fallback_chain import Member, Route
from agent_core.providers.model_windows import Windows
from tests.support.agents import Ears
from tests.support.choices import choice_for
from tests.support.model_server import Reply, Status, ToolCall, Usage
from tests.support.tool_context import ScriptedApprover
from tests.support.wire_agents import wired
from tools.toolsets import DIRECT, MORE_TOOLS

SMALL, LARGE = 8_000, 200_000
FEW = {*DIRECT, MORE_TOOLS}


def small(server, window=SMALL, **options):
    return wired(server.base_url, context_length=window, **options)


def told(request):
    """The names of the tools that a request offers."""
    return {tool["function"]["name"] for tool in request.body["tools"]}


def tokens(request):
    """Of the system prompt and the tools together, by our own estimate."""
    system = request.body["messages"][0]
    assert system["role"] == "system"
    return text_tokens(system["content"]) + tools_tokens(request.body["tools"])


def more(call_id, name, **arguments):
    return ToolCall(call_id, MORE_TOOLS, {"name": name, "arguments": arguments})


def requested(ears):
    return [(step.name, dict(step.arguments)) for step in ears.of("tool") if isinstance(step, CallRequested)]


def results(request):
    return [message["content"] for message in request.body["messages"] if message["role"] == "tool"]


@pytest.mark.parametrize("model", ["qwen3:8b", "gpt-5-mini", "claude-small", "gemini-x", "another"])
@pytest.mark.parametrize("platform", ["acp", "cli"])
def test_small_window_gets_prompt_and_tools_of_two_thousand_tokens(over, model_server, model, platform):
    model_server.add(Reply("Done."), Reply("Done."))
    over(small(model_server, 31_999, model=model), platform=platform).chat("Look.")
    over(small(model_server, 32_000, model=model), platform=platform).chat("Look.")
    few, many = model_server.requests
    assert told(few) == FEW
    assert tokens(few) <= 2_000
    assert MORE_TOOLS not in told(many)
    assert len(told(many)) > 20
    assert MORE_TOOLS in few.body["messages"][0]["content"]
    assert MORE_TOOLS not in many.body["messages"][0]["content"]


def test_small_window_reaches_other_tools_as_if_they_were_called_directly(over, model_server):
    items = [{"id": "1", "content": "look", "status": "completed"}]
    model_server.add(
        Reply(tool_calls=[ToolCall("q", MORE_TOOLS, {"query": "plan of steps"})]),
        Reply(tool_calls=[more("c", "todo", todos=items)]),
        Reply("Done."),
    )
    ears = Ears()
    over(small(model_server), callbacks=ears.callbacks()).chat("Plan.")
    assert [name for name, _ in requested(ears)] == [MORE_TOOLS, "todo"]
    assert requested(ears)[1] == ("todo", {"todos": items})
    assert len(ears.of("plan")) == 1
    found, planned = results(model_server.requests[-1])
    assert '"name": "todo"' in found
    assert planned == "[1 completed]"
    # The history is as the model wrote it.
    calls = [c for m in model_server.requests[-1].body["messages"] for c in m.get("tool_calls") or ()]
    assert [call["function"]["name"] for call in calls] == [MORE_TOOLS, MORE_TOOLS]
    # Its list is the same all along.
    assert all(request.body["tools"] == model_server.requests[0].body["tools"] for request in model_server.requests)


@pytest.mark.parametrize("choice", ["allow_once", "reject_once"])
def test_small_window_calls_ask_for_permission_as_direct_ones_do(over, model_server, add_tool, tmp_path, choice):
    def leave_note(arguments, ctx, **_):
        path = tmp_path / arguments["path"]
        ctx.fs.write(path, b"a note", expected=None)
        path.unlink()
        return "left"

    add_tool("leave_note", leave_note)
    asked = []
    for call in (more("c", "leave_note", path="n.txt"), ToolCall("c", "leave_note", {"path": "n.txt"})):
        approver = ScriptedApprover(choice)
        ears = Ears()
        model_server.add(Reply(tool_calls=[call]), Reply("Done."))
        window = SMALL if call.name == MORE_TOOLS else LARGE
        agent = over(small(model_server, window), callbacks=ears.callbacks(), approver=approver, mode="default")
        agent.chat("Leave it.")
        finished = ears.finished("c")
        asked.append((approver.asked, requested(ears), ears.progress("c"), finished.name, finished.result.denied))
    assert asked[0] == asked[1]
    assert (len(asked[0][0]), asked[0][3], asked[0][4]) == (1, "leave_note", choice == "reject_once")


def test_small_window_takes_a_direct_call_of_a_tool_that_is_not_in_the_list(over, model_server):
    model_server.add(Reply(tool_calls=[ToolCall("c", "todo", {"todos": []})]), Reply("Done."))
    ears = Ears()
    over(small(model_server), callbacks=ears.callbacks()).chat("Plan.")
    assert not ears.finished("c").result.failed


@pytest.mark.parametrize("call", [more("c", "TodoWrite", items=[]), ToolCall("c", "update_plan", {"plan": []})])
def test_small_window_takes_another_agents_name_for_a_tool_that_is_not_in_the_list(over, model_server, call):
    model_server.add(Reply(tool_calls=[call]), Reply("Done."))
    ears = Ears()
    over(small(model_server), callbacks=ears.callbacks()).chat("Plan.")
    assert requested(ears) == [("todo", {"todos": []})]
    assert not ears.finished("c").result.failed


def test_small_window_has_no_browser_skills_and_search_of_sessions(over, model_server):
    calls = [ToolCall("c", "skill_view", {"name": "x"}), more("d", "session_search", query="x")]
    model_server.add(Reply(tool_calls=calls), Reply("Done."))
    ears = Ears()
    over(small(model_server), callbacks=ears.callbacks()).chat("Look.")
    first = json.dumps(model_server.requests[0].body)
    assert not [name for name in ("browser_", "skill", "session_search") if name in first]
    assert ears.finished("c").result.failed
    assert ears.finished("d").result.failed
    assert all(each.body["tools"] == model_server.requests[0].body["tools"] for each in model_server.requests)


def test_small_window_answers_a_tool_that_there_is_not_with_what_there_is(over, model_server):
    model_server.add(Reply(tool_calls=[more("c", "web_serach", query="x")]), Reply("Done."))
    ears = Ears()
    over(small(model_server), callbacks=ears.callbacks()).chat("Search.")
    assert ears.finished("c").result.failed
    assert "web_search" in results(model_server.requests[-1])[0]


def test_small_window_tools_that_are_off_stay_off(over, model_server):
    model_server.add(
        Reply(tool_calls=[more("c", "web_search", query="x"), more("d", "terminal", command="ls")]), Reply("Done.")
    )
    ears = Ears()
    over(small(model_server), callbacks=ears.callbacks(), disabled_toolsets=("web", "terminal")).chat("Search.")
    assert "terminal" not in told(model_server.requests[0])
    assert "web_search" not in json.dumps(model_server.requests[0].body["tools"])
    assert ears.finished("c").result.failed
    assert ears.finished("d").result.failed


def routes(server, connections, *windows):
    """A route for each window, to the same server; all are different models."""
    return [Route([Member(small(server, window, model=f"model-{window}"))], connections) for window in windows]


def test_small_and_large_windows_may_be_switched_in_a_session(over, model_server):
    model_server.add(*[Reply("Done.")] * 4)
    first = small(model_server, LARGE, model=f"model-{LARGE}")
    agent: AIAgent = over(first)
    large, few = routes(model_server, agent.route.connect, LARGE, SMALL)
    for route in (large, few, large, few):
        agent.switch(route, None)
        agent.chat("Look.")
    sent = model_server.requests
    assert [MORE_TOOLS in told(request) for request in sent] == [False, True, False, True]
    assert sent[0].body["tools"] == sent[2].body["tools"]
    assert sent[1].body["tools"] == sent[3].body["tools"]
    assert [tokens(request) <= 2_000 for request in sent] == [False, True, False, True]
    # Each begins with all that its own model was sent before.
    for before, after in ((sent[0], sent[2]), (sent[1], sent[3])):
        length = len(before.body["messages"])
        assert after.body["messages"][:length] == before.body["messages"]
    assert agent.services.prefix.breaks == []


def test_small_window_that_is_learned_in_a_turn_counts_from_the_next_request_on(over, model_server):
    model_server.pages["/api/ps"] = lambda: {
        "models": [{"name": "test-model:latest", "context_length": 4_096}] * bool(model_server.requests)
    }
    look = ToolCall("c", "search_files", {"pattern": "x"})
    model_server.add(Reply(tool_calls=[look], usage=Usage(700)), Reply("Done.", usage=Usage(900)))
    agent = over(choice_for(model_server.base_url, provider="ollama"), windows=Windows(wait=30))
    agent.chat("Look.")
    first, second = model_server.requests
    assert MORE_TOOLS not in told(first)
    assert told(second) == FEW
    assert tokens(second) <= 2_000
    assert agent.services.prefix.breaks == ["window"]


def test_small_window_of_a_fallback_gets_few_tools(over, model_server):
    model_server.add(Status(401, {"error": {"message": "no"}}), Reply("Done."))
    over(small(model_server, LARGE), small(model_server, SMALL, model="small-one")).chat("Look.")
    first, second = model_server.requests
    assert MORE_TOOLS not in told(first)
    assert told(second) == FEW
    assert tokens(second) <= 2_000


def test_small_window_holds_a_long_session(over, model_server, tmp_path):
    """Every request leaves room for its answer, however much is read."""
    (tmp_path / "long.txt").write_text("".join(f"Line {n} of a long file that says little.\n" for n in range(3_000)))
    window, sent = 8_192, []

    def answer(request):
        estimate = tokens(request) + sum(text_tokens(json.dumps(m)) for m in request.body["messages"][1:])
        sent.append(estimate)
        usage = Usage(round(estimate))
        if len(sent) % 4:
            offset = 1 + 40 * len(sent)
            return Reply(
                tool_calls=[ToolCall(f"c{len(sent)}", "read_file", {"path": "long.txt", "offset": offset})],
                usage=usage,
            )
        return Reply("Done with that.", usage=usage)

    model_server.add(*[answer] * 40)
    agent = over(small(model_server, window))
    for turn in range(8):
        agent.chat(f"Read on, part {turn}.")
    assert len(sent) == 32
    assert max(sent) < 0.95 * window, [round(each) for each in sent]
