"""What a session store does, in memory as in a file."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from agent_core.compaction.engine import Compaction
from agent_core.errors import UnknownSession
from agent_core.messages import assistant_message, user_message
from agent_core.sessions.database import Database, MemoryDatabase
from agent_core.sessions.records import KeptState
from agent_core.sessions.store import SessionStore
from tests.support.agents import in_background

HELLO = user_message("hello")


@pytest.fixture(params=["in memory", "in a file"])
def store(request, tmp_path) -> Iterator[SessionStore]:
    database = MemoryDatabase() if request.param == "in memory" else Database(tmp_path / "hermes-acp.db")
    store = SessionStore(database)
    store.create("s", "/src")
    yield store
    store.close()
    database.close()


def test_a_new_session_is_empty(store):
    assert store.messages("s") == []


def test_messages_of_the_running_turn_are_kept_in_order(store):
    store.begin_turn("s", "t1")
    messages = [HELLO, assistant_message("hi", reasoning="hm"), user_message([{"type": "text", "text": "ü"}])]
    assert [store.append("s", "t1", message) for message in messages] == [True] * 3
    assert store.messages("s") == messages


def test_messages_outlast_their_turn(store):
    store.begin_turn("s", "t1")
    store.append("s", "t1", HELLO)
    store.end_turn("s", "t1")
    store.begin_turn("s", "t2")
    assert store.append("s", "t2", assistant_message("hi"))
    assert store.messages("s") == [HELLO, assistant_message("hi")]


def test_the_list_belongs_to_the_caller(store):
    store.begin_turn("s", "t1")
    store.append("s", "t1", HELLO)
    store.messages("s").clear()
    assert store.messages("s") == [HELLO]


@pytest.mark.parametrize("begun", [(), ("t1",), ("t1", "t2")], ids=["none", "ended", "replaced"])
def test_a_turn_that_is_not_the_running_one_is_refused(store, begun):
    for turn in begun:
        store.begin_turn("s", turn)
    if begun == ("t1",):
        store.end_turn("s", "t1")
    assert store.append("s", "t1", HELLO) is False
    assert store.messages("s") == []


def test_the_end_of_a_replaced_turn_does_not_end_its_successor(store):
    store.begin_turn("s", "t1")
    store.begin_turn("s", "t2")
    store.end_turn("s", "t1")
    assert store.append("s", "t2", HELLO)


def test_a_turn_may_be_ended_twice(store):
    store.begin_turn("s", "t1")
    store.end_turn("s", "t1")
    store.end_turn("s", "t1")
    assert not store.append("s", "t1", HELLO)


def test_sessions_do_not_see_each_other(store):
    store.create("other", "/src")
    store.begin_turn("s", "t1")
    store.begin_turn("other", "t2")
    store.append("s", "t1", HELLO)
    assert not store.append("other", "t1", HELLO)
    assert store.messages("other") == []


def test_a_session_that_exists_is_not_made_anew(store):
    store.begin_turn("s", "t1")
    store.append("s", "t1", HELLO)
    store.create("s", "/elsewhere")
    assert store.messages("s") == [HELLO]
    assert store.append("s", "t1", HELLO)


def test_an_unknown_session_is_named(store):
    for use in (
        lambda: store.messages("nobody"),
        lambda: store.begin_turn("nobody", "t"),
        lambda: store.kept("nobody"),
    ):
        with pytest.raises(UnknownSession, match="'nobody'"):
            use()


def test_a_released_session_takes_nothing_from_its_turn_and_releasing_twice_is_fine(store):
    store.begin_turn("s", "t1")
    for _ in range(2):
        store.release("s")
    store.end_turn("s", "t1")
    store.create("s", "/src")
    assert not store.append("s", "t1", HELLO)
    assert store.messages("s") == []


def test_withdrawn_messages_are_not_shown_and_what_follows_them_is(store):
    store.begin_turn("s", "t1")
    store.append("s", "t1", HELLO)
    store.append("s", "t1", assistant_message("hi"))
    store.end_turn("s", "t1")
    store.begin_turn("s", "t2")
    store.append("s", "t2", user_message("refused"))
    assert store.withdraw("s", "t2")
    assert store.messages("s") == [HELLO, assistant_message("hi")]
    store.append("s", "t2", user_message("again"))
    assert store.messages("s")[2:] == [user_message("again")]


def test_only_the_running_turn_may_withdraw(store):
    store.begin_turn("s", "t1")
    store.append("s", "t1", HELLO)
    store.begin_turn("s", "t2")
    assert store.withdraw("s", "t1") is False
    assert store.messages("s") == [HELLO]


def test_nothing_was_kept_before_something_is(store):
    assert store.kept("s") is None


def test_the_last_kept_state_comes_back(store):
    store.begin_turn("s", "t1")
    for model in ("one:a", "two:b"):
        store.keep("s", KeptState(system="You are.", model=model, sealed_before=2))
    assert store.kept("s") == KeptState(system="You are.", model="two:b", sealed_before=2)


def test_there_is_no_trouble_where_there_is_none(store):
    store.begin_turn("s", "t1")
    store.append("s", "t1", HELLO)
    assert store.trouble("s") == store.trouble("nobody") == ""


def test_messages_of_many_threads_are_all_kept_each_threads_in_order(store):
    store.begin_turn("s", "t1")
    ready = threading.Barrier(4)

    def write(writer: int) -> None:
        ready.wait(5)
        for number in range(50):
            assert store.append("s", "t1", user_message(f"{writer}:{number}"))

    for done in [in_background(lambda writer=writer: write(writer)) for writer in range(4)]:
        done.result(10)
    found = [str(message["content"]).split(":") for message in store.messages("s")]
    for writer in range(4):
        assert [number for who, number in found if who == str(writer)] == [str(number) for number in range(50)]


def talk(store, turn_id, compacted=None):
    store.begin_turn("s", turn_id)
    store.append("s", turn_id, user_message(turn_id))
    if compacted is not None:
        assert store.compact("s", turn_id, compacted)
    store.append("s", turn_id, assistant_message("yes"))
    store.end_turn("s", turn_id, "end_turn")


FIRST = Compaction(1, 3, "the first", results={"c": "one line"}, cuts={4: 10}, kept=(2,), images_before=4)
SECOND = Compaction(1, 4, "the second", "prose \ud83d", reason="asked", topic="tests", made_by="p:m", sealed_before=5)


def test_the_last_compression_is_in_effect_and_the_messages_are_whole(store):
    assert store.compaction("s") is None
    talk(store, "t1")
    talk(store, "t2", FIRST)
    assert store.compaction("s") == FIRST
    talk(store, "t3", SECOND)
    assert store.compaction("s") == SECOND
    assert len(store.messages("s")) == 6


def test_a_compression_goes_with_the_withdrawn_messages_that_it_was_made_over(store):
    talk(store, "t1")
    talk(store, "t2", FIRST)
    store.begin_turn("s", "t3")
    store.append("s", "t3", user_message("refused"))
    store.compact("s", "t3", SECOND)
    assert store.compaction("s") == SECOND
    store.withdraw("s", "t3")
    assert store.compaction("s") == FIRST
    store.append("s", "t3", user_message("more"))
    store.append("s", "t3", user_message("and more"))
    assert store.compaction("s") == FIRST


def test_only_the_running_turn_may_compress(store):
    talk(store, "t1")
    assert store.compact("s", "t1", FIRST) is False
    assert store.compaction("s") is None


def test_of_an_unknown_session_there_is_no_compression(store):
    with pytest.raises(UnknownSession):
        store.compaction("other")
