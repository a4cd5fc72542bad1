"""The index follows the messages, whoever brings it up to date."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from agent_core.messages import injected_message
from agent_core.sessions.database import Database
from agent_core.sessions.search_index import index_pending, unsearched
from tests.support.talks import Talks, answered, printed

_INDEX_ALL = """
import sys
from pathlib import Path
from agent_core.sessions.database import Database
from agent_core.sessions.search_index import index_pending
database = Database(Path(sys.argv[1]))
index_pending(database, limit=1)
print(flush=True)
sys.stdin.readline()
while index_pending(database, limit=7):
    pass
database.close()
"""


class _CountingDatabase(Database):
    transactions = 0

    def write(self, patience: float | None = None) -> AbstractContextManager[sqlite3.Connection]:
        self.transactions += 1
        return super().write(patience)


def _indexed(talks: Talks) -> list[tuple[object, ...]]:
    return talks.execute("SELECT message_id, user || assistant || tool FROM search_texts ORDER BY message_id")


def _found(talks: Talks, expression: str) -> list[object]:
    rows = talks.execute("SELECT rowid FROM messages_fts WHERE messages_fts MATCH ? ORDER BY rowid", expression)
    return [row[0] for row in rows]


def test_each_message_is_indexed_once_in_the_column_of_its_role(database: Database, talks: Talks):
    first, second, third = talks.add("s", ["one", answered("two"), printed("three")])
    assert index_pending(database) == 3
    assert index_pending(database) == 0
    assert _found(talks, "user: one") == [first]
    assert _found(talks, "assistant: two") == [second]
    assert _found(talks, "tool: three") == [third]


def test_it_goes_on_where_it_ended(database: Database, talks: Talks):
    ids = talks.add("s", [f"word{number}" for number in range(100)])
    assert [index_pending(database, limit=45) for _ in range(4)] == [45, 45, 10, 0]
    ids += talks.say("s", ["later"])
    assert unsearched(database) == 1
    assert index_pending(database) == 1
    assert [row[0] for row in _indexed(talks)] == ids


def test_messages_without_text_do_not_hold_it_up(database: Database, talks: Talks):
    talks.add("s", [injected_message("Go on.")] * 50)
    (last,) = talks.say("s", ["found"])
    assert index_pending(database, limit=10) == 10
    assert sum(iter(lambda: index_pending(database, limit=10), 0)) == 41
    assert _found(talks, "found") == [last]
    assert _found(talks, "go") == []


def test_a_damaged_message_does_not_hold_it_up(database: Database, talks: Talks):
    ids = talks.add("s", ["one", "two", "three", "four"])
    talks.execute("UPDATE messages SET body = ? WHERE id = ?", b"\0broken", ids[1])
    talks.execute("UPDATE messages SET body = ? WHERE id = ?", "[1]", ids[2])
    assert index_pending(database) == 4
    assert _found(talks, "one OR two OR three OR four") == [ids[0], ids[3]]


def test_text_that_models_write_badly_is_indexed(database: Database, talks: Talks):
    ids = talks.add("s", ["half \ud83d pair", "nul \0 byte", ""])
    assert index_pending(database) == 3
    assert _found(talks, "pair OR byte") == ids[:2]


def test_with_no_time_left_nothing_more_is_begun(database: Database, talks: Talks):
    talks.add("s", ["one"] * 100)
    assert index_pending(database, within=0.0) == 0
    assert unsearched(database) == 100


def test_deleted_messages_leave_the_index_and_it_goes_on(database: Database, talks: Talks):
    (kept,) = talks.add("kept", ["word"])
    talks.add("gone", ["word"] * 3)
    index_pending(database)
    talks.execute("DELETE FROM sessions WHERE id = 'gone'")
    assert _found(talks, "word") == [kept]
    assert unsearched(database) == 0
    (new,) = talks.say("kept", ["word"])
    assert index_pending(database) == 1
    assert _found(talks, "word") == [kept, new]
    talks.execute("INSERT INTO messages_fts (messages_fts) VALUES ('integrity-check')")


def test_a_message_that_is_hidden_or_shown_again_is_marked(database: Database, talks: Talks):
    before, after = talks.add("s", ["one", "two"])
    talks.hide(before, "undone")
    index_pending(database)
    talks.hide(after, "withdrawn")
    marks = "SELECT hidden FROM search_texts ORDER BY message_id"
    assert talks.execute(marks) == [("undone",), ("withdrawn",)]
    talks.hide(before, "")
    assert talks.execute(marks) == [("",), ("withdrawn",)]


def test_the_index_can_be_made_anew_from_its_texts(database: Database, talks: Talks):
    ids = talks.add("s", ["全文检索", injected_message("x"), printed("done")])
    index_pending(database)
    talks.execute("INSERT INTO messages_fts (messages_fts) VALUES ('rebuild')")
    talks.execute("INSERT INTO messages_fts (messages_fts) VALUES ('integrity-check')")
    assert _found(talks, '"检 索" OR done') == [ids[0], ids[2]]


@pytest.mark.parametrize(("length", "transactions"), [(100, 4), (70_000, 50)])
def test_a_transaction_takes_few_messages_where_they_are_long(tmp_path: Path, length: int, transactions: int):
    database = _CountingDatabase(tmp_path / "hermes-acp.db")
    Talks(database).add("s", ["word " * (length // 5)] * 50)
    database.transactions = 0
    assert index_pending(database) == 50
    assert database.transactions == transactions
    database.close()


def test_threads_and_processes_index_at_once(database: Database, talks: Talks):
    for number in range(6):
        talks.add(f"s{number}", [f"word{number} x"] * 100)
    command = [sys.executable, "-c", _INDEX_ALL, str(database.path)]
    root = Path(__file__).parents[4]
    others = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=root) for _ in range(2)]
    for other in others:
        assert other.stdout.readline()
    for other in others:
        other.stdin.write(b"\n")
        other.stdin.close()
    # The writer goes on meanwhile.
    threads = [threading.Thread(target=_index_all, args=(database,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for number in range(30):
        talks.say("s0", [f"late{number}"])
    for thread in threads:
        thread.join()
    assert [other.wait(30) for other in others] == [0, 0]
    for other in others:
        other.stdout.close()
    _index_all(database)
    stored = talks.execute("SELECT id FROM messages ORDER BY id")
    assert [(row[0],) for row in _indexed(talks)] == stored
    assert len(stored) == 630
    assert len(_found(talks, "x")) == 600
    talks.execute("INSERT INTO messages_fts (messages_fts) VALUES ('integrity-check')")


def _index_all(database: Database) -> None:
    while index_pending(database, limit=7):
        pass
