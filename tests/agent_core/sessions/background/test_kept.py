"""What goes on behind a session, in the database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_core.background_tasks import News, TaskInfo
from agent_core.errors import StoreError
from agent_core.messages import injected_message
from agent_core.sessions.store import SessionStore
from tests.support.session_database import Desk

FULL = StoreError("The disk is full.", "full")
DONE = TaskInfo("p1", "process", "make test", "done", 10.0, 12.0, "exit code 0")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path / "hermes-acp.db")
    desk.store.create("s", "/srv/project")
    yield desk
    desk.close()


@pytest.fixture
def kept(desk: Desk) -> SessionStore:
    return desk.store


def _telling(*news: News) -> dict[str, object]:
    return {**injected_message("news"), "news": [each.id for each in news]}


def test_news_come_back_as_they_were(kept: SessionStore) -> None:
    first, second = (
        News("p1", "ended", "ended", "exit \ud800 1" * 500, 10.0),
        News("p2", "matched", "m", "line", 11.0),
    )
    kept.keep_news("s", first)
    kept.keep_news("s", second)
    kept.keep_news("s", first)

    assert kept.news("s") == [first, second]
    assert kept.news("another") == []


def test_a_message_takes_the_news_that_it_tells_out_of_the_store(desk: Desk, kept: SessionStore) -> None:
    told, waits = News("p1", "ended", "a", "a"), News("p2", "ended", "b", "b")
    kept.keep_news("s", told)
    kept.keep_news("s", waits)
    desk.store.begin_turn("s", "t")
    desk.store.append("s", "t", _telling(told))  # type: ignore[arg-type]

    assert kept.news("s") == [waits]
    assert desk.store.messages("s")[0]["news"] == [told.id]


def test_news_whose_message_is_not_stored_stay(desk: Desk, kept: SessionStore) -> None:
    told = News("p1", "ended", "a", "a")
    kept.keep_news("s", told)
    desk.store.begin_turn("s", "t")
    desk.database.fails_before = FULL
    desk.store.append("s", "t", _telling(told))  # type: ignore[arg-type]
    desk.database.fails_before = None

    assert kept.news("s") == [told]
    desk.clock.now += 60
    desk.store.tick()
    assert kept.news("s") == []


def test_news_of_a_turn_that_was_replaced_stay(desk: Desk, kept: SessionStore) -> None:
    told = News("p1", "ended", "a", "a")
    kept.keep_news("s", told)
    desk.store.begin_turn("s", "t")
    desk.store.begin_turn("s", "another")

    assert not desk.store.append("s", "t", _telling(told))  # type: ignore[arg-type]
    assert kept.news("s") == [told]


def test_a_task_is_stored_as_it_is_last(kept: SessionStore) -> None:
    running = TaskInfo("p1", "process", "make test", "running", 10.0)
    kept.keep_task("s", running)
    before = kept.tasks("s")
    kept.keep_task("s", DONE)

    assert (before, kept.tasks("s")) == ([running], [DONE])


def test_old_tasks_that_are_over_are_forgotten_and_what_runs_is_not(kept: SessionStore) -> None:
    kept.keep_task("s", TaskInfo("server", "process", "serve", "running", 1.0))
    for number in range(60):
        kept.keep_task("s", TaskInfo(f"p{number}", "process", "true", "done", 10.0 + number, 99.0))

    names = [task.id for task in kept.tasks("s")]
    assert (names[0], names[-1], len(names)) == ("server", "p59", 51)


def test_what_cannot_be_stored_ends_nothing(desk: Desk, kept: SessionStore) -> None:
    desk.database.fails_before = FULL
    kept.keep_task("s", DONE)
    kept.keep_news("s", News("p1", "ended", "a", "a"))
    desk.database.fails_before = None

    assert (kept.tasks("s"), kept.news("s")) == ([], [])


def test_what_a_deleted_session_still_tells_is_not_stored(kept: SessionStore) -> None:
    kept.keep_task("gone", DONE)
    kept.keep_news("gone", News("p1", "ended", "a", "a"))

    assert (kept.tasks("gone"), kept.news("gone")) == ([], [])


def test_a_damaged_row_hides_no_other(desk: Desk, kept: SessionStore) -> None:
    kept.keep_task("s", DONE)
    kept.keep_task("s", TaskInfo("p2", "delegation", "look", "lost", 11.0))
    kept.keep_news("s", News("p1", "ended", "a", "a"))
    desk.change("UPDATE tasks SET body = '[1' WHERE name = 'p1'")
    desk.change('UPDATE news SET body = \'{"kind": "odd"}\'')

    assert [task.id for task in kept.tasks("s")] == ["p2"]
    assert kept.news("s") == []
