"""Hooks at the seams of a turn: functions of plugins, and a scripted model."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_core.agent import AIAgent
from agent_core.cancel import CancelToken
from agent_core.errors import HookRefused
from agent_core.hooks.session_hooks import CallHooks, CallsUnderWay, SessionHooks
from tests.agent_core.conftest import AddTool
from tests.support.agents import Ears, assert_well_formed, in_background, roles
from tests.support.each import each
from tests.support.hooks import hook, hooked_agent, into, session_hooks
from tests.support.scripted_provider import ScriptedProvider, says, uses
from tests.support.tool_context import ScriptedApprover, told_in
from tools.agent_ports import CALL_BY_NAME
from tools.approval.actions import CallMcpTool
from tools.approval.questions import Answer, Question


def _results(agent: AIAgent) -> list[Any]:
    messages = agent.messages
    return [told_in(str(message["content"])) for message in messages if message["role"] == "tool"]


def _requests(agent: AIAgent) -> list[Any]:
    assert isinstance(agent.provider, ScriptedProvider)
    return [request.messages for request in agent.provider.requests]


@pytest.fixture
def echo(add_tool: AddTool) -> list[dict[str, Any]]:
    """A tool `echo`, and what it was called with."""
    called: list[dict[str, Any]] = []

    def handler(args: dict[str, Any], **_: Any) -> str:
        called.append(args)
        return json.dumps({"echo": args})

    add_tool("echo", handler)
    return called


CALL = uses(("call-1", "echo", {"who": "you"}))


def test_a_hook_refuses_a_call_and_the_model_reads_why(tmp_path: Path, echo: list[dict[str, Any]]) -> None:
    hooks = session_hooks(hook("pre_tool_call", lambda args: {"action": "block", "message": f"not {args['who']}"}))
    agent = hooked_agent(tmp_path, CALL, says("Ok."), hooks=hooks)

    agent.chat("go")

    assert echo == []
    assert "not you (said by The hook of the test" in _results(agent)[0]["error"]


def test_a_hook_that_ends_the_turn_lets_no_call_be_made(tmp_path: Path, echo: list[dict[str, Any]]) -> None:
    hooks = session_hooks(hook("pre_tool_call", lambda: {"continue": False}))
    hooked_agent(tmp_path, CALL, says("Ok."), hooks=hooks).chat("go")

    assert echo == []


def test_a_hook_changes_arguments_and_the_next_one_sees_that(tmp_path: Path, echo: list[dict[str, Any]]) -> None:
    seen: list[str] = []
    hooks = session_hooks(
        hook("pre_tool_call", lambda: {"action": "modify", "args": {"who": "me"}}),
        hook("pre_tool_call", lambda args: seen.append(args["who"])),
    )
    agent = hooked_agent(tmp_path, CALL, says("Ok."), hooks=hooks)

    agent.chat("go")

    assert (echo, seen) == ([{"who": "me"}], ["me"])


def test_changed_arguments_that_do_not_fit_the_tool_are_not_used(tmp_path: Path, echo: list[dict[str, Any]]) -> None:
    hooks = session_hooks(hook("pre_tool_call", lambda: {"action": "modify", "args": {"who": ["me"]}}))
    agent = hooked_agent(tmp_path, CALL, says("Ok."), hooks=hooks)

    agent.chat("go")

    assert echo == []
    assert "changed the arguments" in _results(agent)[0]["error"]


def test_a_hook_hears_of_its_tools_only_by_our_name_or_the_community_s(
    tmp_path: Path, echo: list[dict[str, Any]]
) -> None:
    heard: list[str] = []
    hooks = session_hooks(
        *(hook("pre_tool_call", into(heard, "tool_name"), matcher=m) for m in ("ech", "e.*", "Read"))
    )
    agent = hooked_agent(tmp_path, CALL, uses(("call-2", "read_file", {"path": "x"})), says("Ok."), hooks=hooks)

    agent.chat("go")

    assert heard == ["echo", "read_file"]


def test_a_failing_hook_before_a_call_refuses_it_and_one_after_it_is_told(
    tmp_path: Path, echo: list[dict[str, Any]]
) -> None:
    def broken() -> None:
        raise ValueError("no idea")

    ears = Ears()
    agent = hooked_agent(
        tmp_path, CALL, says("Ok."), hooks=session_hooks(hook("pre_tool_call", broken)), callbacks=ears.callbacks()
    )
    agent.chat("go")
    after = hooked_agent(tmp_path, CALL, says("Ok."), hooks=session_hooks(hook("post_tool_call", broken)))
    after.chat("go")

    assert "ValueError: no idea" in _results(agent)[0]["error"]
    assert ["ValueError: no idea" in status.text for status in ears.of("status") if status.kind == "hook"] == [True]
    assert _results(after) == [{"echo": {"who": "you"}}]


def test_a_hook_that_does_not_come_back_is_not_waited_for(tmp_path: Path, echo: list[dict[str, Any]]) -> None:
    for_ever = threading.Event()
    hooks = session_hooks(hook("pre_tool_call", for_ever.wait, seconds=0.1))
    agent = hooked_agent(tmp_path, CALL, says("Ok."), hooks=hooks)

    agent.chat("go")
    for_ever.set()

    assert echo == []
    assert "not answered within 0.1 seconds" in _results(agent)[0]["error"]


def test_a_cancel_ends_the_wait_for_a_hook(tmp_path: Path, echo: list[dict[str, Any]]) -> None:
    waits, for_ever, token = threading.Event(), threading.Event(), CancelToken()

    def hang() -> None:
        waits.set()
        for_ever.wait()

    agent = hooked_agent(tmp_path, CALL, says("Ok."), hooks=session_hooks(hook("pre_tool_call", hang, seconds=30)))
    turn = in_background(lambda: agent.run_conversation("go", token=token))
    assert waits.wait(5)
    token.cancel()

    assert turn.result(5)["stop_reason"] == "cancelled"
    for_ever.set()
    assert echo == []


def test_a_hook_after_a_call_adds_to_its_result_or_replaces_it(tmp_path: Path, echo: list[dict[str, Any]]) -> None:
    seen: dict[str, Any] = {}
    hooks = session_hooks(
        hook("post_tool_call", lambda **facts: seen.update(facts)),
        hook("post_tool_call", lambda: {"context": "Format it."}),
    )
    agent = hooked_agent(tmp_path, CALL, says("Ok."), hooks=hooks)
    agent.chat("go")
    other = hooked_agent(
        tmp_path, CALL, says("Ok."), hooks=session_hooks(hook("transform_tool_result", lambda: '{"echo": "*"}'))
    )
    other.chat("go")

    assert _results(agent) == [{"echo": {"who": "you"}, "note": "[A hook of the user's says: Format it.]"}]
    assert _results(other) == [{"echo": "*"}]
    assert seen["tool_name"] == "echo"
    assert (seen["args"], seen["status"], seen["failed"]) == ({"who": "you"}, "ok", False)
    assert seen["result"] == '{"echo": {"who": "you"}}'
    assert (seen["session_id"], seen["tool_call_id"]) == ("session-1", "call-1")


def test_what_hooks_say_to_a_prompt_stands_beside_it_and_stays_there(tmp_path: Path) -> None:
    asked: list[tuple[str, bool]] = []

    def remind(user_message: str, is_first_turn: bool) -> dict[str, str]:
        asked.append((user_message, is_first_turn))
        return {"context": f"It is day {len(asked)}."}

    begun: list[str] = []
    hooks = session_hooks(hook("pre_llm_call", remind), hook("on_session_start", into(begun, "source")))
    agent = hooked_agent(tmp_path, says("One."), says("Two."), hooks=hooks)

    agent.chat("first")
    agent.chat("second")

    assert asked == [("first", True), ("second", False)]
    assert begun == ["new"]
    first, second = _requests(agent)
    assert first[1]["content"] == "first\n\n[Not from the user. Their hooks say:]\nIt is day 1."
    assert second[: len(first)] == first, "the cached beginning stays as it is"


def test_a_refused_prompt_reaches_no_model_and_the_next_one_does(tmp_path: Path) -> None:
    def no_keys(prompt: str) -> dict[str, str] | None:
        return {"decision": "block", "reason": "It holds a key."} if "key" in prompt else None

    hooks = session_hooks(hook("prompt", no_keys))
    agent = hooked_agent(tmp_path, says("Hello."), hooks=hooks)

    with pytest.raises(HookRefused, match=r"refuses this prompt: It holds a key\. Nothing was sent"):
        agent.chat("my key")
    answer = agent.chat("hello")

    assert answer == "Hello."
    assert [roles(messages) for messages in _requests(agent)] == [["system", "user"]]
    assert_well_formed(agent.messages)


def _no_keys(prompt: str) -> dict[str, str] | None:
    return {"decision": "block", "reason": "It holds a key."} if "key" in prompt else {"context": "Be brief."}


@pytest.mark.parametrize("event", ["post_tool_call", "post_model_call"])
def test_refused_words_of_a_running_turn_reach_no_model_and_the_person_is_told(
    tmp_path: Path, add_tool: AddTool, event: str
) -> None:
    ears = Ears()

    def speak(**_: Any) -> None:
        assert agent.steer("my key")

    hooks = session_hooks(hook("prompt", _no_keys), hook(event, speak))
    add_tool("act", lambda args, **_: "{}")
    script = [uses(("call-1", "act", {}))] if event == "post_tool_call" else []
    agent = hooked_agent(tmp_path, *script, says("Done."), hooks=hooks, callbacks=ears.callbacks())

    assert agent.chat("go") == "Done."

    assert "my key" not in str(_requests(agent))
    (told,) = [status.text for status in ears.of("status") if status.kind == "hook"]
    assert told.startswith("What you said meanwhile is left out: «my key». ")
    assert "It holds a key" in told
    assert_well_formed(agent.messages)


def test_hooks_may_say_something_beside_words_for_a_running_turn(tmp_path: Path, add_tool: AddTool) -> None:
    hooks = session_hooks(hook("prompt", _no_keys))
    agent = hooked_agent(tmp_path, uses(("call-1", "speak", {})), says("Done."), hooks=hooks)
    add_tool("speak", lambda args, **_: agent.steer("left") and "{}")

    agent.chat("go")

    assert _requests(agent)[1][-1]["content"] == "left\n\n[Not from the user. Their hooks say:]\nBe brief."


def test_a_hook_may_keep_a_model_from_being_asked(tmp_path: Path) -> None:
    models: list[str] = []

    def spend(iteration: int, model: str) -> str | None:
        models.append(model)
        return "The day's money is spent." if iteration > 1 else None

    hooks = session_hooks(hook("pre_model_call", spend))
    agent = hooked_agent(tmp_path, uses(("call-1", "todo", {})), says("More."), hooks=hooks)

    with pytest.raises(HookRefused, match="money is spent"):
        agent.chat("go")

    assert models == ["test-model", "test-model"]
    assert len(_requests(agent)) == 1
    assert_well_formed(agent.messages)


def test_each_answer_of_a_model_is_told(tmp_path: Path, echo: list[dict[str, Any]]) -> None:
    told: list[tuple[str, list[str], str]] = []

    def look(text: str, tool_calls: list[str], finish_reason: str) -> None:
        told.append((text, tool_calls, finish_reason))

    agent = hooked_agent(tmp_path, CALL, says("Done."), hooks=session_hooks(hook("post_api_request", look)))
    agent.chat("go")

    assert told == [("", ["echo"], "tool_calls"), ("Done.", [], "stop")]


def _wants(*times: str) -> tuple[list[bool], Callable[..., str | None]]:
    active: list[bool] = []

    def more(stop_hook_active: bool) -> str | None:
        active.append(stop_hook_active)
        return times[len(active) - 1] if len(active) <= len(times) else None

    return active, more


def test_a_stop_hook_sends_the_model_on(tmp_path: Path) -> None:
    active, more = _wants("Run the tests.")
    agent = hooked_agent(tmp_path, says("Done."), says("Tested."), hooks=session_hooks(hook("stop", more)))

    assert agent.chat("go") == "Tested."

    assert active == [False, True]
    assert _requests(agent)[1][-1]["content"] == "[Not from the user. The hook of the test says:]\nRun the tests."
    assert_well_formed(agent.messages)


def test_it_does_so_no_more_often_than_it_may(tmp_path: Path) -> None:
    _, more = _wants("a", "b", "c", "d")
    ears = Ears()
    scripts = [says(f"{number}.") for number in range(1, 6)]
    agent = hooked_agent(
        tmp_path, *scripts, hooks=session_hooks(hook("stop", more), continues=2), callbacks=ears.callbacks()
    )

    assert agent.chat("go") == "3."
    assert any("as often as hooks.max_continues lets it" in status.text for status in ears.of("status"))


def test_a_hook_ends_the_turn(tmp_path: Path, echo: list[dict[str, Any]]) -> None:
    ends = {"continue": False, "stopReason": "Enough for today."}
    agent = hooked_agent(tmp_path, CALL, says("More."), hooks=session_hooks(hook("post_tool_call", lambda: ends)))

    assert agent.chat("go") == "Enough for today."
    assert len(_requests(agent)) == 1
    assert_well_formed(agent.messages)


def test_what_runs_in_the_background_is_not_waited_for(tmp_path: Path, echo: list[dict[str, Any]]) -> None:
    for_ever, done = threading.Event(), threading.Event()

    def slow() -> str:
        for_ever.wait()
        done.set()
        return "refused"

    agent = hooked_agent(
        tmp_path, CALL, says("Ok."), hooks=session_hooks(hook("pre_tool_call", slow, background=True))
    )
    agent.chat("go")

    assert echo == [{"who": "you"}]
    for_ever.set()
    assert done.wait(5)


def test_a_tool_behind_the_search_of_servers_is_told_by_its_own_name(tmp_path: Path, add_tool: AddTool) -> None:
    called: list[Any] = []
    heard: list[Any] = []

    def handler(args: dict[str, Any], **_: Any) -> str:
        called.append(args)
        return "{}"

    def change(tool_name: str, args: dict[str, Any]) -> dict[str, Any]:
        heard.append((tool_name, args))
        return {"action": "modify", "args": {"to": "me"}}

    add_tool(CALL_BY_NAME, handler, "never", "name", "arguments")
    sends = uses(("call-1", CALL_BY_NAME, {"name": "mcp__mail__send", "arguments": {"to": "all", "text": "Hi"}}))
    matcher = "mcp__mail__.*"
    hooks = session_hooks(
        hook("pre_tool_call", change, matcher=matcher),
        hook("post_tool_call", lambda tool_name, args: heard.append((tool_name, args)), matcher=matcher),
    )
    hooked_agent(tmp_path, sends, says("Ok."), hooks=hooks).chat("go")

    assert called == [{"name": "mcp__mail__send", "arguments": {"to": "me", "text": "Hi"}}]
    assert heard == [
        ("mcp__mail__send", {"to": "all", "text": "Hi"}),
        ("mcp__mail__send", {"to": "me", "text": "Hi"}),
    ]


@each("answer", [{"decision": []}, {"action": {}}, {"decision": {"behavior": "deny"}}])
def test_an_answer_of_any_form_ends_no_turn(tmp_path: Path, answer: dict[str, Any]) -> None:
    agent = hooked_agent(tmp_path, says("Ok."), hooks=session_hooks(hook("stop", lambda: answer)))

    assert agent.chat("go") == "Ok."


def test_a_function_that_is_cancelled_itself_has_failed(tmp_path: Path) -> None:
    def cancelled() -> None:
        raise asyncio.CancelledError

    agent = hooked_agent(tmp_path, says("Ok."), hooks=session_hooks(hook("stop", cancelled)))

    assert agent.chat("go") == "Ok."


class TestPermission:
    WRITE = uses(("call-1", "write_file", {"path": "a.txt", "content": "x"}))

    def _run(self, cwd: Path, *hooks: Any, **limits: Any) -> ScriptedApprover:
        approver = ScriptedApprover("allow_once")
        made = session_hooks(*hooks, **limits)
        agent = hooked_agent(cwd, self.WRITE, says("Ok."), hooks=made, mode="default", approver=approver)
        agent.chat("go")
        return approver

    def test_a_hook_refuses_in_the_person_s_place(self, tmp_path: Path) -> None:
        asked: dict[str, Any] = {}

        def deny(**facts: Any) -> dict[str, str]:
            asked.update(facts)
            return {"decision": "deny", "reason": "not there"}

        approver = self._run(tmp_path, hook("permission", deny))

        assert approver.asked == []
        assert not (tmp_path / "a.txt").exists()
        assert (asked["tool_name"], asked["args"]["path"], asked["kind"]) == ("write_file", "a.txt", "WritePath")

    def test_its_yes_counts_only_where_the_user_has_said_so(self, tmp_path: Path) -> None:
        yes = hook("permission", lambda: {"decision": "allow"})

        assert len(self._run(tmp_path, yes).asked) == 1
        (tmp_path / "a.txt").unlink()
        assert self._run(tmp_path, yes, may_allow=True).asked == []
        assert (tmp_path / "a.txt").exists()

    def test_so_it_is_with_a_yes_before_the_call(self, tmp_path: Path) -> None:
        yes = hook("pre_tool_call", lambda: {"hookSpecificOutput": {"permissionDecision": "allow"}})

        assert len(self._run(tmp_path, yes).asked) == 1
        (tmp_path / "a.txt").unlink()
        assert self._run(tmp_path, yes, may_allow=True).asked == []

    def test_a_no_counts_more_than_a_yes_before_it(self, tmp_path: Path) -> None:
        yes, no = hook("permission", lambda: {"decision": "allow"}), hook("permission", lambda: {"decision": "deny"})

        assert self._run(tmp_path, yes, no, may_allow=True).asked == []
        assert not (tmp_path / "a.txt").exists()

    def test_a_yes_is_none_for_arguments_that_were_changed_behind_it(self, tmp_path: Path) -> None:
        yes = hook("pre_tool_call", lambda: {"hookSpecificOutput": {"permissionDecision": "allow"}})
        other = hook("pre_tool_call", lambda: {"action": "modify", "args": {"path": "b.txt"}})

        assert len(self._run(tmp_path, yes, other, may_allow=True).asked) == 1
        assert self._run(tmp_path, other, yes, may_allow=True).asked == []

    def test_a_yes_to_a_call_is_none_to_a_model_s_answer_for_its_server(self) -> None:
        calls = CallsUnderWay(allowed={"call-1"})
        advice = CallHooks(SessionHooks(), calls).permission

        def answer(*, each: bool) -> Answer | None:
            return advice(Question("call-1", CallMcpTool("s", "t", "{}", each=each), ""), CancelToken())

        assert answer(each=False) == Answer(allowed=True)
        assert answer(each=True) is None

    def test_a_broken_hook_leaves_it_to_the_person(self, tmp_path: Path) -> None:
        assert len(self._run(tmp_path, hook("permission", lambda: 1 / 0), may_allow=True).asked) == 1

    def test_no_yes_lifts_what_a_rule_denies(self, tmp_path: Path) -> None:
        yes = hook("permission", lambda: {"decision": "allow"})
        agent = hooked_agent(
            tmp_path,
            uses(("call-1", "terminal", {"command": "rm -rf /"})),
            says("Ok."),
            hooks=session_hooks(yes, may_allow=True),
            mode="default",
        )
        agent.chat("go")

        assert "Refused" in _results(agent)[0]["error"]

    def test_a_hook_has_the_person_asked_who_would_not_have_been(
        self, tmp_path: Path, echo: list[dict[str, Any]]
    ) -> None:
        ask = hook("pre_tool_call", lambda: {"action": "approve", "message": "it costs money"})
        approver = ScriptedApprover("reject_once")
        agent = hooked_agent(
            tmp_path, CALL, says("Ok."), hooks=session_hooks(ask), mode="dont_ask", approver=approver
        )
        agent.chat("go")

        assert [question.reason for question in approver.questions] == ["it costs money"]
        assert echo == []

    def test_a_hook_hears_that_the_person_is_asked(self, tmp_path: Path) -> None:
        heard: list[str] = []
        self._run(tmp_path, hook("notification", into(heard, "message")))

        assert len(heard) == 1
        assert "a.txt" in heard[0]


def test_a_sub_agent_has_the_hooks_of_its_session_but_no_prompts(tmp_path: Path, echo: list[dict[str, Any]]) -> None:
    heard: list[str] = []
    names = ("session_start", "prompt", "pre_tool_call", "stop", "subagent_stop")
    hooks = session_hooks(*(hook(name, into(heard, "hook_event_name")) for name in names))
    hooks.begin_turn()
    child = hooked_agent(tmp_path, CALL, says("Ok."), hooks=hooks.for_subagent())

    child.chat("go")

    assert heard == ["pre_tool_call", "subagent_stop"]
