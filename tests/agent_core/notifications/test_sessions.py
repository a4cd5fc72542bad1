"""The news and tasks of a process's sessions, over the lives of processes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_core.background_tasks import News
from agent_core.notifications import Backgrounds
from agent_core.sessions.store import SessionStore
from tests.support.session_database import Desk


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[SessionStore]:
    desk = Desk(tmp_path / "hermes-acp.db")
    desk.store.create("s", "/srv/project")
    yield desk.store
    desk.close()


def test_a_live_session_has_one_background(kept: SessionStore) -> None:
    process = Backgrounds(kept)

    assert process.of("s") is process.of("s")
    assert process.of("s") is not process.of("another")


def test_what_ran_when_the_process_died_is_lost_and_that_is_news_once(kept: SessionStore) -> None:
    Backgrounds(kept).of("s").tasks.begin("process", "p1", "make test")

    for _ in range(2):  # as often as processes die before anybody is told
        after = Backgrounds(kept).of("s")
        (task,), (news,) = after.tasks.list(), after.news.waiting()
        assert (task.state, task.is_live, news.source) == ("lost", False, "p1")
        assert "make test" in news.text
    assert [each.state for each in kept.tasks("s")] == ["lost"]
    assert [each.id for each in kept.news("s")] == [news.id]


def test_whoever_only_looks_makes_no_news(kept: SessionStore) -> None:
    Backgrounds(kept).of("s").tasks.begin("process", "p1", "make test")
    outside = Backgrounds(kept)

    assert [task.state for task in outside.tasks("s", elsewhere=True)] == ["running"]
    assert [task.state for task in outside.tasks("s", elsewhere=False)] == ["lost"]
    assert [task.state for task in kept.tasks("s")] == ["running"]
    assert kept.news("s") == []


def test_what_nobody_delivered_waits_in_the_next_process(kept: SessionStore) -> None:
    news = News("p1", "ended", "make test ended", "exit code 0")
    Backgrounds(kept).of("s").news.put(news)

    assert Backgrounds(kept).of("s").news.waiting() == (news,)


def test_what_runs_when_its_session_is_closed_is_stopped_and_told_later(kept: SessionStore) -> None:
    process = Backgrounds(kept)
    process.of("s").tasks.begin("process", "p1", "serve")
    process.end("s", "the session was closed")
    process.end("s", "the session was closed")

    after = Backgrounds(kept).of("s")
    assert [(task.state, task.detail) for task in after.tasks.list()] == [("stopped", "the session was closed")]
    assert [news.source for news in after.news.waiting()] == ["p1"]


def test_the_end_of_the_process_ends_what_runs_in_all_sessions(kept: SessionStore) -> None:
    process = Backgrounds(kept)
    process.of("s").tasks.begin("process", "p1", "serve")
    process.of("elsewhere")
    process.end_all("the agent ended")

    assert [task.detail for task in kept.tasks("s")] == ["the agent ended"]
    assert process.live("s") is None


def test_a_sub_agent_that_was_waited_for_is_lost_with_its_call_and_no_news(kept: SessionStore) -> None:
    board = Backgrounds(kept).of("s").tasks
    board.begin("delegation", "agent-1", "Look", tells=False)
    board.begin("delegation", "agent-2", "Test")

    assert Backgrounds(kept).waiting("s", elsewhere=False) == 1
    after = Backgrounds(kept).of("s")
    assert [task.state for task in after.tasks.list()] == ["lost", "lost"]
    (news,) = after.news.waiting()
    assert news.source == "agent-2"
    assert "(sub-agent: `Test`)" in news.text


def test_a_sub_agent_that_was_waited_for_is_no_news_either_when_its_session_is_closed(
    kept: SessionStore,
) -> None:
    process = Backgrounds(kept)
    process.of("s").tasks.begin("delegation", "agent-1", "Look", tells=False)
    process.end("s", "the session was closed")

    assert [task.state for task in kept.tasks("s")] == ["stopped"]
    assert kept.news("s") == []


def test_what_had_ended_when_the_process_died_is_as_it_ended_though_only_its_news_was_stored(
    kept: SessionStore,
) -> None:
    Backgrounds(kept).of("s").tasks.begin("delegation", "agent-1", "Look")
    news = News("agent-1", "ended", "A sub-agent is done: Look", "It is well.", outcome="done")
    kept.keep_news("s", news)

    for task in (*Backgrounds(kept).tasks("s", elsewhere=False), *Backgrounds(kept).of("s").tasks.list()):
        assert (task.state, task.detail, task.ended_at) == ("done", "A sub-agent is done: Look", news.at)
    assert Backgrounds(kept).of("s").news.waiting() == (news,)
