"""What a process could not store before its end: a file for the user alone, which the next process takes in, once."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_core.background_tasks import News, TaskInfo
from agent_core.compaction.engine import Compaction
from agent_core.errors import StoreError
from agent_core.events import AgentText, SaidText, ToolRequested, UserSaid
from agent_core.messages import injected_message, user_message
from agent_core.providers.base import Usage
from agent_core.providers.pricing import Spent
from agent_core.sessions.checkpoints.blobs import BlobStore
from agent_core.sessions.checkpoints.versions import FileVersions
from agent_core.sessions.database import unpack
from agent_core.sessions.records import KeptState, NewSession
from agent_core.sessions.store import Unsaved
from tests.support.session_database import Desk
from tools.context import TodoItem
from tools.ports import CommandSpec

BROKEN = StoreError("The disk is full. Free some space.", kind="full")
NEWS = (News("p1", "ended", "a", "a" * 3000, 10.0, "n1"), News("p2", "told", "b", "b", 11.0, "n2"))
DUMPS = (
    "SELECT id, cwd, source, mode, kept, model, requests, usage, cost, turns_begun, holder FROM sessions ORDER BY id",
    "SELECT number, id, began_at, ended_at, outcome, note FROM turns ORDER BY session_id, number",
    "SELECT turn, role, body, hidden, created_at FROM messages ORDER BY session_id, id",
    "SELECT turn, position, kind, version, body, open FROM events ORDER BY turn, position",
    "SELECT turn, number, messages, body FROM compactions ORDER BY turn, number",
    "SELECT name, body FROM news ORDER BY id",
    "SELECT name, state, body FROM tasks ORDER BY id",
    "SELECT turn, call_id, path, origin, before_hash, before_mode, after_hash, lost FROM file_versions ORDER BY id",
    "SELECT hash, body FROM texts ORDER BY hash",
)


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory for temporary files."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[[str], Desk]]:
    desks: list[Desk] = []

    def made(home: str) -> Desk:
        desks.append(Desk(tmp_path / home / "hermes-acp.db"))
        desks[-1].store.create("s", "/srv/project")
        return desks[-1]

    yield made
    for desk in desks:
        desk.database.fails_before = desk.database.fails_after = None
        desk.close()


@pytest.fixture
def desk(make: Callable[[str], Desk]) -> Desk:
    return make("home")


def say(desk: Desk, *texts: str, turn: str = "t1") -> None:
    for text in texts:
        assert desk.store.append("s", turn, user_message(text))


def bodies(desk: Desk) -> list[str]:
    return [unpack(body)["content"] for (body,) in desk.rows("SELECT body FROM messages ORDER BY id")]


def dump(desk: Desk) -> list[list[tuple[Any, ...]]]:
    return [desk.rows(query) for query in DUMPS]


def files(desk: Desk) -> list[Path]:
    return sorted((desk.path.parent / "unsaved").glob("*"))


def end(desk: Desk) -> Unsaved:
    """The process ends; another one is there."""
    unsaved = desk.store.close()
    desk.change("UPDATE sessions SET holder_token = NULL")  # whoever is dead holds nothing
    desk.store = desk.another_store()
    return unsaved


def cannot_be_saved(desk: Desk) -> None:
    """A process says two things, and ends, while nothing can be written."""
    desk.store.begin_turn("s", "t1")
    desk.database.fails_before = BROKEN
    say(desk, "one", "two")
    end(desk)


def all_of_it(desk: Desk, work: Path) -> None:
    """Everything that sessions store."""
    store = desk.store
    background = store
    versions = FileVersions(desk.database, BlobStore(work.parent / "blobs"), store.note)
    store.create_new(
        NewSession("new", "/srv", ("/more",), "editor \ud800", options={"effort": "high", "n": [1, None]})
    )
    store.begin_turn("new", "n1")
    assert store.append("new", "n1", user_message("Hello."))
    store.end_turn("new", "n1", "end_turn")
    journal = store.journal("s", "t1")
    journal.record(UserSaid("t1-prompt", (SaidText("Do it."),)))
    store.begin_turn("s", "t1")
    say(desk, "short", "long " * 2000, "odd \ud800")
    desk.time.now += 1
    journal.record(ToolRequested("c1", "write_file", {"path": "a", "n": 1.5}, "/srv", announced=False))
    versions.for_call("s", "t1", "c1", (work,)).writing(work / "a", None, b"new")
    versions.for_call("s", "t1", "c2", (work,)).writing(work / os.fsdecode(b"caf\xe9"), b"old", b"new")
    taken_back = versions.for_call("s", "t1", "c3", (work,)).writing(work / "never", None, b"new")
    taken_back()
    with versions.for_call("s", "t1", "c4", (work,)).command(CommandSpec("rm b; echo 1 > c", work, 10.0)):
        (work / "b").unlink()
        (work / "c").write_bytes(b"1\n")
    background.keep_task("s", TaskInfo("p1", "process", "make", "running", 10.0))
    background.keep_news("s", NEWS[0])
    background.keep_news("s", NEWS[1])
    background.drop_news("s", NEWS[1:])
    store.append("s", "t1", {**injected_message("news"), "news": [NEWS[0].id]})
    store.compact("s", "t1", Compaction(0, 1, "short", kept=(), cuts={1: 5}, reason="asked", created_at=5.0))
    store.end_turn("s", "t1", "end_turn")
    spent = Spent().add(Usage(10, 5), 0.25)
    tools: tuple[dict[str, object], ...] = ({"name": "t", "parameters": {"a": [1, {"b": None}]}},)
    store.keep(
        "s", KeptState((TodoItem("1", "plan", "pending"),), "system", tools, "1", "p:m", spent, frozenset("x"))
    )
    store.begin_turn("s", "t2")
    say(desk, "refused", turn="t2")
    store.withdraw("s", "t2")
    store.end_turn("s", "t2", "refusal", "no \ud800")
    store.journal("s", "t3").record(AgentText("t3-message-1", "as far as it was seen"))
    store.begin_turn("s", "t3")


def test_everything_that_a_session_stores_is_there_after_the_next_start_as_if_nothing_had_been(
    make: Callable[[str], Desk], tmp_path: Path
) -> None:
    dumps = []
    for home, fault in (("sound", None), ("broken", BROKEN)):
        desk, work = make(home), tmp_path / "work"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        (work / "b").write_bytes(b"was there")
        desk.database.fails_before = fault
        all_of_it(desk, work)
        assert bool(end(desk).sessions) == (fault is not None)
        desk.database.fails_before = None
        desk.store.take_in()
        dumps.append(dump(desk))
        assert files(desk) == []
    for sound, broken in zip(*dumps, strict=True):
        assert broken == sound


@pytest.mark.parametrize("step", range(12))
def test_what_was_stored_after_all_is_not_stored_twice(
    make: Callable[[str], Desk], tmp_path: Path, step: int
) -> None:
    """From some moment on every commit happens, and nobody is told."""
    dumps = []
    for home, fault in (("sound", None), ("broken", BROKEN)):
        desk, work = make(home), tmp_path / "work"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        (work / "b").write_bytes(b"was there")
        desk.database.commits_told = None if fault is None else step
        desk.database.fails_after = fault
        all_of_it(desk, work)
        end(desk)
        desk.database.fails_after = None
        desk.store.take_in()
        dumps.append(dump(desk))
    for sound, broken in zip(*dumps, strict=True):
        assert broken == sound


def test_the_file_is_the_users_alone_and_says_nothing_in_its_name(desk: Desk) -> None:
    cannot_be_saved(desk)
    [file] = files(desk)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert "s-" not in file.name[:-20]


def test_whoever_goes_on_with_the_session_knows_what_the_file_has(desk: Desk) -> None:
    cannot_be_saved(desk)
    desk.database.fails_before = None
    desk.store.begin_turn("s", "t2")
    say(desk, "three", turn="t2")
    assert [message["content"] for message in desk.store.messages("s")] == ["one", "two", "three"]
    assert bodies(desk) == ["one", "two", "three"]
    assert files(desk) == []


def test_what_still_cannot_be_stored_waits_in_order_and_then_in_a_file_again(desk: Desk) -> None:
    cannot_be_saved(desk)
    desk.store.begin_turn("s", "t2")
    say(desk, "three", turn="t2")
    with pytest.raises(StoreError, match="not saved yet"):
        desk.store.settle("s")
    end(desk)
    [file] = files(desk)
    desk.database.fails_before = None
    desk.store.take_in()
    assert bodies(desk) == ["one", "two", "three"]
    assert not file.exists()


def test_in_the_quiet_after_a_start_it_is_stored_by_itself(desk: Desk) -> None:
    cannot_be_saved(desk)
    desk.database.fails_before = None
    assert files(desk), "nothing was done yet"
    desk.store.tick()
    assert bodies(desk) == ["one", "two"]
    assert desk.rows("SELECT holder_token FROM sessions") == [(None,)]


def test_where_the_home_cannot_be_written_to_it_is_among_the_temporary_files(desk: Desk, temporary: Path) -> None:
    (desk.path.parent / "unsaved").write_bytes(b"no directory")
    cannot_be_saved(desk)
    [place] = temporary.iterdir()
    [file] = place.iterdir()
    assert (stat.S_IMODE(place.stat().st_mode), stat.S_IMODE(file.stat().st_mode)) == (0o700, 0o600)
    desk.database.fails_before = None
    desk.store.take_in()
    assert bodies(desk) == ["one", "two"]
    assert list(place.iterdir()) == []


def test_where_nothing_can_be_written_at_all_it_is_told_that_it_is_lost(
    desk: Desk, temporary: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (desk.path.parent / "unsaved").write_bytes(b"no directory")
    temporary.rmdir()
    temporary.write_bytes(b"no directory")
    desk.store.begin_turn("s", "t1")
    desk.database.fails_before = BROKEN
    say(desk, "one", "two")
    told = end(desk).told
    assert "The disk is full" in told
    assert "it is lost" in told
    assert "2 messages of session s are lost" in caplog.text


def test_what_is_left_is_told_with_its_file_and_what_is_stored_is_not(desk: Desk) -> None:
    desk.store.begin_turn("s", "t1")
    desk.database.fails_before = BROKEN
    say(desk, "one")
    unsaved = end(desk)
    [file] = files(desk)
    assert (unsaved.sessions, unsaved.files) == (("s",), (file,))
    assert str(file) in unsaved.told
    desk.database.fails_before = None
    desk.store.take_in()
    assert end(desk).told == ""


def test_a_file_of_a_process_that_lives_is_left_to_it(desk: Desk) -> None:
    desk.store.begin_turn("s", "t1")
    desk.database.fails_before = BROKEN
    say(desk, "one", "two")
    desk.store.put_down()
    assert len(files(desk)) == 1
    desk.database.fails_before = None
    other = desk.another_store()
    other.take_in()
    assert bodies(desk) == []
    desk.clock.now += 5
    desk.store.tick()
    assert bodies(desk) == ["one", "two"]
    assert files(desk) == []
    other.close()


def test_a_session_that_another_process_prompts_is_left_until_that_ends(desk: Desk) -> None:
    desk.store.begin_turn("s", "t1")
    desk.database.fails_before = BROKEN
    say(desk, "one")
    desk.store.close()
    desk.database.fails_before = None
    first = desk.another_store()  # its holder lives, for all that can be seen
    first.take_in()
    first.close()
    assert bodies(desk) == []
    desk.change("UPDATE sessions SET holder_token = NULL")
    second = desk.another_store()
    second.take_in()
    second.close()
    assert bodies(desk) == ["one"]
    assert files(desk) == []


def test_a_file_that_cannot_be_read_is_left_and_named(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    cannot_be_saved(desk)
    [file] = files(desk)
    file.write_bytes(file.read_bytes()[:-20])
    desk.database.fails_before = None
    desk.store.take_in()
    assert file.exists()
    assert str(file) in caplog.text
    desk.store.begin_turn("s", "t2")
    say(desk, "three", turn="t2")
    assert bodies(desk) == ["three"]


@pytest.mark.parametrize(
    "content",
    [b"[]", b"{}", b'{"format": 2}', b'{"format": 1, "session": "s", "turns": [], "operations": [{"os": {}}]}'],
)
def test_what_no_program_of_ours_has_written_does_nothing(desk: Desk, content: bytes) -> None:
    place = desk.path.parent / "unsaved"
    place.mkdir(mode=0o700)
    (place / "x-1.json").write_bytes(content)
    desk.store.take_in()
    assert (place / "x-1.json").exists()
    assert dump(desk)[1] == []


def test_a_link_is_not_followed(desk: Desk, tmp_path: Path) -> None:
    cannot_be_saved(desk)
    [file] = files(desk)
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    desk.database.fails_before = None
    desk.store.take_in()
    assert bodies(desk) == []


def test_nothing_is_left_of_a_deleted_session(desk: Desk) -> None:
    cannot_be_saved(desk)
    desk.store.drop_unsaved("another")
    assert len(files(desk)) == 1
    desk.store.drop_unsaved("s")
    assert files(desk) == []


def test_what_another_process_took_over_before_it_was_stored_is_not_lost(desk: Desk) -> None:
    with desk.locked():
        desk.store.begin_turn("s", "t1")
        say(desk, "one")
    other = desk.another_store()
    other.begin_turn("s", "theirs")
    desk.clock.now += 1
    assert desk.store.append("s", "t1", user_message("two")) is False
    end(desk)
    assert len(files(desk)) == 1
    other.close()
    desk.store.take_in()
    assert bodies(desk) == ["one"]


def test_a_session_in_which_nothing_was_said_is_not_missed(desk: Desk) -> None:
    desk.database.fails_before = BROKEN
    desk.store.create_new(NewSession("empty", "/srv"))
    assert end(desk).told == ""
    assert files(desk) == []


def test_a_lease_that_cannot_be_given_up_is_nothing_unsaved(desk: Desk) -> None:
    desk.store.begin_turn("s", "t1")
    say(desk, "one")
    desk.store.end_turn("s", "t1", "end_turn")
    desk.database.fails_before = BROKEN
    assert end(desk).told == ""
    assert files(desk) == []
