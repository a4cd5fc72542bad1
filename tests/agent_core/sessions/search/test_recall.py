"""What is found in stored sessions, and what is told of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_core.messages import assistant_message, injected_message, tool_call
from agent_core.sessions.database import Database
from agent_core.sessions.search import FIRST, LAST, SqliteRecall
from tests.support.talks import NOW, Talks, answered, asked, printed
from tools.agent_ports import RecalledSession, RecallQuery
from tools.errors import ToolError

_DAY = 86_400.0


@pytest.fixture
def recall(database: Database) -> SqliteRecall:
    return SqliteRecall(database, indexing=30)


def _ids(found: tuple[RecalledSession, ...]) -> list[str]:
    return [session.session_id for session in found]


def _texts(session: RecalledSession) -> list[str]:
    return [message.text for message in session.messages]


class TestSearching:
    def test_what_was_stored_just_now_is_found_with_what_is_known_of_its_session(self, recall, talks: Talks):
        asked_id, answer_id = talks.add(
            "s",
            ["Why does the build fail?", answered("A header is missing.")],
            cwd="/srv/other",
            title="Build",
            at=NOW,
        )
        (found,) = recall.search(RecallQuery("header"))
        assert (found.session_id, found.title, found.cwd, found.updated_at) == ("s", "Build", "/srv/other", NOW)
        assert found.hits == 1
        assert [(message.id, message.role, message.is_hit) for message in found.messages] == [
            (asked_id, "user", False),
            (answer_id, "assistant", True),
        ]

    def test_nothing_found_is_no_error(self, recall, talks: Talks):
        talks.add("s", ["one"])
        assert recall.search(RecallQuery("two")) == ()

    def test_an_empty_database_is_no_error(self, recall):
        assert recall.search(RecallQuery("word")) == ()
        assert recall.latest(3) == ()

    def test_all_words_are_wanted_and_any_of_them_where_no_message_has_all(self, recall, talks: Talks):
        talks.add("both", ["red green"])
        talks.add("one", ["green"])
        assert _ids(recall.search(RecallQuery("red green"))) == ["both"]
        assert _ids(recall.search(RecallQuery("green blue"))) == ["one", "both"]

    def test_roles_that_are_not_asked_for_are_not_searched(self, recall, talks: Talks):
        talks.add("user", ["word"])
        talks.add("tool", [printed("word")])
        assert _ids(recall.search(RecallQuery("word"))) == ["user"]
        assert _ids(recall.search(RecallQuery("word", roles=("tool",)))) == ["tool"]

    @pytest.mark.parametrize("hidden", ["undone", "withdrawn"])
    def test_what_was_taken_back_or_refused_is_neither_found_nor_told(self, recall, talks: Talks, hidden: str):
        ids = talks.add("s", ["word before", "word between", "word after"])
        recall.search(RecallQuery("word"))
        talks.hide(ids[1], hidden)
        assert recall.search(RecallQuery("between")) == ()
        (found,) = recall.search(RecallQuery("after"))
        assert _texts(found) == ["word before", "word after"]
        talks.hide(ids[1], "")
        assert _ids(recall.search(RecallQuery("between"))) == ["s"]

    def test_what_the_agent_put_in_itself_is_neither_found_nor_told(self, recall, talks: Talks):
        talks.add("s", ["one", injected_message("Go on with two."), answered("three")])
        assert recall.search(RecallQuery("two")) == ()
        assert _texts(recall.search(RecallQuery("three"))[0]) == ["one", "three"]

    def test_archived_sessions_are_found_and_deleted_ones_are_not(self, recall, talks: Talks):
        for session_id, archived in (("in use", 0), ("archived", 1), ("being deleted", 2), ("gone", 0)):
            talks.add(session_id, ["word"], archived=archived)
        recall.search(RecallQuery("word"))
        talks.execute("DELETE FROM sessions WHERE id = 'gone'")
        assert sorted(_ids(recall.search(RecallQuery("word", limit=10)))) == ["archived", "in use"]

    def test_of_a_line_of_forks_the_best_session_is_told_and_of_copies_the_newest(self, recall, talks: Talks):
        copied = ["the word is here", answered("yes")]
        talks.add("root", copied)
        talks.add("fork", copied, root="root")
        talks.add("last fork", copied, root="root")
        assert _ids(recall.search(RecallQuery("word", limit=10))) == ["last fork"]
        talks.say("root", ["word"])
        found = recall.search(RecallQuery("word", limit=10))
        assert _ids(found) == ["root"]
        assert found[0].hits == 2

    def test_the_line_of_one_session_can_be_left_out(self, recall, talks: Talks):
        for session_id, root in (("root", ""), ("fork", "root"), ("other", "")):
            talks.add(session_id, ["word"], root=root)
        assert _ids(recall.search(RecallQuery("word", not_in="fork"))) == ["other"]
        assert len(recall.search(RecallQuery("word", not_in="not stored"))) == 2

    def test_own_messages_do_not_crowd_out_those_of_others(self, recall, talks: Talks):
        talks.add("other", ["word"])
        talks.add("own", ["word"] * 2100)
        assert _ids(recall.search(RecallQuery("word", not_in="own"))) == ["other"]

    def test_the_better_match_comes_first_and_of_equal_ones_the_newer(self, recall, talks: Talks):
        talks.add("long", ["word " + "and more " * 200], at=NOW)
        talks.add("old", ["word here"], at=NOW - 60 * _DAY)
        talks.add("new", ["word here"], at=NOW)
        talks.add("filler", ["else"] * 20, at=NOW)
        assert _ids(recall.search(RecallQuery("word"))) == ["new", "old", "long"]

    def test_newest_first_is_by_the_messages_whatever_they_are_worth(self, recall, talks: Talks):
        talks.add("a", ["word"])
        talks.add("b", ["word word word"])
        talks.say("a", ["a long sentence with one word of it somewhere in the middle of others"])
        assert _ids(recall.search(RecallQuery("word", sort="newest"))) == ["a", "b"]

    def test_no_more_sessions_than_asked_for(self, recall, talks: Talks):
        for number in range(5):
            talks.add(f"s{number}", ["word"])
        assert len(recall.search(RecallQuery("word", limit=2))) == 2

    def test_the_window_is_around_the_best_hit_and_marks_every_hit_in_it(self, recall, talks: Talks):
        said = [f"number {number}" for number in range(20)]
        said[9], said[10], said[19] = "a word among others", "word", "one word at the end of it all"
        ids = talks.add("s", said)
        (found,) = recall.search(RecallQuery("word", window=2))
        assert [(message.id, message.is_hit) for message in found.messages] == [
            (ids[8], False),
            (ids[9], True),
            (ids[10], True),
            (ids[11], False),
            (ids[12], False),
        ]
        assert found.hits == 3
        assert len(recall.search(RecallQuery("word", window=0))[0].messages) == 1

    def test_the_text_told_is_bounded_and_holds_what_was_found(self, recall, talks: Talks):
        talks.add("s", ["x " * 5_000, "begin " + "x " * 5_000 + "the Word " + "y " * 5_000])
        (found,) = recall.search(RecallQuery("word"))
        other, hit = found.messages
        assert len(other.text) <= 501
        assert 1_000 < len(hit.text) <= 1_502
        assert "the Word y" in hit.text

    def test_calls_are_told_in_short(self, recall, talks: Talks):
        talks.add(
            "s",
            [assistant_message("", [tool_call("c", "write_file", '{"path": "a.py", "content": "word ' + "x" * 900)])],
        )
        (found,) = recall.search(RecallQuery("word"))
        (message,) = found.messages
        assert message.text.startswith('[write_file {"path": "a.py"')
        assert len(message.text) < 250

    def test_a_damaged_message_does_not_hide_those_around_it(self, recall, talks: Talks):
        ids = talks.add("s", ["one", "two", "word"])
        talks.execute("UPDATE messages SET body = ? WHERE id = ?", b"\0broken", ids[1])
        (found,) = recall.search(RecallQuery("word"))
        assert [found.messages[0].text, found.messages[2].text] == ["one", "word"]
        assert "damaged" in found.messages[1].text

    def test_short_cjk_words_are_found(self, recall, talks: Talks):
        talks.add("zh", ["请检查数据库连接"])
        talks.add("ja", ["サーバーが落ちた"])
        talks.add("ko", ["데이터베이스"])
        for words, session_id in (("库", "zh"), ("数据", "zh"), ("落ち", "ja"), ("が", "ja"), ("이터", "ko")):
            assert _ids(recall.search(RecallQuery(words))) == [session_id], words

    def test_a_query_that_says_nothing_is_an_error(self, recall):
        with pytest.raises(ToolError, match="empty"):
            recall.search(RecallQuery("  "))

    def test_what_there_was_no_time_for_is_told(self, database, recall, talks: Talks):
        talks.add("s", ["word"] * 30)
        assert SqliteRecall(database, indexing=0).search(RecallQuery("word")) == ()
        assert recall.unsearched() == 30
        (found,) = recall.search(RecallQuery("word"))
        assert (found.hits, recall.unsearched()) == (30, 0)

    def test_while_another_program_writes_for_long_what_is_indexed_is_searched(self, database, recall, talks: Talks):
        talks.add("before", ["word"])
        recall.search(RecallQuery("word"))
        talks.add("after", ["word"])
        other = Database(database.path)
        recall = SqliteRecall(database)
        with other.write():
            assert _ids(recall.search(RecallQuery("word"))) == ["before"]
            assert recall.unsearched() == 1
        other.close()

    def test_a_database_that_cannot_be_read_is_an_error_for_the_model(self, tmp_path: Path):
        path = tmp_path / "broken.db"
        path.write_bytes(b"no database at all" * 500)
        with pytest.raises(ToolError, match=r"broken\.db"):
            SqliteRecall(Database(path)).search(RecallQuery("word"))


class TestReading:
    def test_the_messages_around_one(self, recall, talks: Talks):
        ids = talks.add("s", [f"number {number}" for number in range(9)], title="T")
        found = recall.around("s", ids[4], 2)
        assert [message.id for message in found.messages] == ids[2:7]
        assert (found.title, found.hits) == ("T", 0)
        assert [message.id for message in recall.around("s", ids[0], 2).messages] == ids[:3]

    def test_the_beginning_and_the_end(self, recall, talks: Talks):
        ids = talks.add("s", [f"number {number}" for number in range(9)])
        talks.add("next", ["another"])
        assert [message.id for message in recall.around("s", FIRST, 3).messages] == ids[:3]
        assert [message.id for message in recall.around("s", LAST, 3).messages] == ids[-3:]
        assert recall.around("s", FIRST, 0).messages == ()

    def test_more_of_a_message_is_told_than_in_a_search(self, recall, talks: Talks):
        (only,) = talks.add("s", ["x" * 10_000])
        assert recall.around("s", only, 0).messages[0].text == "x" * 4_000 + "…"

    def test_an_unknown_or_deleted_session_is_an_error(self, recall, talks: Talks):
        (gone,) = talks.add("gone", ["x"], archived=2)
        for session_id in ("unknown", "gone"):
            with pytest.raises(ToolError, match="no session"):
                recall.around(session_id, gone, 1)

    def test_a_message_that_is_not_there_is_an_error(self, recall, talks: Talks):
        talks.add("s", ["one", "two"])
        (other,) = talks.add("other", ["three"])
        (undone,) = talks.say("s", ["four"])
        talks.hide(undone, "undone")
        for message_id in (other, undone, 10_000, 2**63 - 1, -7):
            with pytest.raises(ToolError, match="no message"):
                recall.around("s", message_id, 1)

    def test_the_latest_sessions_with_their_first_messages(self, recall, talks: Talks):
        talks.add("old", [asked("first"), answered("second"), answered("third")], at=NOW - 9)
        talks.add("new", ["only"], at=NOW)
        talks.add("archived", ["x"], archived=1)
        talks.add("deleted", ["x"], archived=2)
        talks.add("empty", at=NOW)
        new, old = recall.latest(5)
        assert (new.session_id, _texts(new)) == ("new", ["only"])
        assert (old.session_id, _texts(old)) == ("old", ["first", "second"])
        assert _ids(recall.latest(1)) == ["new"]
