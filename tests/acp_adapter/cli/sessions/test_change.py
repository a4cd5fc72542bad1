"""`hermes-acp sessions export`, `delete`, `prune` and `archive`, on a real database."""

import contextlib
import io
import json
import os
import subprocess
import sys
import time
from stat import S_IMODE

import pytest

from agent_core.home import Home
from agent_core.messages import user_message
from agent_core.sessions.checkpoints.blobs import BlobStore
from agent_core.sessions.library import SessionLibrary
from tests.support.sample_transcript import SESSION_ID, TranscriptMaker, sample_transcript
from tests.support.stored_transcript import store_transcript
from tests.support.subcommands import main_of, start_of
from tests.support.terminal import Terminal

main = main_of("sessions")

MAIN = start_of("sessions")
DAY = 86_400


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO())

    def run(*arguments):
        code = main(list(arguments))
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def small(session_id, outcome="end_turn", **changes):
    maker = TranscriptMaker(session_id, "A title")
    maker.turn([], [user_message("Hello")], outcome=outcome)
    return maker.made(**changes)


def keep(home, content, *sessions):
    """What a file was before these sessions changed it; its name among the kept contents."""
    name = BlobStore(Home(home).blobs).put(content)
    library = SessionLibrary(Home(home))
    with contextlib.closing(library), library.database.write() as connection:
        connection.executemany(
            "INSERT INTO file_versions (session_id, turn, call_id, path, origin, before_hash, created_at)"
            " VALUES (?, 1, 'c', '/srv/file', 'tool', ?, ?)",
            [(session_id, name, time.time()) for session_id in sessions],
        )
    return name


def names(directory):
    return sorted(path.name for path in directory.iterdir())


def listed(run):
    return sorted(line[:8] for line in run("list", "--all")[1].splitlines() if not line.startswith("There"))


@pytest.mark.parametrize(
    ("format_name", "beginning"),
    [("md", "---\nsession: "), ("html", "<!doctype html>\n"), ("jsonl", '{"conversations": [')],
)
def test_a_session_is_written_to_a_file_for_its_owner_alone(home, run, tmp_path, format_name, beginning):
    store_transcript(home, sample_transcript(), at=time.time())
    name = f"session-3f9a1c77.{format_name}"
    assert run("export", "3f9a", "--format", format_name) == (0, f"Wrote {name}.\n", "")
    assert (tmp_path / name).read_text("utf-8").startswith(beginning)
    assert S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    assert names(tmp_path) == [name]


def test_a_file_is_replaced_with_force_only(home, run, tmp_path):
    store_transcript(home, sample_transcript(), at=time.time())
    mine = tmp_path / "mine.md"
    mine.write_text("mine")
    code, out, err = run("export", "3f9a", "--output", str(mine))
    assert (code, out) == (1, "")
    assert err == f"hermes-acp sessions: {mine} was not written: there is such a file. Add --force to replace it.\n"
    assert mine.read_text() == "mine"
    assert run("export", "3f9a", "--output", str(mine), "--force")[0] == 0
    assert mine.read_text("utf-8").startswith("---\n")
    assert names(tmp_path) == ["mine.md"]


@pytest.mark.parametrize("output", ["", "none/x.md"])
def test_an_output_that_cannot_be_written_is_told(home, run, tmp_path, output):
    store_transcript(home, sample_transcript(), at=time.time())
    code, _, err = run("export", "3f9a", "--output", str(tmp_path / output))
    assert code == 1
    assert err.startswith(f"hermes-acp sessions: {tmp_path / output}")
    assert "--output" in err
    assert names(tmp_path) == []


def test_a_link_that_leads_nowhere_is_not_followed(home, run, tmp_path):
    store_transcript(home, sample_transcript(), at=time.time())
    (tmp_path / "link.md").symlink_to(tmp_path / "elsewhere")
    assert run("export", "3f9a", "--output", "link.md")[0] == 1
    assert not (tmp_path / "elsewhere").exists()


def test_an_export_can_be_piped(home, tmp_path):
    store_transcript(home, sample_transcript(), at=time.time())
    arguments = ["export", "3f9a", "--format", "jsonl", "--output", "-"]
    ended = subprocess.run(
        [*MAIN, *arguments], cwd=tmp_path, capture_output=True, check=True, stdin=subprocess.DEVNULL
    )
    assert json.loads(ended.stdout)["session_id"] == SESSION_ID
    assert ended.stderr == b""
    assert names(tmp_path) == []


def test_a_trajectory_has_the_system_prompt_and_the_tools(home, run, tmp_path):
    tools = [{"type": "function", "function": {"name": "terminal", "parameters": {}}}]
    store_transcript(home, sample_transcript(), at=time.time(), system="You help.", tools=tools)
    run("export", "3f9a", "--format", "jsonl", "--output", "x.jsonl")
    first = json.loads((tmp_path / "x.jsonl").read_text("utf-8"))["conversations"][0]
    assert first["from"] == "system"
    assert first["value"].startswith("You help.")
    assert '[{"name": "terminal", "parameters": {}}]' in first["value"]


def test_all_sessions_become_completed_and_failed_trajectories(home, run, tmp_path):
    store_transcript(home, small("aaaaaaaa11"), at=time.time())
    store_transcript(home, small("bbbbbbbb22", outcome="error"), at=time.time())
    store_transcript(home, small("cccccccc33", archived=True), at=time.time())
    code, out, _ = run("export", "--all", "--format", "jsonl", "--output", "out/here")
    directory = tmp_path / "out" / "here"
    assert (code, out) == (0, "Wrote out/here/trajectories.jsonl: 2 sessions, failed.jsonl beside it: 1.\n")
    assert names(directory) == ["failed.jsonl", "trajectories.jsonl"]
    completed = [json.loads(line) for line in (directory / "trajectories.jsonl").read_text().splitlines()]
    assert {each["session_id"] for each in completed} == {"aaaaaaaa11", "cccccccc33"}
    assert all(each["completed"] for each in completed)
    assert json.loads((directory / "failed.jsonl").read_text())["session_id"] == "bbbbbbbb22"
    assert run("export", "--all", "--format", "jsonl", "--output", "out/here")[0] == 1


def test_all_sessions_can_be_one_file(home, run, tmp_path):
    store_transcript(home, small("aaaaaaaa11"), at=time.time())
    store_transcript(home, small("bbbbbbbb22", outcome="error"), at=time.time())
    out = run("export", "--all", "--format", "jsonl", "--output", "all.jsonl")[1]
    assert out == "Wrote all.jsonl: 2 sessions, 1 of them completed.\n"
    lines = (tmp_path / "all.jsonl").read_text().splitlines()
    assert sorted(json.loads(line)["completed"] for line in lines) == [False, True]


def test_sessions_are_deleted_without_a_question_only_when_told_so(home, run):
    for name in ("aaaaaaaa11", "bbbbbbbb22", "cccccccc33"):
        store_transcript(home, small(name), at=time.time())
    code, out, err = run("delete", "aaaa", "bbbb")
    assert (code, out) == (2, "")
    assert "Nothing was deleted: there is no terminal to ask on. Add --yes to delete 2 sessions." in err
    assert run("delete", "aaaa", "zzzz", "--yes")[0] == 1
    assert listed(run) == ["aaaaaaaa", "bbbbbbbb", "cccccccc"]
    assert run("delete", "aaaa", "bbbb", "aaaaaaaa11", "--yes") == (0, "Deleted 2 sessions.\n", "")
    assert listed(run) == ["cccccccc"]


@pytest.mark.parametrize(
    ("answer", "code", "words"), [("y", 0, "Deleted 1 session."), ("", 1, "Nothing was deleted.")]
)
def test_on_a_terminal_the_person_is_asked(home, run, answer, code, words):
    store_transcript(home, small("aaaaaaaa11"), at=time.time())
    with Terminal([*MAIN, "delete", "aaaa"], {**os.environ, "TERM": "dumb"}) as terminal:
        shown = terminal.read_until("Delete 1 session for good? [y/N] ")
        terminal.type(f"{answer}\n")
        assert terminal.end() == code
        assert words in terminal.text
    assert "A title" in shown
    assert listed(run) == ([] if code == 0 else ["aaaaaaaa"])


def test_a_session_that_another_program_prompts_is_kept_and_told(home, run):
    store_transcript(home, small("aaaaaaaa11"), at=time.time())
    store_transcript(home, small("bbbbbbbb22"), at=time.time())
    holder = (
        "import sys; from pathlib import Path; from agent_core.sessions.database import Database\n"
        "from agent_core.sessions.store import SessionStore\n"
        "SessionStore(Database(Path(sys.argv[1]))).take_lease('aaaaaaaa11')\n"
        "print('held', flush=True); sys.stdin.read()"
    )
    with Terminal([sys.executable, "-c", holder, str(home / "hermes-acp.db")]) as other:
        other.read_until("held")
        assert run("list")[1].count("(open)") == 1
        code, out, err = run("delete", "aaaa", "bbbb", "--yes")
        assert (code, out) == (1, "Deleted 1 session.\n")
        assert "aaaaaaaa11" in err
        assert str(other.process.pid) in err
        assert run("prune", "--older-than", "1h", "--yes")[0] == 0
    assert listed(run) == ["aaaaaaaa"]


def test_old_sessions_are_pruned_and_archived_ones_kept(home, run):
    now = time.time()
    store_transcript(home, small("aaaaaaaa11"), at=now - 100 * DAY)
    store_transcript(home, small("bbbbbbbb22"), at=now - 80 * DAY)
    store_transcript(home, small("cccccccc33", archived=True), at=now - 200 * DAY)
    code, out, _ = run("prune", "--older-than", "90d", "--dry-run")
    assert code == 0
    assert out.startswith("aaaaaaaa  ")
    assert out.endswith("1 session would be deleted.\n")
    assert run("prune", "--older-than", "90d")[0] == 2
    assert listed(run) == ["aaaaaaaa", "bbbbbbbb", "cccccccc"]
    assert run("prune", "--older-than", "90d", "--yes") == (0, "Deleted 1 session.\n", "")
    assert listed(run) == ["bbbbbbbb", "cccccccc"]
    code, out, _ = run("prune", "--older-than", "90d", "--yes")
    assert code == 0
    assert out.startswith("There is no session that was last used before ")


def test_what_files_were_goes_with_the_sessions_that_have_changed_them(home, run):
    now = time.time()
    for session_id, age in (("aaaaaaaa11", 0), ("bbbbbbbb22", 100 * DAY), ("cccccccc33", 0)):
        store_transcript(home, small(session_id), at=now - age)
    mine, old, shared = (
        keep(home, content, *sessions)
        for content, sessions in (
            (b"mine", ("aaaaaaaa11",)),
            (b"old", ("bbbbbbbb22",)),
            (b"shared", ("aaaaaaaa11", "bbbbbbbb22", "cccccccc33")),
        )
    )
    blobs = BlobStore(Home(home).blobs)
    assert run("delete", "aaaa", "--yes")[0] == 0
    assert [blobs.has(name) for name in (mine, old, shared)] == [False, True, True]
    assert run("prune", "--older-than", "90d", "--yes") == (0, "Deleted 1 session.\n", "")
    assert [blobs.has(name) for name in (mine, old, shared)] == [False, False, True]


def test_sessions_are_put_aside_and_taken_back(home, run):
    store_transcript(home, small("aaaaaaaa11"), at=time.time())
    store_transcript(home, small("bbbbbbbb22"), at=time.time())
    assert run("archive", "aaaa", "bbbb")[1] == "Archived 2 sessions.\n"
    assert run("list")[1].startswith("There are no sessions")
    assert run("unarchive", "aaaa")[1] == "Took back 1 session.\n"
    assert run("list")[1].startswith("aaaaaaaa")
