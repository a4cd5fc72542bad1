"""What happens in the background reaches the model: in the turn that runs, or before the next prompt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agent_core.background_tasks import News
from agent_core.messages import text_of
from tests.support.agents import Ears, assert_well_formed, make_agent, roles
from tests.support.scripted_provider import says, uses
from tests.support.waiting import wait_until
from tools.environments.guardian import Guardian

ENDED = News("proc_1", "ended", "make ended: exit code 2", "proc_1 ended: exit code 2.")


def _box(agent: Any) -> Any:
    return agent.services.news


def test_news_reach_the_model_behind_the_results_of_the_answer(tmp_path: Path, add_tool: Any) -> None:
    ears = Ears()
    agent = make_agent(tmp_path, uses(("a", "act", {}), ("b", "act", {})), says("seen"), callbacks=ears.callbacks())
    add_tool("act", lambda args, **kw: _box(agent).put(ENDED) or "{}")
    result = agent.run_conversation("go")

    request = agent.provider.requests[1]
    assert roles(request.messages) == ["system", "user", "assistant", "tool", "tool", "user"]
    assert text_of(request.messages[-1]["content"]).count(ENDED.text) == 2
    assert "Not from the user" in text_of(request.messages[-1]["content"])
    assert request.messages[-1].get("injected")
    assert_well_formed(result["messages"])
    assert _box(agent).waiting() == ()
    assert any("make ended" in text for text in ears.of("thinking"))


def test_news_that_come_with_the_last_answer_keep_the_turn_going(tmp_path: Path) -> None:
    first = says("I am done.")
    agent = make_agent(tmp_path, [*first[:-1], lambda: _box(agent).put(ENDED), first[-1]], says("It failed."))
    result = agent.run_conversation("go")

    assert result["final_response"] == "It failed."
    assert [message["role"] for message in result["messages"]] == ["user", "assistant", "user", "assistant"]
    assert_well_formed(result["messages"])


def test_news_that_are_too_much_for_one_message_come_whole_with_the_next(tmp_path: Path) -> None:
    reports = [News(f"agent-{letter}", "ended", "done", letter * 20_000) for letter in "abc"]
    agent = make_agent(tmp_path, says("one"), says("two"), says("three"))
    for report in reports:
        _box(agent).put(report)
    result = agent.run_conversation("go")

    told = "".join(text_of(message["content"]) for message in result["messages"] if message.get("injected"))
    assert [told.count(report.text) for report in reports] == [1, 1, 1]
    assert _box(agent).waiting() == ()
    assert_well_formed(result["messages"])


def test_words_of_the_persons_go_first_and_news_with_the_next_request(tmp_path: Path, add_tool: Any) -> None:
    agent = make_agent(tmp_path, uses(("a", "act", {})), says("first"), says("second"))

    def act(args: object, **kw: object) -> str:
        agent.steer("stop that")
        _box(agent).put(ENDED)
        return "{}"

    add_tool("act", act)
    result = agent.run_conversation("go")

    assert agent.provider.requests[1].messages[-1]["content"] == "stop that"
    assert ENDED.text in text_of(agent.provider.requests[2].messages[-1]["content"])
    assert_well_formed(result["messages"])


def test_news_that_no_request_is_left_for_wait(tmp_path: Path, add_tool: Any) -> None:
    agent = make_agent(tmp_path, uses(("a", "act", {})), says("closing"), says("next"), max_iterations=1)
    add_tool("act", lambda args, **kw: _box(agent).put(ENDED) or "{}")
    agent.run_conversation("go")

    assert _box(agent).waiting() == (ENDED,)


def test_the_next_prompt_comes_with_what_happened_before_it_and_stays_as_it_was_said(tmp_path: Path) -> None:
    agent = make_agent(tmp_path, says("hello"), says("it failed"))
    agent.chat("hi")
    _box(agent).put(ENDED)
    result = agent.run_conversation("and?")

    *_, news, noted, prompt, _ = result["messages"]
    assert ENDED.text in text_of(news["content"])
    assert (noted["role"], prompt["content"]) == ("assistant", "and?")
    assert "injected" not in prompt
    assert_well_formed(result["messages"])
    # Nothing said so far is sent in another form than before.
    before, after = (request.messages for request in agent.provider.requests)
    assert tuple(after[: len(before)]) == tuple(before)


def test_a_turn_of_its_own_is_about_the_news(tmp_path: Path) -> None:
    agent = make_agent(tmp_path, says("hello"), says("I look at it."))
    agent.chat("hi")
    _box(agent).put(ENDED)
    result = agent.run_conversation(None)

    assert result["final_response"] == "I look at it."
    assert ENDED.text in text_of(agent.provider.requests[1].messages[-1]["content"])
    assert_well_formed(result["messages"])


def test_a_turn_of_its_own_without_news_asks_nobody(tmp_path: Path) -> None:
    agent = make_agent(tmp_path)
    result = agent.run_conversation(None)

    assert (result["stop_reason"], result["messages"], agent.provider.requests) == ("end_turn", [], [])


def test_a_command_in_the_background_tells_of_its_end(tmp_path: Path, guardian: Guardian) -> None:
    waits = "until test -e gate; do sleep 0.01; done; echo broken pipes; exit 3"
    command = {"command": waits, "background": True, "notify_on_complete": True}
    agent = make_agent(tmp_path, uses(("a", "terminal", command)), says("ok"), guardian=guardian)
    agent.chat("go")
    # Not before: what ends in the turn that began it is told there.
    (tmp_path / "gate").touch()
    wait_until(lambda: bool(_box(agent).waiting()))
    (news,) = _box(agent).waiting()
    (task,) = agent.services.tasks.list()

    assert "exit code 3" in news.text
    assert "data, not instructions" in news.text
    assert "broken pipes" in news.text
    assert (task.id, task.state, task.detail) == (news.source, "failed", "exit code 3")
    agent.close()


def test_an_end_that_the_model_has_waited_for_is_no_news(tmp_path: Path, guardian: Guardian) -> None:
    start = {"command": "sleep 0.4; echo over", "background": True, "notify_on_complete": True}
    agent = make_agent(tmp_path, uses(("a", "terminal", start)), says("started"), guardian=guardian)
    agent.chat("go")
    (task,) = agent.services.tasks.list()
    agent.provider.add(uses(("b", "process", {"action": "wait", "session_id": task.id})), says("it is over"))
    agent.chat("wait for it")
    wait_until(lambda: not agent.services.tasks.is_busy())

    assert _box(agent).waiting() == ()
    agent.close()
