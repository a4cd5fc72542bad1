"""Stored sessions are made, found, changed and named."""

from __future__ import annotations

import os

import pytest

from agent_core.errors import RequestError, SessionInUse, UnknownSession
from agent_core.providers.base import Usage
from agent_core.providers.pricing import Spent
from agent_core.sessions.archive import SessionArchive
from agent_core.sessions.leases import this_process
from agent_core.sessions.records import KeptState, NewSession
from agent_core.sessions.rows import packed_state, read_state, write_state
from tests.support.stored_sessions import add_talk, create, held_elsewhere, undo_turn

OWN = this_process()
NEW = NewSession("s1", "/srv/a", ("/srv/b", "/srv/ü"), "prompt", "plan", "offline:m", {"thinking": "high"})


@pytest.fixture
def archive(database):
    return SessionArchive(database)


def test_a_session_comes_back_as_it_was_made(archive):
    create(archive.database, NEW)
    record = archive.get("s1")
    kept = (record.cwd, record.roots, record.source, record.mode, record.model, record.options)
    assert kept == (NEW.cwd, NEW.roots, NEW.source, NEW.mode, NEW.model, NEW.options)
    assert (record.title, record.parent_id, record.root_id, record.turns) == (None, None, "s1", 0)
    assert (record.archived, record.holder, record.spent) == (False, None, Spent())
    assert record.created_at == record.updated_at


def test_a_session_that_exists_is_left_as_it_is(archive):
    create(archive.database, NEW)
    before = archive.get("s1")
    create(archive.database, NewSession("s1", "/srv/other"))
    assert archive.get("s1") == before


def test_what_cannot_be_read_of_a_row_hides_no_session(archive, database):
    create(archive.database, NEW)
    with database.write() as connection:
        connection.execute(
            "UPDATE sessions SET roots = '[', options = '7', usage = '[]', holder = 'x', holder_token = 't'"
        )
    record = archive.get("s1")
    assert (record.roots, record.options, record.spent) == ((), {}, Spent())
    assert record.holder is not None


def test_spent_and_holder_are_told(archive, database):
    create(archive.database, NEW)
    spent = Spent(3, Usage(10, 5, None, 0, None), None)
    with database.write() as connection:
        write_state(connection, "s1", packed_state(KeptState(model="offline:m", spent=spent)))
    with held_elsewhere(database, "s1") as pid:
        record = archive.get("s1")
    assert record.spent == spent
    assert record.holder is not None
    assert (record.holder.pid, record.holder.program) == (pid, "another program")


def test_what_is_chosen_elsewhere_for_a_session_that_a_living_process_holds_is_refused(archive, database):
    create(archive.database, NEW)
    with held_elsewhere(database, "s1"):
        with pytest.raises(SessionInUse, match="cannot be changed here"):
            archive.update("s1", OWN, mode="dont_ask", options={})
        assert archive.get("s1").mode == "plan"
    archive.update("s1", OWN, mode="default")
    assert archive.get("s1").mode == "default"


def test_turns_are_counted_and_told_without_undone_ones(archive, database):
    create(archive.database, NEW)
    add_talk(database, "s1", "t1")
    second = add_talk(database, "s1", "t2")
    undo_turn(database, "s1", second)
    assert archive.get("s1").turns == 1
    assert [(turn.number, turn.id) for turn in archive.transcript("s1").turns] == [(1, "t1")]


@pytest.mark.parametrize(
    "use",
    [
        lambda archive: archive.get("none"),
        lambda archive: archive.find("none"),
        lambda archive: archive.move("none", "/srv", ()),
        lambda archive: archive.update("none", OWN, mode="plan"),
        lambda archive: archive.name("none", "Title", "person"),
        lambda archive: archive.archive("none", archived=True),
        lambda archive: archive.fork("none", NewSession("new", "/srv")),
        lambda archive: archive.transcript("none"),
    ],
)
def test_an_unknown_session_is_told_and_not_made(archive, use):
    with pytest.raises(UnknownSession, match="none"):
        use(archive)
    assert archive.page(with_empty=["none", "new"]).sessions == ()


def test_a_session_is_found_by_a_beginning_of_its_id_that_only_it_has(archive):
    for session_id in ("ab1", "ab2", "ab", "cd"):
        create(archive.database, NewSession(session_id, "/srv"))
    assert archive.find("c").id == "cd"
    assert archive.find("ab").id == "ab"
    assert archive.find("ab2").id == "ab2"
    archive.name("ab1", "One of them", "person")
    with pytest.raises(RequestError, match=r"ab1 \(One of them\)"):
        archive.find("a")


@pytest.mark.parametrize("beginning", ["%", "_", "a%", "A", "\U0010ffff", "b'"])
def test_signs_in_a_beginning_have_no_meaning(archive, beginning):
    create(archive.database, NewSession("ab", "/srv"))
    with pytest.raises(UnknownSession):
        archive.find(beginning)


def test_an_empty_beginning_names_no_session(archive):
    create(archive.database, NewSession("ab", "/srv"))
    with pytest.raises(RequestError, match="beginning"):
        archive.find("")


def test_choices_are_changed_one_by_one(archive):
    create(archive.database, NEW)
    archive.update("s1", OWN, mode="default")
    archive.update("s1", OWN, model="other:m")
    archive.update("s1", OWN, options={"thinking": "low", "lone": "\ud800"})
    record = archive.get("s1")
    assert (record.mode, record.model, record.options) == (
        "default",
        "other:m",
        {"thinking": "low", "lone": "\ud800"},
    )
    archive.update("s1", OWN, options={})
    assert archive.get("s1").options == {}


@pytest.mark.parametrize(("place", "system"), [(("/srv/a", NEW.roots), "You are in /srv/a."), (("/srv/c", ()), None)])
def test_the_system_prompt_stays_only_where_the_session_stays(archive, database, place, system):
    create(archive.database, NEW)
    with database.write() as connection:
        write_state(connection, "s1", packed_state(KeptState(system="You are in /srv/a.", tools=({"name": "t"},))))
    archive.move("s1", *place)
    record = archive.get("s1")
    assert (record.cwd, record.roots) == place
    with database.read() as connection:
        kept = read_state(connection, "s1")
    assert (kept.system, kept.tools) == (system, ({"name": "t"},))


def test_a_better_title_replaces_a_worse_one(archive):
    create(archive.database, NEW)
    assert archive.name("s1", "from the prompt", "prompt")
    assert not archive.name("s1", "from a later prompt", "prompt")
    assert archive.name("s1", "from a model", "model")
    assert archive.name("s1", "from a model again", "model")
    assert not archive.name("s1", "from the prompt", "prompt")
    assert archive.name("s1", "mine", "person")
    assert not archive.name("s1", "from a model", "model")
    assert archive.name("s1", "mine too", "person")
    assert archive.get("s1").title == "mine too"


def test_a_title_is_one_clean_line_and_nothing_is_no_title(archive):
    create(archive.database, NEW)
    assert archive.name("s1", " Fix\x1b[31m\nthe\tbug \u202e\ud800" + "x" * 300, "person")
    title = archive.get("s1").title
    assert title.startswith("Fix [31m the bug xxx")
    assert len(title) <= 200
    assert not archive.name("s1", " \n\x00 ", "person")
    assert archive.get("s1").title == title


def test_archived_sessions_are_listed_apart_and_can_be_taken_back(archive, database):
    create(archive.database, NEW)
    add_talk(database, "s1", "t1")
    archive.archive("s1", archived=True)
    assert archive.get("s1").archived
    assert archive.page().sessions == ()
    assert [record.id for record in archive.page(archived=True).sessions] == ["s1"]
    archive.archive("s1", archived=False)
    assert [record.id for record in archive.page().sessions] == ["s1"]
    assert archive.page(archived=True).sessions == ()


def test_a_directory_whose_name_is_no_text_is_kept_and_found(archive, database):
    odd = os.fsdecode(b"/srv/caf\xe9")
    create(archive.database, NewSession("s1", odd, (odd,)))
    add_talk(database, "s1", "t1")
    assert (archive.get("s1").cwd, archive.get("s1").roots) == (odd, (odd,))
    assert [record.id for record in archive.page(cwd=odd).sessions] == ["s1"]
    archive.move("s1", odd + "/b", ())
    assert archive.get("s1").cwd == odd + "/b"


@pytest.mark.parametrize("use", [SessionArchive.get, SessionArchive.find])
def test_an_id_that_no_file_could_hold_is_unknown(archive, use):
    with pytest.raises(UnknownSession):
        use(archive, "a\ud800")
    assert archive.delete("a\ud800") is False
