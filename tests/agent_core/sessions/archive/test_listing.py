"""Lists of sessions come in pages that neither repeat nor leave out."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import random

import pytest

from agent_core.errors import RequestError, UnknownSession
from agent_core.sessions.archive import SessionArchive
from agent_core.sessions.records import NewSession
from tests.support.stored_sessions import add_talk, create, undo_turn


@pytest.fixture
def archive(database):
    return SessionArchive(database)


def stored(database, times, cwd="/srv/a"):
    """Sessions with one turn each, by id the time they were used."""
    with database.write() as connection:
        for session_id, used in times.items():
            connection.execute(
                "INSERT INTO sessions (id, cwd, source, mode, root_id, created_at, updated_at)"
                " VALUES (?, ?, 'acp', 'default', ?, 1, ?)",
                (session_id, cwd, session_id, used),
            )
            connection.execute(
                "INSERT INTO turns (session_id, number, id, began_at) VALUES (?, 1, 't', 1)", (session_id,)
            )


def pages(archive, limit, between=lambda: None, **selection):
    """The ids on all pages, in order."""
    ids, cursor = [], None
    while True:
        page = archive.page(cursor=cursor, limit=limit, **selection)
        assert len(page.sessions) <= limit
        ids += [record.id for record in page.sessions]
        cursor = page.next_cursor
        if cursor is None:
            return ids
        assert len(page.sessions) == limit
        between()


def test_the_last_used_come_first_and_of_equals_the_smaller_id(archive, database):
    stored(database, {"a": 1.0, "c": 3.5, "b": 3.5, "d": 2.0})
    assert [record.id for record in archive.page().sessions] == ["b", "c", "d", "a"]


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 24, 25, 26])
def test_pages_together_are_the_whole_list(archive, database, limit):
    times = {f"s{number:02}": float(number % 4) + 0.1 for number in range(25)}  # many were used at the same time
    stored(database, times)
    assert pages(archive, limit) == sorted(times, key=lambda name: (-times[name], name))


def test_nothing_is_told_twice_and_only_what_was_used_itself_is_missed(archive, database):
    noise = random.Random(7)
    times = {f"s{number:03}": float(number) for number in range(200)}
    stored(database, times)
    touched = set()

    def others_work():
        for name in noise.sample(sorted(times), 5):
            touched.add(name)
            with database.write() as connection:
                connection.execute("UPDATE sessions SET updated_at = ? WHERE id = ?", (database.clock(), name))
        stored(database, {f"new{len(touched)}": database.clock()})

    ids = pages(archive, 10, others_work)
    assert len(ids) == len(set(ids))
    assert set(times) - set(ids) <= touched
    assert [name for name in ids if name not in touched] == sorted(set(times) - touched, reverse=True)


def test_deleting_what_the_cursor_stands_on_does_not_matter(archive, database):
    stored(database, {f"s{number}": float(number) for number in range(6)})
    first = archive.page(limit=3)
    archive.delete(first.sessions[-1].id)
    second = archive.page(limit=3, cursor=first.next_cursor)
    assert [record.id for record in second.sessions] == ["s2", "s1", "s0"]


def test_only_sessions_of_the_directory_are_listed(archive, database):
    stored(database, {"a": 1.0, "b": 2.0}, cwd="/srv/a")
    stored(database, {"c": 3.0, "d": 4.0, "e": 5.0}, cwd="/srv/a/b")
    assert pages(archive, 1, cwd="/srv/a") == ["b", "a"]
    assert pages(archive, 2, cwd="/srv/a/b") == ["e", "d", "c"]
    assert pages(archive, 2, cwd="/srv") == []


def test_two_spellings_of_a_directory_are_one_whichever_it_was_stored_with(archive, database, tmp_path):
    real, link = tmp_path / "project", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    spelled = {"a": str(real), "b": str(link), "c": f"/{real}", "d": f"{real}/", "e": f"{link}/../project"}
    for at, (name, cwd) in enumerate(spelled.items()):
        stored(database, {name: float(at)}, cwd=cwd)
    stored(database, {"f": 9.0}, cwd=str(tmp_path))
    for cwd in spelled.values():
        assert pages(archive, 2, cwd=cwd) == ["e", "d", "c", "b", "a"]
    assert pages(archive, 2, cwd=str(tmp_path)) == ["f"]


def test_a_directory_that_is_gone_is_compared_as_text(archive, database, tmp_path):
    stored(database, {"a": 1.0}, cwd=f"{tmp_path}/gone")
    stored(database, {"b": 2.0}, cwd=f"{tmp_path}/Gone")
    assert pages(archive, 1, cwd=f"/{tmp_path}//gone/") == ["a"]


def test_sessions_without_a_turn_are_listed_on_demand_only(archive, database):
    for session_id in ("empty", "mine", "used", "undone"):
        create(archive.database, NewSession(session_id, "/srv"))
    add_talk(database, "used", "t")
    undo_turn(database, "undone", add_talk(database, "undone", "t"))
    assert {record.id for record in archive.page().sessions} == {"used", "undone"}
    assert {record.id for record in archive.page(with_empty=["mine", "gone"]).sessions} == {"used", "undone", "mine"}


@pytest.mark.parametrize(("limit", "told"), [(0, 1), (-5, 1), (10**9, 3)])
def test_a_strange_limit_is_brought_into_bounds(archive, database, limit, told):
    stored(database, {"a": 1.0, "b": 2.0, "c": 3.0})
    assert len(archive.page(limit=limit).sessions) == told


def test_a_cursor_of_another_list_is_refused(archive, database):
    stored(database, {"a": 1.0, "b": 2.0})
    cursor = archive.page(limit=1, cwd="/srv/a").next_cursor
    for other in ({}, {"cwd": "/srv/b"}, {"cwd": "/srv/a", "archived": True}):
        with pytest.raises(RequestError, match="List again without a cursor"):
            archive.page(cursor=cursor, **other)


def encoded(value):
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode()


MARK = hashlib.sha256(json.dumps([None, False]).encode()).hexdigest()[:16]  # of the list of all sessions


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "x",
        "null",
        "ü",
        "a b",
        "\ud800",
        "A" * 100_000,
        encoded("text"),
        encoded([]),
        encoded([2, MARK, 1.0, "a"]),
        encoded([MARK, None, "a"]),
        encoded([MARK, 1.0, 5]),
        encoded([MARK, 1.0, "a", "more"]),
        encoded([["mark"], 1.0, "a"]),
        encoded({"version": 1}),
        encoded([[[]]] * 50),
        base64.urlsafe_b64encode(b"\xff\xfe").decode(),
        base64.urlsafe_b64encode(b"[" * 2000).decode(),
    ],
)
def test_what_is_no_cursor_is_refused_with_what_to_do(archive, database, cursor):
    stored(database, {"a": 1.0})
    with pytest.raises(RequestError, match="List again without a cursor"):
        archive.page(cursor=cursor)


def test_a_damaged_cursor_never_does_worse_than_being_refused(archive, database):
    noise = random.Random(3)
    stored(database, {f"s{number}": float(number) for number in range(5)})
    cursor = archive.page(limit=2).next_cursor
    for _ in range(300):
        damaged = list(cursor)
        damaged[noise.randrange(len(damaged))] = chr(noise.randrange(1, 0x2FF))
        with contextlib.suppress(RequestError):
            archive.page(cursor="".join(damaged))


@pytest.mark.parametrize("session_id", ["\ud800", "'; DROP TABLE sessions", "\x00"])
def test_any_id_in_a_cursor_is_only_a_place(archive, database, session_id):
    stored(database, {"a": 1.0, "b": 2.0})
    page = archive.page(cursor=encoded([MARK, 2, session_id]))
    assert {record.id for record in page.sessions} <= {"a", "b"}


@pytest.mark.parametrize("selection", [{}, {"cwd": "/srv/a"}, {"archived": True}])
@pytest.mark.parametrize("with_cursor", [False, True])
def test_a_page_is_read_from_an_index_without_sorting(archive, database, selection, with_cursor):
    create(archive.database, NewSession("a", "/srv/a"))
    mark = hashlib.sha256(json.dumps([selection.get("cwd"), "archived" in selection]).encode()).hexdigest()[:16]
    asked = []
    with database.read() as connection:
        connection.set_trace_callback(asked.append)
    archive.page(**selection, cursor=encoded([mark, 5.0, "a"]) if with_cursor else None)
    with database.read() as connection:
        connection.set_trace_callback(None)
        (statement,) = (each for each in asked if "ORDER BY" in each)
        plan = [row[-1] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}")]
    index = "sessions_by_cwd" if "cwd" in selection else "sessions_by_time"
    assert any(f"SEARCH s USING INDEX {index}" in step for step in plan)
    assert not any("TEMP B-TREE" in step or step.startswith(("SCAN s", "SCAN turns")) for step in plan)


def test_sessions_of_sub_agents_are_told_of_by_their_parent_alone(archive, database):
    create(archive.database, NewSession("p", "/srv/a"))
    for child in ("agent-2", "agent-1"):
        create(archive.database, NewSession(child, "/srv/a", source="sub-agent", parent_id="p"))
    create(archive.database, NewSession("agent-3", "/srv/a", source="sub-agent", parent_id="agent-1"))
    archive.fork("p", NewSession("f", "/srv/a"))
    assert set(pages(archive, 10, with_empty=("p", "f", "agent-1", "agent-3"))) == {"p", "f"}
    assert [record.id for record in archive.children("p")] == ["agent-2", "agent-1"]
    assert {record.root_id for record in archive.children("agent-1")} == {"p"}
    assert archive.get("f").title == archive.get("p").title
    assert archive.delete("p")
    assert archive.children("p") == ()
    for gone in ("agent-1", "agent-2", "agent-3"):
        with pytest.raises(UnknownSession):
            archive.get(gone)
    assert archive.get("f").id == "f"
