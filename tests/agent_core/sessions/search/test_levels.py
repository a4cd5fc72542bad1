"""However often words are forgotten, the full-text index stays one that SQLite can use."""

from __future__ import annotations

import pytest

from agent_core.sessions import search_index
from agent_core.sessions.database import Database
from agent_core.sessions.search_index import forget_deleted, index_pending, levels_of
from tests.support.talks import Talks

_RECORD = "SELECT block FROM messages_fts_data WHERE id = 10"
_MANY_WORDS = " ".join(f"w{number}" for number in range(4_000))  # a part of one page sinks to the lowest level


def _levels(talks: Talks) -> int:
    [(record,)] = talks.execute(_RECORD)
    assert isinstance(record, bytes)
    return levels_of(record)


def test_words_can_be_forgotten_more_often_than_the_index_may_have_levels(
    database: Database, talks: Talks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_index, "MOST_LEVELS", 20)
    (kept,) = talks.add("s", [f"lasting {_MANY_WORDS}"])
    counts = set()
    for _ in range(60):
        (gone,) = talks.say("s", ["shortlived"])
        index_pending(database)
        talks.execute("DELETE FROM messages WHERE id = ?", gone)
        forget_deleted(database, pause=lambda seconds: None)
        counts.add(_levels(talks))
    assert max(counts) <= 21
    assert talks.execute("SELECT rowid FROM messages_fts WHERE messages_fts MATCH 'lasting'") == [(kept,)]
    assert talks.execute("SELECT rowid FROM messages_fts WHERE messages_fts MATCH 'shortlived'") == []
    talks.execute("INSERT INTO messages_fts (messages_fts, rank) VALUES ('integrity-check', 1)")


@pytest.mark.parametrize(
    ("record", "levels"),
    [(b"\0\0\0\0\x14\x01\0", 20), (b"\0\0\0\0\x87\x68\x01", 1_000), (b"\0\0\0\0", 0), (b"", 0)],
)
def test_how_many_levels_there_are_is_read_from_the_indexs_own_record(record: bytes, levels: int) -> None:
    assert levels_of(record) == levels
