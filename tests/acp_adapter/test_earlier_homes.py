"""Homes as earlier versions of the program left them when they were killed (tests/data/homes): all that is in them is
there again, and can be worked on."""

from __future__ import annotations

import contextlib
import sqlite3
import tarfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent_core.config import ConfigSource, Overrides
from agent_core.home import Home
from agent_core.sessions.schema import known_migrations
from tests.support.editor import PLAIN, Editor
from tests.support.in_memory import serving
from tests.support.merged_view import MergedView, merged_view
from tests.support.model_server import ModelServer, Reply
from tools.approval.grants import FILE_NAME, KeptGrants

HOMES = Path(__file__).parents[1] / "data" / "homes"
VERSIONS = [3, 4, 5, 6, 7]  # of the database; no program wrote one of version 1 or 2
TASKS_SINCE = 5
RECORDED = "/srv/project"
TITLE = "An earlier conversation"
CUT_OFF = "write half.txt half\\n"
BEHIND = 'call terminal {"command": "sleep 300", "background": true}'


@pytest.fixture(params=VERSIONS, ids=[f"version {version}" for version in VERSIONS])
def version(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def project(version: int, home: Path, tmp_path: Path) -> Path:
    """The workspace of that version's sessions; `home` is its home."""
    with tarfile.open(HOMES / f"v{version}.tar.xz") as kept:
        kept.extractall(tmp_path, filter="data")
    home.rmdir()
    (tmp_path / "home").rename(home)
    return tmp_path / "project"


@pytest.fixture
async def editor(project: Path, home: Path, model_server: ModelServer) -> AsyncIterator[Editor]:
    model = Overrides(model="test-model", provider="custom", base_url=model_server.base_url)
    async with serving(home, config=ConfigSource(Home(home), model)) as made:
        await made.initialize(PLAIN)
        yield made


async def _listed(editor: Editor) -> dict[str, str]:
    """The ids of the sessions by their titles."""
    listed = await editor.request("session/list", {})
    return {session["title"]: session["sessionId"] for session in listed["sessions"]}


async def _loaded(editor: Editor, session: str, project: Path) -> MergedView:
    known = len(editor.updates(session))
    await editor.load_session(session, project)
    return merged_view(editor.updates(session)[known:])


def _moved(database: Path, project: Path) -> None:
    """The sessions worked here, not where they were recorded."""
    with contextlib.closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE sessions SET cwd = ?", (str(project),))
        connection.execute("UPDATE file_versions SET path = replace(path, ?, ?)", (RECORDED, str(project)))


async def test_a_conversation_is_listed_shown_as_it_was_and_goes_on(
    editor: Editor, project: Path, model_server: ModelServer
) -> None:
    sessions = await _listed(editor)
    assert len(sessions) == 4
    session = sessions[TITLE]
    view = await _loaded(editor, session, project)
    assert view.texts()[:4] == [
        "The first turn.\n",
        "Two files were changed.\n",
        "The command ran.\n",
        "Remembered.\n",
    ]
    assert "After it.\n" in view.texts()
    assert view.texts("agent_thought_chunk")[0] == "Somebody reads.\n"
    cards = [entry for entry in view.entries if "toolCallId" in entry]
    assert {card["status"] for card in cards} == {"completed"}
    changed = [part for card in cards for part in card.get("content") or [] if part["type"] == "diff"]
    assert [(Path(part["path"]).name, part["newText"]) for part in changed[:1]] == [
        ("new.txt", "made by an earlier version\n")
    ]
    assert [entry["content"] for entry in view.plan] == ["Read", "Write", "Check"]
    model_server.add(Reply("Still here."))
    assert (await editor.prompt(session, "Go on."))["stopReason"] == "end_turn"
    messages = model_server.requests[-1].body["messages"]
    assert messages[-1]["content"] == "Go on."
    told = str(messages)
    assert "made by an earlier version" in told
    assert "After it." in told
    assert "The project is built with make." in messages[0]["content"]
    assert (await _loaded(editor, session, project)).texts()[-1] == "Still here."


async def test_a_turn_that_was_cut_off_shows_what_was_shown_and_is_continued(
    editor: Editor, project: Path, model_server: ModelServer
) -> None:
    session = (await _listed(editor))[CUT_OFF]
    view = await _loaded(editor, session, project)
    assert "This was shown before the end.\n" in "".join(view.texts())
    model_server.add(Reply("Now it is whole."))
    assert (await editor.prompt(session, "Go on."))["stopReason"] == "end_turn"
    assert "half.txt" in str(model_server.requests[-1].body["messages"])


async def test_a_command_that_ran_behind_is_known_to_be_lost(
    editor: Editor, project: Path, model_server: ModelServer, version: int
) -> None:
    session = (await _listed(editor))[BEHIND]
    view = await _loaded(editor, session, project)
    assert view.texts()[:1] == ["It runs behind.\n"]
    model_server.add(Reply("I see."))
    assert (await editor.prompt(session, "/tasks"))["stopReason"] == "end_turn"
    assert ("lost" in editor.text(session)) == (version >= TASKS_SINCE)


async def test_undo_gives_files_back_as_they_were_before_the_earlier_program_changed_them(
    project: Path, home: Path
) -> None:
    _moved(Home(home).database, project)
    async with serving(home) as editor:
        await editor.initialize(PLAIN)
        session = (await _listed(editor))[TITLE]
        await editor.load_session(session, project)
        await editor.prompt(session, "/rewind 5")
        assert (project / "notes.txt").read_text() == "one\ntwo\n", editor.text(session)
        assert not (project / "new.txt").exists()
        assert not (project / "counted.txt").exists()
        await editor.prompt(session, "/redo")
        assert (project / "new.txt").read_text() == "made by an earlier version\n"


def test_settings_keys_and_what_was_allowed_for_good_still_count(project: Path, home: Path) -> None:
    loaded = ConfigSource(Home(home), Overrides()).load()
    assert (loaded.settings.model.provider, loaded.settings.model.default) == ("openai", "gpt-5")
    assert loaded.environ["OPENAI_API_KEY"].startswith("sk-of-an-earlier-version")
    assert (loaded.warnings, loaded.broken_servers, loaded.broken_mcp) == ((), {}, {})
    kept = KeptGrants(home / FILE_NAME)
    assert [grant.grant is not None for grant in kept.all()] == [True]
    assert kept.problem == ""


def test_the_database_is_of_the_version_that_its_name_says(version: int, project: Path, home: Path) -> None:
    with contextlib.closing(sqlite3.connect(Home(home).database)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (version,)


def test_there_is_a_home_of_each_version_that_a_program_wrote() -> None:
    assert list(range(3, known_migrations()[-1].number + 1)) == VERSIONS, "record one: tests/data/homes/README.md"
