"""However often words are forgotten, the full-text index stays one that SQLite can use."""

from __future__ import annotations

import pytest

from agent_core.errors import StoreError
from agent_core.sessions.database import Database
from agent_core.sessions.search_index import (
    SET_STRUCTURE,
    Level,
    Structure,
    decoded,
    encoded,
    forget_deleted,
    index_pending,
    keep_few,
)
from tests.support.talks import Talks, answered

_RECORD = "SELECT block FROM messages_fts_data WHERE id = 10"
_TOO_MANY = 2_001
_EMPTY = Level(0)
_MANY_WORDS = " ".join(f"w{number}" for number in range(4_000))  # a part of one page sinks to the lowest level


def _structure(database: Database) -> Structure:
    with database.read() as connection:
        return decoded(connection.execute(_RECORD).fetchone()[0])


def _with_levels_below(database: Database, count: int) -> None:
    """The same index as after so many mergings of all its parts."""
    found = _structure(database)
    with database.write() as connection:
        record = encoded(Structure(found.cookie, found.written, (_EMPTY,) * count + found.levels))
        connection.execute(SET_STRUCTURE, (record,))
    database.close()


def _with_levels(database: Database, count: int) -> None:
    _with_levels_below(database, count - len(_structure(database).levels))


def _found(talks: Talks, word: str) -> list[object]:
    return [row[0] for row in talks.execute("SELECT rowid FROM messages_fts WHERE messages_fts MATCH ?", word)]


def _forget_one(database: Database, talks: Talks) -> None:
    (gone,) = talks.say("s", ["shortlived"])
    index_pending(database)
    with database.write() as connection:
        connection.execute("DELETE FROM messages WHERE id = ?", (gone,))
    forget_deleted(database, pause=lambda seconds: None)


def test_words_can_be_forgotten_more_often_than_the_index_may_have_levels(database: Database, talks: Talks):
    (kept,) = talks.add("s", [f"lasting {_MANY_WORDS}"])
    index_pending(database)
    _with_levels_below(database, _TOO_MANY - 6)
    for _ in range(12):
        _forget_one(database, talks)
    assert _found(talks, "lasting") == [kept]
    assert _found(talks, "shortlived") == []
    assert len(_structure(database).levels) < 100


@pytest.mark.long
def test_levels_stay_few_while_other_connections_know_the_index(database: Database, talks: Talks):
    other = database.another()
    (kept,) = talks.add("s", [f"lasting {_MANY_WORDS}"])
    index_pending(database)
    counts = set()
    for number in range(600):
        _forget_one(other if number % 2 else database, talks)
        counts.add(len(_structure(database).levels))
    assert max(counts) < 300
    assert _found(talks, "lasting") == [kept]
    with database.write() as connection:
        connection.execute("INSERT INTO messages_fts (messages_fts, rank) VALUES ('integrity-check', 1)")
    other.close()


def test_an_index_of_too_many_levels_is_usable_again_afterwards(database: Database, talks: Talks):
    (kept,) = talks.add("s", [f"lasting {_MANY_WORDS}"])
    index_pending(database)
    _with_levels_below(database, _TOO_MANY)
    with pytest.raises(StoreError):
        _found(talks, "lasting")
    database.close()
    keep_few(database)
    assert _found(talks, "lasting") == [kept]


def test_an_index_of_few_levels_is_left_alone(database: Database, talks: Talks):
    talks.add("s", [f"lasting {_MANY_WORDS}"])
    index_pending(database)
    _with_levels_below(database, 20)
    before = _structure(database)
    keep_few(database)
    assert _structure(database) == before


def test_levels_are_left_out_once_there_are_250(database: Database, talks: Talks):
    talks.add("s", [f"lasting {_MANY_WORDS}"])
    index_pending(database)
    _with_levels(database, 249)
    keep_few(database)
    assert len(_structure(database).levels) == 249
    _with_levels(database, 250)
    keep_few(database)
    assert len(_structure(database).levels) < 20


def test_a_system_whose_sqlite_lets_nobody_write_the_record_keeps_its_levels(database: Database, talks: Talks):
    talks.add("s", [f"lasting {_MANY_WORDS}"])
    index_pending(database)
    _with_levels(database, 300)
    with database.write() as connection:
        connection.execute(
            "CREATE TRIGGER refused BEFORE INSERT ON messages_fts_data BEGIN SELECT * FROM no_such_table; END"
        )
    keep_few(database)
    assert len(_structure(database).levels) == 300


@pytest.mark.parametrize(
    "record", [b"", b"\0\0\0\0", b"\0\0\0\0\x02\x01\0", b"\0\0\0\0\0\x01\0", b"\xff\0\0\x01\0\0\0\0"]
)
def test_a_record_of_another_kind_is_refused(record: bytes):
    with pytest.raises(ValueError, match=r"^the structure record .* (ends too early|is of an unknown kind)$"):
        decoded(record)


@pytest.mark.parametrize("record", [b"\0\0\0\0\x8f\x00\x01", b"\0\0\0\0\x8f", b""])
def test_a_record_that_cannot_be_read_is_left_as_it_is(database: Database, talks: Talks, record: bytes):
    talks.add("s", [answered("lasting")])
    index_pending(database)
    with database.write() as connection:
        connection.execute(SET_STRUCTURE, (record,))
    database.close()
    keep_few(database)
    with database.read() as connection:
        assert connection.execute(_RECORD).fetchone() == (record,)


def test_an_index_without_a_record_is_left_to_those_who_mend_it(database: Database, talks: Talks):
    talks.execute("DELETE FROM messages_fts_data WHERE id = 10")
    keep_few(database)
    assert talks.execute(_RECORD) == []


def test_records_of_big_indexes_are_read_and_written_alike():
    levels = (Level(2, ((300, 1, 70_000), (301, 1, 1))), _EMPTY, Level(0, ((299, 1, 1 << 31),)))
    structure = Structure(b"\1\2\3\4", 1 << 40, levels)
    assert decoded(encoded(structure)) == structure
    assert [len(level.parts) for level in structure.shortened().levels] == [2, 1]
