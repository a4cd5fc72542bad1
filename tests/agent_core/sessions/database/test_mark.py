"""Whether anything was committed since a moment: by this connection, by another one, by another process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from agent_core.sessions.database import Database, Mark


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(tmp_path / "sessions.db")
    _put(database, "first")
    yield database
    database.close()


def _put(database: Database, name: str) -> None:
    with database.write() as connection:
        connection.execute("INSERT INTO texts VALUES (?, 'body')", (name,))


def _is_now(database: Database, moment: Mark | None) -> bool:
    with database.write() as connection:
        return moment is not None and moment.is_now(connection)


def test_nothing_has_happened_since_where_others_only_read_and_what_is_begun_is_given_up(database: Database) -> None:
    moment = database.mark()
    with database.read() as connection:
        connection.execute("SELECT * FROM texts").fetchall()
    assert _is_now(database, moment)
    assert _is_now(database, moment)


def test_what_this_connection_writes_is_something(database: Database) -> None:
    moment = database.mark()
    _put(database, "mine")
    assert not _is_now(database, moment)


def test_so_is_what_the_transaction_itself_has_written_by_then(database: Database) -> None:
    moment = database.mark()
    assert moment is not None
    with database.write() as connection:
        connection.execute("UPDATE texts SET body = 'other'")
        assert not moment.is_now(connection)


def test_what_others_commit_is_something(database: Database) -> None:
    moment = database.mark()
    with closing(database.another()) as other:
        _put(other, "theirs")
    assert not _is_now(database, moment)


def test_what_others_give_up_is_nothing(database: Database) -> None:
    moment = database.mark()
    with closing(database.another()) as other, suppress(ZeroDivisionError), other.write() as connection:
        connection.execute("DELETE FROM texts")
        raise ZeroDivisionError
    assert _is_now(database, moment)


def test_another_connection_cannot_tell(database: Database) -> None:
    moment = database.mark()
    with closing(database.another()) as other:
        assert not _is_now(other, moment)
    assert _is_now(database, moment)


def test_a_file_that_was_replaced_is_another_one(database: Database) -> None:
    database.checkpoint()
    moment = database.mark()
    copy = database.path.with_name("copy")
    copy.write_bytes(database.path.read_bytes())
    for left in database.path.parent.glob("sessions.db-*"):
        left.unlink()
    copy.replace(database.path)
    assert not _is_now(database, moment)


def test_there_is_none_of_a_file_that_is_not_there_nor_while_somebody_writes_nor_behind_the_end(
    database: Database, tmp_path: Path
) -> None:
    missing = Database(tmp_path / "missing.db")
    assert missing.mark() is None
    assert not missing.path.exists()
    with database.write():
        assert database.mark() is None
    database.close()
    assert database.mark() is None
