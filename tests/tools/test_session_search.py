"""`session_search`: earlier sessions found, read and listed, over a real database."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tools.session_search
from agent_core.messages import Message, tool_call
from agent_core.services import SessionServices, TurnServices
from agent_core.sessions.database import Database
from agent_core.sessions.search import SqliteRecall
from tests.support.services import turn_services
from tests.support.talks import NOW, Talks, answered, printed
from tests.support.tool_context import call, error_of, make_context, payload
from tools.context import ToolContext


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(tmp_path / "hermes-acp.db", clock=lambda: NOW)
    yield database
    database.close()


@pytest.fixture
def talks(database: Database) -> Talks:
    return Talks(database)


@pytest.fixture
def ctx(tmp_path: Path, database: Database) -> ToolContext:
    return make_context(tmp_path, agent=turn_services(SessionServices(lambda: SqliteRecall(database, indexing=30))))


def _told(ctx: ToolContext, **args: Any) -> list[dict[str, Any]]:
    sessions: list[dict[str, Any]] = payload(call(ctx, "session_search", **args))["sessions"]
    return sessions


def test_a_query_finds_sessions_with_the_messages_around_the_hit(ctx: ToolContext, talks: Talks):
    first, second, third = talks.add("s", ["before", answered("the word"), "after"], title="T", cwd="/srv/x")
    (found,) = _told(ctx, query="word")
    date = found.pop("date")
    assert found == {
        "session_id": "s",
        "title": "T",
        "cwd": "/srv/x",
        "hits": 1,
        "messages": [
            {"id": first, "role": "user", "text": "before"},
            {"id": second, "role": "assistant", "text": "the word", "hit": True},
            {"id": third, "role": "user", "text": "after"},
        ],
    }
    assert date.startswith("2027-01-1")


def calling(tool: str) -> Message:
    return {"role": "assistant", "content": "", "tool_calls": [tool_call("c", tool, "{}")]}


def test_the_answer_that_ended_the_turn_of_a_hit_is_shown_however_far_it_is(ctx: ToolContext, talks: Talks):
    work = [message for _ in range(20) for message in (calling("terminal"), printed("output"))]
    ids = talks.add("s", ["how do we deploy the word?", *work, answered("With make deploy. " + "x" * 900)])
    (found,) = _told(ctx, query="word", window=2)
    last = found["messages"][-1]
    assert (last["id"], last["answer"], len(last["text"])) == (ids[-1], True, 918)
    assert [message["id"] for message in found["messages"][:-1]] == ids[:3]
    (read,) = _told(ctx, session_id="s", around_message_id=ids[0], window=1)
    assert read["messages"][-1]["id"] == ids[-1]


def test_a_turn_that_broke_off_has_no_answer(ctx: ToolContext, talks: Talks):
    ids = talks.add("s", ["the word", *[calling("terminal")] * 9])
    (found,) = _told(ctx, query="word", window=1)
    assert [message["id"] for message in found["messages"]] == ids[:2]


def test_the_session_s_own_line_is_not_searched_and_may_be_read(ctx: ToolContext, talks: Talks):
    ids = talks.add(ctx.session_id, ["word"])
    talks.add("fork", ["word"], root=ctx.session_id)
    assert _told(ctx, query="word") == []
    (read,) = _told(ctx, session_id=ctx.session_id, around_message_id=ids[0])
    assert [message["text"] for message in read["messages"]] == ["word"]


def test_nothing_found_says_what_to_try(ctx: ToolContext):
    value = payload(call(ctx, "session_search", query="word"))
    assert value["sessions"] == []
    assert "other words" in value["note"]


def test_messages_that_are_not_searched_yet_are_told(tmp_path: Path, talks: Talks, database: Database):
    talks.add("s", ["word"] * 7)
    recall = SqliteRecall(database, indexing=0)
    ctx = make_context(tmp_path, agent=turn_services(SessionServices(lambda: recall)))
    value = payload(call(ctx, "session_search", query="word"))
    assert "About 7 messages are not searched yet" in value["note"]


def test_limit_sort_window_and_roles_are_passed_on(ctx: ToolContext, talks: Talks):
    talks.add("old", ["x", "word", "y"])
    talks.add("new", ["a longer sentence with the word"])
    talks.add("tool", [printed("word")])
    (found,) = _told(ctx, query="word", limit=1, sort="newest", window=0, role_filter="user")
    assert found["session_id"] == "new"
    found = _told(ctx, query="word", limit="10", window=0, role_filter="tool,user")
    assert {session["session_id"] for session in found} == {"old", "new", "tool"}
    assert all(len(session["messages"]) == 1 for session in found)


def test_a_session_alone_shows_its_beginning_and_end(ctx: ToolContext, talks: Talks):
    ids = talks.add("s", [f"number {number}" for number in range(9)])
    value = payload(call(ctx, "session_search", session_id="s", window=2))
    (read,) = value["sessions"]
    assert [message["id"] for message in read["messages"]] == ids[:2] + ids[-2:]
    assert f"after message {ids[1]}" in value["note"]


def test_a_short_session_is_shown_whole_and_once(ctx: ToolContext, talks: Talks):
    ids = talks.add("s", ["one", "two", "three"])
    value = payload(call(ctx, "session_search", session_id="s", window=2))
    assert [message["id"] for message in value["sessions"][0]["messages"]] == ids
    assert "note" not in value


def test_the_latest_sessions_come_without_this_one(ctx: ToolContext, talks: Talks):
    talks.add("old", ["one"], at=NOW - 2)
    talks.add("new", ["two"], at=NOW - 1)
    talks.add(ctx.session_id, ["three"], at=NOW)
    assert [session["session_id"] for session in _told(ctx, limit=2)] == ["new", "old"]
    assert [session["session_id"] for session in _told(ctx, query="", session_id="", limit=1)] == ["new"]


@pytest.mark.parametrize(
    ("args", "told"),
    [
        ({"query": "🚀"}, "Write words"),
        ({"query": "a", "session_id": "s"}, "not both"),
        ({"around_message_id": 3}, "session_id"),
        ({"session_id": "unknown"}, "no session"),
        ({"session_id": "s", "around_message_id": 99}, "no message 99"),
        ({"session_id": "s", "around_message_id": 10**30}, "no message"),
        ({"query": "a", "sort": "best"}, "relevance, newest"),
        ({"query": "a", "role_filter": "user,system"}, "system is not known: list some of user, assistant, tool"),
        ({"query": "a", "limit": 0}, "at least 1"),
        ({"query": ["a"]}, "string"),
    ],
)
def test_arguments_that_cannot_be_used_are_told(ctx: ToolContext, talks: Talks, args: dict[str, Any], told: str):
    talks.add("s", ["x"])
    assert told in error_of(call(ctx, "session_search", **args))


def test_what_is_told_is_bounded_and_short_messages_stay_whole(ctx: ToolContext, talks: Talks):
    for number in range(10):
        talks.add(f"s{number}", ["short", *["word " * 1000] * 20])
    result = call(ctx, "session_search", query="word", limit=50, window=50)
    found = payload(result)["sessions"]
    assert len(found) == 10
    assert 15_000 < sum(len(m["text"]) for session in found for m in session["messages"]) < 21_000
    assert len(result.text) < 40_000
    (read,) = _told(ctx, session_id="s0", window=20)
    assert read["messages"][0]["text"] == "short"
    assert sum(len(message["text"]) for message in read["messages"]) < 21_000


def test_the_person_sees_which_sessions_were_found(ctx: ToolContext, talks: Talks):
    talks.add("s", ["word"], title="The title", cwd="/srv/x")
    (shown,) = call(ctx, "session_search", query="word").shown
    assert "The title  (/srv/x, 1 found)" in shown.text


@pytest.mark.parametrize("agent", [None, turn_services()])
def test_without_stored_sessions_there_is_one_clear_error(tmp_path: Path, agent: TurnServices | None):
    assert "no stored sessions" in error_of(call(make_context(tmp_path, agent=agent), "session_search", query="x"))


def test_the_definition_is_small():
    definition = tools.session_search.SCHEMA, tools.session_search.DESCRIPTION
    assert len(json.dumps(definition, separators=(",", ":"))) < 700
