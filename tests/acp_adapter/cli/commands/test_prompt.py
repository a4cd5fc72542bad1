"""`hermes-acp prompt` against scripted agents and our own server: in this process, but where a process is proved."""

import contextlib
import io
import json
import os
import shlex
import signal
import sqlite3
import subprocess
import sys

import pytest

from acp_adapter.cli.prompt import main, parse_prompt_arguments
from agent_core.sessions.archive import SessionArchive
from agent_core.sessions.database import Database
from tests.support.at_terminal import at_terminal
from tests.support.each import each
from tests.support.screen import screen_of
from tests.support.scripted import agent_command, permission_step, update_step
from tests.support.subcommands import start_of
from tests.support.terminal import Terminal

MAIN = start_of("prompt")


def command(*steps, flags=(), prompt=("hello",)):
    return [*MAIN, *flags, "--agent", shlex.join(agent_command(*steps)), *prompt]


def arguments(*steps, flags=(), prompt=("hello",)):
    return command(*steps, flags=flags, prompt=prompt)[len(MAIN) :]


def asking(verb, **tool_call):
    """A step that asks in another way than others do."""
    return f"{verb}={permission_step(**tool_call).partition('=')[2]}"


@pytest.fixture
def here(monkeypatch, capfd):
    """Runs the command in this process; its exit code and what it wrote."""

    def here(argv, stdin=b""):
        with monkeypatch.context() as patched, io.TextIOWrapper(io.BytesIO(stdin)) as given:
            patched.setattr(sys, "stdin", given)
            try:
                code = main(argv)
            except SystemExit as left:
                code = left.code
        shown = capfd.readouterr()
        return code, shown.out, shown.err

    return here


@pytest.fixture
def run(here):
    """Runs the command with a scripted agent."""

    def run(*steps, flags=(), prompt=("hello",), stdin=b""):
        return here(arguments(*steps, flags=flags, prompt=prompt), stdin)

    return run


def frames_of(output):
    return [json.loads(line) for line in output.splitlines()]


def test_a_finished_turn_exits_with_zero_and_shows_its_text(run):
    code, out, err = run("thought=Hm.", "text=Hel", "text=lo.")
    assert code == 0
    assert out.startswith("Hm.\n\nHello.\n\n[end_turn, ")
    assert err == ""


def test_piped_output_is_plain(run):
    diff = [{"type": "diff", "path": "/a", "oldText": "x\n", "newText": "y\n"}]
    _, out, _ = run(update_step("tool_call", toolCallId="c", title="Edit", kind="edit", content=diff))
    assert out.isascii()
    assert "\x1b" not in out


@pytest.mark.parametrize("reason", ["max_tokens", "refusal", "max_turn_requests", "of_the_future"])
def test_another_stop_reason_exits_with_three(reason, run):
    code, out, _ = run(f"stop={reason}")
    assert code == 3
    assert f"[{reason}," in out


def test_an_agent_that_ends_the_turn_cancelled_by_itself_exits_with_130(run):
    assert run("stop=cancelled")[0] == 130


def test_a_failed_turn_shows_message_and_details_and_exits_with_one(run):
    error = {"code": -32603, "message": "Internal error", "data": {"details": "The model is overloaded."}}
    code, _, err = run("text=so far", f"error={json.dumps(error)}")
    assert code == 1
    assert "session/prompt failed: Internal error (code -32603)\nThe model is overloaded.\n" in err


def test_details_equal_to_the_message_are_not_said_twice(run):
    error = {"code": -32603, "message": "Too slow.", "data": {"details": "Too slow."}}
    assert run(f"error={json.dumps(error)}")[2].count("Too slow.") == 1


def test_an_agent_that_wants_a_login_is_told_with_what_to_do_next(run):
    error = {"code": -32000, "message": "Authentication required", "data": {"details": "No key."}}
    code, _, err = run(f"new-error={json.dumps(error)}")
    assert code == 1
    assert "session/new failed: Authentication required" in err
    assert "No key.\nNext: log in" in err


def test_an_agent_that_dies_midway_is_told_with_its_stderr_and_exits_with_one(run):
    code, out, err = run("text=so far", "stderr=Segmentation something", "die=7")
    assert code == 1
    assert out == "so far\n"
    assert "exit code 7" in err
    assert "Segmentation something" in err


def test_rubbish_on_stdout_is_noted_and_passed_over(run):
    code, out, _ = run("rubbish=Welcome!", "text=x")
    assert code == 0
    assert "no JSON-RPC message, which it must not: Welcome!" in out


def test_a_command_that_cannot_be_started_exits_with_one(here):
    code, _, err = here(["--agent", "/no/such/agent", "hi"])
    assert code == 1
    assert "/no/such/agent" in err


@pytest.mark.parametrize("prompt", [("-",), ()])
def test_the_prompt_is_read_from_standard_input(prompt, run):
    _, out, _ = run("echo", prompt=prompt, stdin="two\nlines ü".encode())
    assert out.startswith("two\nlines ü\n")


@each(
    ("arguments", "words"),
    [
        ([" "], "the prompt is empty"),
        (["--cwd", "/no/such/dir", "x"], "/no/such/dir"),
        (["--timeout", "0", "x"], "positive number"),
        (["--timeout", "nan", "x"], "positive number"),
        (["--approve", "maybe", "x"], "--approve"),
        (["--agent", "a", "--offline", "x"], "--offline is for our own server"),
        (["--agent", "a", "--model", "m", "x"], "--model is for our own server"),
        (["--agent", "a", "--wait-background", "x"], "--wait-background is for our own server"),
        (["--offline", "--model", "m", "x"], "--offline goes without"),
        (["--agent", "a 'b", "x"], "--agent"),
        (["--agent", "", "x"], "the command is empty"),
        (["--resume", "", "x"], "--resume: the id is empty"),
        (["one", "two"], "two"),
    ],
)
def test_wrong_usage_exits_with_two_and_says_what_is_wrong(arguments, words, here):
    code, out, err = here(arguments)
    assert code == 2
    assert words in err
    assert out == ""


def test_the_model_flags_are_passed_on_to_the_server():
    flags = ["--model", "m 1", "--provider", "p", "--base-url", "http://localhost:1/v1"]
    options = parse_prompt_arguments([*flags, "hello"])
    assert options.command == (
        *(sys.executable, "-P", "-m", "acp_adapter"),
        *("--model=m 1", "--provider=p", "--base-url=http://localhost:1/v1"),
    )


def test_no_prompt_at_a_terminal_is_wrong_usage(monkeypatch, capfd):
    with at_terminal(monkeypatch), pytest.raises(SystemExit) as left:
        main([])
    assert left.value.code == 2
    assert "no prompt" in capfd.readouterr().err


def test_help_names_the_exit_codes(here):
    code, out, _ = here(["--help"])
    assert code == 0
    assert "130" in out


def test_the_session_works_in_the_directory_of_cwd(tmp_path, monkeypatch, run):
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path)
    _, out, _ = run("notes", flags=["--cwd", "sub"])
    assert out.startswith(f"cwd {tmp_path / 'sub'}\n")


def test_without_a_terminal_ask_denies_and_says_so(run):
    _, out, _ = run(permission_step(title="Delete all"))
    assert "? Allow other: Delete all" in out
    assert "denied: there is no terminal" in out
    assert '"optionId": "no"' in out


@pytest.mark.parametrize(("policy", "option"), [("all", "yes"), ("none", "no"), ("edits", "no")])
def test_the_policy_answers_a_commands_question(policy, option, run):
    _, out, _ = run(permission_step(title="Run", kind="execute"), flags=["--approve", policy])
    assert f'"optionId": "{option}"' in out


def test_edits_allows_an_edit_in_the_directory(tmp_path, run):
    ask = permission_step(title="Edit", kind="edit", locations=[{"path": str(tmp_path / "a")}])
    _, out, _ = run(ask, flags=["--approve", "edits", "--cwd", str(tmp_path)])
    assert '"optionId": "yes"' in out


@pytest.mark.parametrize(("policy", "mode"), [("all", "dont_ask"), ("edits", "accept_edits")])
def test_a_policy_sets_the_mode_that_the_agent_has_for_it(policy, mode, run):
    _, out, _ = run("modes=default,accept_edits,dont_ask", "notes", flags=["--approve", policy])
    assert f"mode {mode}\n" in out


@pytest.mark.parametrize("policy", ["all", "ask"])
def test_a_mode_that_is_not_offered_or_not_wanted_is_not_set(policy, run):
    _, out, _ = run("modes=default", "notes", flags=["--approve", policy])
    assert "mode" not in out


@each(("typed", "option"), [("y", "yes"), ("\x1b[B\r", "ever"), ("\x1b", "no")])
def test_at_a_terminal_the_person_answers(typed, option, monkeypatch):
    with at_terminal(monkeypatch, ("cancels the turn", typed)) as person:
        assert main(arguments(permission_step(title="Run", kind="execute"))) == 0
    assert f'"optionId": "{option}"' in person.text


def test_an_answer_that_only_this_agent_knows_can_be_chosen(monkeypatch):
    options = [{"optionId": "x", "name": "Ask my mother", "kind": "of_the_future"}]
    with at_terminal(monkeypatch, ("cancels the turn", "\r")) as person:
        main(arguments(permission_step(options=options, title="Run")))
    assert "Ask my mother\n\noutcome" in person.text
    assert '"optionId": "x"' in person.text


def test_a_terminal_gets_colours_unless_no_color_forbids(monkeypatch):
    with at_terminal(monkeypatch) as person:
        main(arguments("thought=Hm"))
    assert "\x1b[2mHm" in person.text
    with at_terminal(monkeypatch) as person:
        monkeypatch.setenv("NO_COLOR", "1")
        main(arguments("thought=Hm"))
    assert "\x1b[2m" not in person.text


def test_only_at_a_terminal_forms_are_offered_and_filled_in(run, monkeypatch):
    form = {"mode": "form", "message": "Which?", "requestedSchema": {"properties": {"x": {"enum": ["a", "b"]}}}}
    ask = f"form={json.dumps(form)}"
    assert "elicitation" not in run("hello", ask)[1]
    with at_terminal(monkeypatch, ("Ctrl-C", "\x1b[B\r")) as person:
        assert main(arguments("hello", ask)) == 0
    assert '"elicitation": {"form": {}, "url": {}}' in " ".join(person.text.split())
    assert '"content": {"x": "b"}' in " ".join(person.text.split())


def test_a_question_that_is_withdrawn_before_it_is_shown_is_not_shown(run):
    code, out, _ = run(asking("withdrawn", title="Delete all"))
    assert code == 0
    assert "Delete all" not in out
    assert 'outcome {"outcome": "cancelled"}' in out


def test_a_question_that_is_withdrawn_while_it_is_shown_is_taken_away(monkeypatch):
    with at_terminal(monkeypatch) as person:
        assert main(arguments(asking("retracted", title="Delete all"))) == 0
    assert 'outcome {"outcome": "cancelled"}' in person.text


def test_questions_that_come_at_once_are_asked_one_after_the_other(monkeypatch):
    asked = "cancels the turn"
    with at_terminal(monkeypatch, (asked, "y"), (asked, "n")) as person:
        assert main(arguments(asking("twice", title="Run"))) == 0
    first, second = person.text.index('"optionId": "yes"'), person.text.index('"optionId": "no"')
    assert first < second
    assert person.text.count(asked) == 2


def test_what_goes_on_is_told_in_a_line_that_is_taken_away_again(monkeypatch):
    running = update_step("tool_call", toolCallId="c", title="make all", kind="execute", status="in_progress")
    with at_terminal(monkeypatch) as person:
        person.once("make all  \x1b[2m0 s", lambda: os.kill(os.getpid(), signal.SIGINT))
        assert main(arguments(running, "cancelled")) == 130
    assert screen_of(person.text).rstrip().endswith("s]")


def test_ctrl_c_cancels_the_turn_and_waits_for_the_agent():
    with Terminal(command("text=working\n", "cancelled")) as terminal:
        terminal.read_until("working")
        terminal.interrupt()
        assert terminal.end() == 130
        assert "[cancelled," in terminal.text


def test_ctrl_c_at_a_question_cancels_it_and_the_turn():
    with Terminal(command(permission_step(title="Run"), "cancelled")) as terminal:
        terminal.read_until("cancels the turn")
        terminal.interrupt()
        assert terminal.end() == 130
        assert 'outcome {"outcome": "cancelled"}' in terminal.text
        assert "[cancelled," in terminal.text


def test_a_second_ctrl_c_kills_an_agent_that_heeds_no_cancellation():
    with Terminal(command("deaf")) as terminal:
        terminal.read_until("deaf now")
        terminal.interrupt()
        terminal.read_until("Cancelling")
        terminal.interrupt()
        assert terminal.end() == 130


def test_ctrl_c_before_the_session_is_open_ends_at_once(tmp_path):
    silent = "import sys; print('up', file=sys.stdout, flush=True); sys.stdin.read()"
    with Terminal([*MAIN, "--agent", shlex.join([sys.executable, "-c", silent]), "hello"]) as terminal:
        terminal.read_until("up")
        terminal.interrupt()
        assert terminal.end() == 130


def test_a_turn_over_the_time_limit_is_cancelled_and_exits_with_one(run):
    code, out, err = run("text=working", "cancelled", flags=["--timeout", "3"])
    assert code == 1
    assert "[cancelled," in out
    assert "stopped after 3 s" in err


def test_an_agent_that_does_not_even_open_a_session_in_time_exits_with_one(here):
    silent = shlex.join([sys.executable, "-c", "import sys; sys.stdin.read()"])
    code, _, err = here(["--timeout", "0.3", "--agent", silent, "x"])
    assert code == 1
    assert "stopped after 0.3 s" in err


def test_json_prints_every_frame_and_nothing_else(run):
    code, out, err = run("rubbish=Welcome!", "text=x", permission_step(), flags=["--json"])
    frames = frames_of(out)
    assert code == 0
    assert [(frame["dir"], frame["frame"].get("method")) for frame in frames] == [
        ("out", "initialize"),
        ("in", None),
        ("out", "session/new"),
        ("in", None),
        ("out", "session/prompt"),
        ("in", "session/update"),
        ("in", "session/request_permission"),
        ("out", None),
        ("in", "session/update"),
        ("in", None),
    ]
    assert all(isinstance(frame["t"], float) for frame in frames)
    assert frames[-1]["frame"]["result"] == {"stopReason": "end_turn"}
    assert frames[7]["frame"]["result"]["outcome"]["optionId"] == "no"
    assert "Welcome!" in err


def test_json_of_a_failed_turn_keeps_stdout_to_frames(run):
    code, out, err = run('error={"code": 1, "message": "no"}', flags=["--json"])
    assert code == 1
    assert frames_of(out)[-1]["frame"]["error"] == {"code": 1, "message": "no"}
    assert "session/prompt failed: no" in err


def test_ctrl_c_in_json_mode_shows_the_cancellation_as_a_frame():
    process = subprocess.Popen(
        command("text=working", "cancelled", flags=["--json"]), stdout=subprocess.PIPE, text=True
    )
    with process:
        lines = []
        for line in process.stdout:
            lines.append(json.loads(line)["frame"])
            if lines[-1].get("method") == "session/update":
                process.send_signal(signal.SIGINT)
    assert process.returncode == 130
    assert "session/cancel" in [frame.get("method") for frame in lines]
    assert lines[-1]["result"] == {"stopReason": "cancelled"}


def test_a_reader_that_goes_away_is_no_traceback():
    texts = [f"text={'x' * 2000}" for _ in range(50)]
    process = subprocess.Popen(command(*texts), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    with process:
        assert process.stderr.read() == b""
    assert process.returncode == 1


def ours(*arguments, home, cwd):
    env = {**os.environ, "HERMES_HOME": str(home)}
    return subprocess.run(
        [*MAIN, "--cwd", str(cwd), *arguments],
        capture_output=True,
        text=True,
        env=env,
        stdin=subprocess.DEVNULL,
        check=False,
        timeout=50,
    )


@pytest.mark.parametrize(
    ("policy", "written"),
    [
        ("ask", False),
        pytest.param("edits", True, marks=pytest.mark.slow),
        pytest.param("all", True, marks=pytest.mark.slow),
    ],
)
def test_our_own_server_answers_offline_and_writes_a_file_only_with_leave(policy, written, tmp_path):
    wanted = "say Hello from the script.\nwrite a.txt one"
    done = ours("--offline", "--approve", policy, wanted, home=tmp_path / "home", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Hello from the script.")
    assert (tmp_path / "a.txt").exists() == written


@pytest.mark.slow
def test_our_own_server_shows_what_a_command_prints(tmp_path):
    done = ours("--offline", "--approve", "all", "run echo printed-by-it", home=tmp_path / "home", cwd=tmp_path)
    assert "    | printed-by-it\n" in done.stdout


@pytest.mark.slow
def test_our_own_server_fails_in_words_that_can_be_acted_on(tmp_path):
    done = ours("--offline", "fail 401", home=tmp_path / "home", cwd=tmp_path)
    assert done.returncode == 1
    assert "401" in done.stderr


@pytest.mark.slow
def test_a_conversation_goes_on_where_the_last_prompt_of_the_directory_left_it(tmp_path, home):
    ours("--offline", "todo read; edit", home=home, cwd=tmp_path)
    done = ours("--offline", "--continue", "--json", "call todo {}", home=home, cwd=tmp_path)
    assert '"session/resume"' in done.stdout
    archive = SessionArchive(Database(home / "hermes-acp.db"))
    (session,) = archive.page().sessions
    again = ours("--offline", "--session", session.id, "say Third.", home=home, cwd=tmp_path)
    assert "Third." in again.stdout
    session = archive.get(session.id)
    assert (session.turns, session.source) == (3, "hermes-acp prompt")
    archive.database.close()


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--continue"], "no earlier session"),
        pytest.param(["--session", "ses_none"], "ses_none", marks=pytest.mark.slow),
    ],
)
def test_without_the_earlier_session_it_says_so(flags, said, tmp_path, home):
    done = ours("--offline", *flags, "say x", home=home, cwd=tmp_path)
    assert done.returncode == 1
    assert said in done.stderr


@pytest.mark.slow
def test_what_an_earlier_prompt_was_allowed_is_not_allowed_to_the_next(tmp_path, home):
    ours("--offline", "--approve", "all", "write one.txt x", home=home, cwd=tmp_path)
    ours("--offline", "--continue", "write two.txt x", home=home, cwd=tmp_path)
    assert (tmp_path / "one.txt").exists()
    assert not (tmp_path / "two.txt").exists()


@pytest.mark.slow
class TestGoingOn:
    """With our own server, in one home."""

    @pytest.fixture
    def go(self, tmp_path):
        work, extra = tmp_path / "work", tmp_path / "extra"
        work.mkdir()
        extra.mkdir()

        def go(*flags, cwd=work):
            environment = {**os.environ, "HERMES_HOME": str(tmp_path / "home")}
            done = subprocess.run(
                [*MAIN, "--offline", *flags],
                capture_output=True,
                cwd=cwd,
                env=environment,
                stdin=subprocess.DEVNULL,
                check=False,
                timeout=50,
            )
            return done.returncode, done.stdout.decode(), done.stderr.decode()

        return go

    @pytest.fixture
    def sessions(self, tmp_path):
        def sessions():
            with contextlib.closing(sqlite3.connect(tmp_path / "home" / "hermes-acp.db")) as connection:
                return connection.execute("SELECT id, cwd, roots FROM sessions ORDER BY created_at").fetchall()

        return sessions

    def test_the_beginning_of_an_id_is_enough(self, go, sessions):
        assert go("say One.")[0] == 0
        ((session, *_),) = sessions()
        code, out, err = go("--session", session[:9], "say Two.")
        assert (code, err) == (0, "")
        assert "Two." in out
        assert len(sessions()) == 1

    def test_a_beginning_that_several_have_names_them(self, go, sessions):
        go("say One.")
        go("say Two.")
        code, _, err = go("--session", "ses_", "say Three.")
        assert code == 1
        for session, *_ in sessions():
            assert session in err

    def test_a_directory_is_the_same_however_it_is_written(self, go, sessions):
        go("say One.")
        assert go("--continue", "--cwd", "../work", "say Two.")[0] == 0
        assert len(sessions()) == 1

    def test_two_spellings_of_a_directory_continue_the_same_session(self, go, sessions, tmp_path):
        link = tmp_path / "link"
        link.symlink_to(tmp_path / "work")
        go("--cwd", str(link), "say One.")
        for spelled in (f"{tmp_path}/work", f"/{tmp_path}/work", f"{link}/", str(link)):
            assert go("--continue", "--cwd", spelled, "say More.")[0] == 0
        assert len(sessions()) == 1

    @pytest.mark.parametrize("by_id", [True, False])
    def test_the_sessions_other_directories_stay_with_it(self, by_id, go, sessions, tmp_path):
        go("say One.")
        ((session, cwd, _),) = sessions()
        roots = json.dumps([str(tmp_path / "extra"), str(tmp_path / "gone")])
        with contextlib.closing(sqlite3.connect(tmp_path / "home" / "hermes-acp.db")) as connection:
            connection.execute("UPDATE sessions SET roots = ?", (roots,))
            connection.commit()
        assert go(*(("--session", session) if by_id else ("--continue",)), "say Two.")[0] == 0
        assert sessions() == [(session, cwd, json.dumps([str(tmp_path / "extra")]))]


def test_our_own_servers_refusal_is_its_sentence_alone(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HERMES_HOME", str(tmp_path / "home"))
    for name in [name for name in os.environ if name.endswith("_API_KEY")]:
        monkeypatch.delenv(name)
    assert main(["--cwd", str(tmp_path), "hello"]) == 1
    err = capsys.readouterr().err
    assert err.startswith("hermes-acp prompt: Run `hermes-acp setup` in a terminal: no model is configured.")
    assert "session/new" not in err
    assert err.count("--offline") == 1
