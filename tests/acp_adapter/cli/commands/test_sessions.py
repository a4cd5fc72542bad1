"""`hermes-acp sessions list`, `show` and `search`, on a real database."""

import json
import sqlite3
import subprocess
import time

import pytest

from acp_adapter.cli.console import Style
from acp_adapter.cli.sessions.listing import ago, short_ids
from acp_adapter.cli.sessions.show import task_lines
from agent_core.background_tasks import TaskInfo
from agent_core.events import AgentText, SaidText, UserSaid
from agent_core.home import Home
from agent_core.messages import assistant_message, user_message
from agent_core.sessions.library import SessionLibrary
from agent_core.sessions.records import NewSession
from tests.support.each import each
from tests.support.sample_transcript import CWD, SESSION_ID, TranscriptMaker, sample_transcript
from tests.support.stored_transcript import store_transcript
from tests.support.subcommands import main_of, start_of

main = main_of("sessions")

MAIN = start_of("sessions")
HOUR = 3_600


@pytest.fixture
def run(capsys):
    def run(*arguments):
        try:
            code = main(list(arguments))
        except SystemExit as ended:
            code = ended.code
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def small(session_id, title="A title", said="Hello", answer="Good day", **changes):
    maker = TranscriptMaker(session_id, title)
    maker.turn(
        [UserSaid("u", (SaidText(said),)), AgentText("m", answer)], [user_message(said), assistant_message(answer)]
    )
    return maker.made(**changes)


def test_sessions_are_listed_the_last_used_first(home, run):
    now = time.time()
    store_transcript(home, small("aaaaaaaa11", "Older"), at=now - 50 * HOUR)
    store_transcript(home, small("bbbbbbbb22", "Newer", cwd=f"{home.parent}/work"), at=now - 2 * HOUR - 5)
    code, out, err = run("list")
    assert (code, err) == (0, "")
    first, second = out.splitlines()
    assert first.split()[0] == "bbbbbbbb"
    assert first.endswith("  2 h ago  1 turn  ~/work     Newer")
    assert second.endswith("  2 d ago  1 turn  /srv/sums  Older")


def test_one_directorys_sessions_can_be_listed(home, run, tmp_path, monkeypatch):
    store_transcript(home, small("aaaaaaaa11", cwd=str(tmp_path)), at=time.time())
    store_transcript(home, small("bbbbbbbb22"), at=time.time())
    monkeypatch.chdir(tmp_path)
    assert [line[:8] for line in run("list", "--here")[1].splitlines()] == ["aaaaaaaa"]
    assert [line[:8] for line in run("list", "--cwd", "/srv/other/../sums")[1].splitlines()] == ["bbbbbbbb"]
    assert (
        run("list", "--cwd", "/srv/none")[1]
        == "There are no sessions that work in /srv/none; --all looks at archived ones too.\n"
    )


def test_archived_sessions_are_listed_with_all_only(home, run):
    store_transcript(home, small("aaaaaaaa11", archived=True), at=time.time())
    assert run("list")[1] == "There are no sessions; --all looks at archived ones too.\n"
    assert run("list", "--all")[1].endswith("  A title (archived)\n")


def test_a_long_list_is_cut_and_says_so(home, run):
    for number in range(4):
        store_transcript(home, small(f"{number}" * 8), at=time.time() - number)
    code, out, _ = run("list", "--limit", "3")
    assert code == 0
    assert [line[:8] for line in out.splitlines()] == ["00000000", "11111111", "22222222", "These ar"]
    assert len(run("list", "--limit", "4")[1].splitlines()) == 4


def test_the_list_as_json_has_everything(home, run):
    store_transcript(home, small("aaaaaaaa11", "T"), at=1_790_000_000.0)
    (record,) = json.loads(run("list", "--json")[1])
    assert (record["id"], record["title"], record["cwd"], record["turns"]) == ("aaaaaaaa11", "T", CWD, 1)
    assert record["updated_at"].startswith("2026-09-2")
    assert record["spent"]["usage"]["input_tokens"] == 123456


def test_a_conversation_is_shown_with_a_line_for_each_card(home, run):
    store_transcript(home, sample_transcript(), at=1_790_000_000.0)
    code, out, err = run("show", "3f9a")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "Why the sum is wrong"
    assert lines[1] == f"session {SESSION_ID}"
    assert "> Why does test_add fail?" in lines
    assert "  + read     Read sums.py from line 3  [0.0 s]" in lines
    assert "  + execute  pytest -q  [exit 1, 0.0 s]" in lines
    assert "  x other    plugin_tool  [failed]" in lines
    assert "  [>] Mend it" in lines
    assert "The sum was **wrong**: `add` subtracted. I changed two places:" in lines
    assert "Cancelled." in lines
    assert "The test fails." not in out
    assert "assert 0 == 4" not in out


def test_the_sessions_of_sub_agents_are_told_of_with_their_parent_and_in_no_list(home, run):
    store_transcript(home, small("aaaaaaaa11"), at=time.time())
    library = SessionLibrary(Home(home))
    library.store.create_new(NewSession("agent-12ab", "/srv/sums", source="sub-agent", parent_id="aaaaaaaa11"))
    library.close()
    assert "Sub-agents\nagent-12ab" in run("show", "aaaa")[1]
    assert "agent-12ab" not in run("list")[1]
    assert run("show", "agent-12ab")[0] == 0


def test_in_full_it_has_thoughts_outputs_and_diffs(home, run):
    store_transcript(home, sample_transcript(), at=1_790_000_000.0)
    out = run("show", SESSION_ID, "--full")[1]
    assert "The test fails.\nLet me **look** at the module.\n" in out
    assert "    | E   assert 0 == 4\n" in out
    assert '    +    return "three" if <b>\n' in out
    assert "    | There is no such city.\n" in out


def test_what_was_said_cannot_steer_the_terminal(home, run):
    evil = "\x1b[2Jwiped\u202e\x07"
    store_transcript(home, small("aaaaaaaa11", evil, evil, evil, cwd=f"/srv/{evil}"), at=time.time())
    shown = run("list")[1] + run("show", "aaaaaaaa")[1] + run("search", "wiped")[1]
    assert "wiped" in shown
    assert not set("\x1b\x07\u202e") & set(shown)


def test_what_was_said_is_found_with_what_stands_around(home, run):
    store_transcript(
        home, small("aaaaaaaa11", "First", "The database is locked", "x " * 200 + "use WAL"), at=time.time()
    )
    store_transcript(home, small("bbbbbbbb22", "Second", "Something else"), at=time.time())
    code, out, err = run("search", "database", "locked")
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "aaaaaaaa  First"
    assert "  > you   The database is locked" in out.splitlines()
    assert "agent" in out.splitlines()[3]
    assert "bbbbbbbb" not in out
    assert run("search", "database is locked")[1] == out
    assert "  > agent ..." in run("search", "WAL")[1]


def test_a_search_that_finds_nothing_says_so_and_fails(home, run):
    store_transcript(home, small("aaaaaaaa11"), at=time.time())
    code, out, err = run("search", "elephant")
    assert (code, out) == (1, "")
    assert err == "hermes-acp sessions: Nothing was found for elephant. Try fewer or other words.\n"
    assert run("search", "*")[0] == 1


def test_without_a_database_nothing_is_made(home, run):
    assert run("list") == (0, f"There are no sessions in {home} yet.\n", "")
    assert run("list", "--json")[1] == "[]\n"
    for arguments in (
        ["show", "a"],
        ["search", "a"],
        ["export", "a"],
        ["delete", "a"],
        ["prune", "--older-than", "1d"],
    ):
        code, out, err = run(*arguments)
        assert (code, out) == (1, "")
        assert err.startswith(f"hermes-acp sessions: There are no sessions in {home} yet")
    assert list(home.iterdir()) == []


def test_an_id_must_name_one_session(home, run):
    store_transcript(home, small("aaaaaaaa11"), at=time.time())
    store_transcript(home, small("aaaaaaaa22"), at=time.time())
    code, _, err = run("show", "zz")
    assert code == 1
    assert "no session whose id is or begins with 'zz'. Look at hermes-acp sessions list --all." in err
    code, _, err = run("show", "aaaa")
    assert code == 1
    assert "aaaaaaaa11" in err
    assert "aaaaaaaa22" in err
    assert [line[:10] for line in run("list")[1].splitlines()] == ["aaaaaaaa2 ", "aaaaaaaa1 "]


def test_a_database_that_cannot_be_read_is_told(home, run):
    (home / "hermes-acp.db").write_bytes(b"no database at all, but long enough to look like a file" * 40)
    code, out, err = run("list")
    assert (code, out) == (1, "")
    assert err.startswith("hermes-acp sessions: ")
    assert "hermes-acp.db" in err


def test_another_profiles_sessions_are_looked_at_when_it_is_named(home, run):
    store_transcript(home / "profiles" / "work", small("aaaaaaaa11"), at=time.time())
    assert run("list", "--profile", "work")[1].startswith("aaaaaaaa")
    assert run("list", "--profile", "../x")[0] == 1


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("lst",),
        ("list", "--limit", "0"),
        ("list", "--here", "--cwd", "/srv"),
        ("show",),
        ("search",),
        ("export",),
        ("export", "a", "--all"),
        ("export", "--all", "--format", "jsonl"),
        ("export", "--all", "--format", "md", "--output", "x"),
        ("export", "a", "--format", "pdf"),
        ("delete",),
        ("prune",),
        ("prune", "--older-than", "90"),
        ("prune", "--older-than", "0d"),
    ],
)
def test_a_wrong_command_line_exits_with_two(arguments, run):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert "usage: hermes-acp sessions" in err


def test_a_reader_that_leaves_is_no_failure_to_tell(home):
    store_transcript(home, small("aaaaaaaa11", answer="long\n" * 100_000), at=time.time())
    with subprocess.Popen([*MAIN, "show", "aaaaaaaa"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(50) == 1


def test_looking_leaves_the_sessions_as_they_were(home, run):
    store_transcript(home, small("aaaaaaaa11"), at=time.time())

    def rows():
        with sqlite3.connect(home / "hermes-acp.db") as connection:
            found = [
                connection.execute(f"SELECT * FROM {table}").fetchall() for table in ("sessions", "turns", "events")
            ]
        connection.close()
        return found

    before = rows()
    run("list")
    run("show", "aaaaaaaa", "--full")
    run("search", "Hello")
    assert rows() == before


@each(
    ("seconds", "words"),
    [
        (-5, "just now"),
        (59, "just now"),
        (60, "1 min ago"),
        (7_300, "2 h ago"),
        (86_400, "1 d ago"),
        (4e7, "1 y ago"),
    ],
)
def test_ages_are_told_in_one_unit(seconds, words):
    assert ago(seconds) == words


def test_short_ids_tell_sessions_apart():
    assert short_ids(["abcdefghij", "abcdefghxy", "zz"]) == ["abcdefghi", "abcdefghx", "zz"]
    assert short_ids(["abcdefghij"]) == ["abcdefgh"]


def test_what_ran_in_the_background_when_its_process_died_is_named(home, run):
    store_transcript(home, small("aaaaaaaa11"), at=time.time())
    library = SessionLibrary(Home(home))
    library.store.keep_task("aaaaaaaa11", TaskInfo("proc_1", "process", "npm run dev", "running", time.time()))
    library.store.keep_task("aaaaaaaa11", TaskInfo("proc_2", "process", "make", "done", 1.0, 2.0, "exit code 0"))
    library.close()
    code, out, _ = run("show", "aaaaaaaa11")
    assert code == 0
    assert "In the background" in out
    assert "npm run dev  [lost: the agent's process died" in out
    assert "proc_2" not in out


def test_what_runs_in_a_process_that_lives_is_named_as_running():
    task = TaskInfo("proc_1", "process", "npm run dev", "running", 1.0)
    lines = list(task_lines([task], Style(), elsewhere=True))
    assert "npm run dev  [running, begun" in lines[-1]
