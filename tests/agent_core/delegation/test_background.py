"""Sub-agents behind the conversation: begun at once, told of when they are done, ended with their session."""

from __future__ import annotations

import threading

from agent_core.background_tasks import TaskBoard
from agent_core.delegation.settings import DelegationSettings
from agent_core.notifications import NewsBox
from agent_core.services import SessionServices
from agent_core.settings.sections import DelegationPart
from tests.support.agents import Ears
from tests.support.delegating import delegates, delegating_agent, news_of, told
from tests.support.waiting import wait_until
from tools.approval.questions import Answer


def test_a_call_returns_at_once_and_the_report_is_news(tmp_path, add_tool):
    go_on, services = threading.Event(), SessionServices()
    add_tool("wait_here", lambda args, **kw: "{}" if go_on.wait(10) else "")
    agent = delegating_agent(tmp_path, services=services)
    call = delegates("call wait_here {}\nsay All is well.", background=True)
    begun = told(agent.run_conversation(f"{call}\nsay on")["messages"])["begun"]
    assert [one["goal"] for one in begun] == ["call wait_here {}"]
    task = services.tasks.get(begun[0]["agent"])
    assert task.state == "running"
    go_on.set()
    wait_until(services.news.waiting)
    (news,) = services.news.waiting()
    assert (news.source, news.kind) == (task.id, "ended")
    assert "call wait_here" in news.title
    assert "All is well." in news.text
    assert services.tasks.get(task.id).state == "done"


def test_a_report_is_stored_before_its_task_is_over(tmp_path):
    order = []
    services = SessionServices()
    services.news = NewsBox(keep=lambda news: order.append(("news", news.source)))
    services.tasks = TaskBoard(keep=lambda task: order.append((task.state, task.id)))
    agent = delegating_agent(tmp_path, services=services)
    agent.run_conversation(f"{delegates('say well', background=True)}\nsay on")
    wait_until(lambda: len(order) == 3)
    assert [what for what, _ in order] == ["running", "news", "done"]


def test_one_that_is_still_in_line_can_be_stopped_at_once(tmp_path):
    services = SessionServices()
    limits = DelegationSettings(DelegationPart(max_concurrent_children=1))
    agent = delegating_agent(tmp_path, services=services, delegation=limits)
    agent.run_conversation(f"{delegates('sleep 600', 'write a.txt x', background=True)}\nsay on")
    first, second = (task.id for task in services.tasks.list())
    services.tasks.control(second, "stop")
    assert services.tasks.get(second).state == "stopped"
    services.tasks.control(first, "stop")
    wait_until(lambda: not agent.workspace.children.working())
    assert [news.source for news in services.news.waiting()] == [second, first]
    assert not (tmp_path / "a.txt").exists()


def test_only_the_end_of_one_that_nobody_waits_for_is_news(tmp_path):
    services, told = SessionServices(), []
    services.news = NewsBox(keep=told.append)
    agent = delegating_agent(tmp_path, services=services)
    agent.run_conversation(f"{delegates('say here')}\n{delegates('say behind', background=True)}\nsay on")
    assert {task.title: task.tells for task in services.tasks.list()} == {"say here": False, "say behind": True}
    wait_until(lambda: not agent.workspace.children.working())
    assert [news.source for news in told] == [services.tasks.list()[1].id]


def test_a_turn_that_is_cancelled_or_over_leaves_them_at_work_and_the_end_of_the_session_ends_them(tmp_path):
    services = SessionServices()
    agent = delegating_agent(tmp_path, services=services)
    agent.run_conversation(f"{delegates('sleep 600', background=True)}\nsay on")
    agent.interrupt()
    (working,) = agent.workspace.children.working()
    assert services.tasks.get(working).state == "running"
    agent.close()
    wait_until(lambda: not agent.workspace.children.working())
    assert services.tasks.get(working).state == "stopped"
    assert services.news.waiting() == ()


def test_it_shows_no_cards_and_asks_nobody(tmp_path):
    class Person:
        def ask(self, question, interrupt):
            raise AssertionError("nobody is to be asked")

    ears, services = Ears(), SessionServices()
    news = news_of(services)
    agent = delegating_agent(tmp_path, mode="default", approver=Person(), services=services)
    agent.run_conversation(f"{delegates('write a.txt x', background=True)}\nsay on", callbacks=ears.callbacks())
    wait_until(lambda: bool(news))
    assert not (tmp_path / "a.txt").exists()
    assert {step.call_id for step in ears.of("tool")} == {"offline_1"}


def test_what_was_allowed_for_the_session_needs_no_question(tmp_path):
    class Person:
        def ask(self, question, interrupt):
            return Answer(allowed=True, scope="directory")

    services = SessionServices()
    news = news_of(services)
    agent = delegating_agent(tmp_path, mode="default", approver=Person(), services=services)
    agent.run_conversation(f"write a.txt 1\n{delegates('write b.txt x', background=True)}\nsay on")
    wait_until(lambda: bool(news))
    assert (tmp_path / "b.txt").read_text() == "x"


def test_there_is_a_limit_and_the_model_is_told_of_it(tmp_path):
    agent = delegating_agent(tmp_path, delegation=DelegationSettings(DelegationPart(max_background_children=1)))
    call = delegates("sleep 600", background=True)
    result = agent.run_conversation(f"{call}\n{call}\nsay on")
    assert "At most 1 sub-agents" in told(result["messages"], 1)["error"]
    agent.close()
    wait_until(lambda: not agent.workspace.children.working())


def test_a_sub_agent_begins_nothing_in_the_background(tmp_path):
    part = DelegationSettings(DelegationPart(max_spawn_depth=2))
    agent = delegating_agent(tmp_path, delegation=part)
    ears = Ears()
    inner = delegates("write a.txt x", background=True)
    agent.run_conversation(delegates(f"{inner}\nsay x", role="orchestrator"), callbacks=ears.callbacks())
    failed = [step for step in ears.of("tool") if getattr(getattr(step, "result", None), "failed", False)]
    assert "Nothing can be delegated in the background here" in failed[0].result.text


def test_work_on_a_copy_is_not_for_the_background(tmp_path):
    agent = delegating_agent(tmp_path)
    result = agent.run_conversation(delegates("say x", background=True, isolated=True))
    assert "leave out background, or isolated" in told(result["messages"])["error"]
