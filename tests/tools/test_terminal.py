"""The `terminal` tool with real shells behind the real gate."""

import json
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from agent_core.cancel import CancelToken
from tests.support.shells import shells
from tests.support.tool_context import ScriptedApprover, error_of, make_context, value_of
from tests.support.waiting import wait_until
from tools.dispatch import dispatch
from tools.errors import ToolInterrupted
from tools.registry import registry
from tools.result import ShownOutput
from tools.settings import TerminalSettings, ToolSettings
from tools.toolsets import load_builtin_tools

SETTINGS = ToolSettings(terminal=TerminalSettings(max_timeout=5.0, max_output_chars=2000))


class Session:
    """One workspace; `call` runs the tool as the agent does."""

    def __init__(self, cwd, shells):
        self.cwd = cwd
        self.live = []
        self.token = CancelToken()
        self.approver = ScriptedApprover()
        self.settings = SETTINGS
        self.shells = shells
        self.output_file = None
        self.roots = (cwd,)

    def call(self, command, **args):
        return dispatch("terminal", {"command": command, **args}, self.context())

    def payload(self, command, **args):
        return value_of(self.call(command, **args))

    def context(self):
        ctx = make_context(
            self.cwd,
            "default",
            self.approver,
            terminal=self.shells.environment,
            settings=self.settings,
            interrupt=self.token,
            progress=self.live.append,
        )
        return replace(ctx, roots=self.roots, processes=self.shells.processes, output_file=self.output_file)


@pytest.fixture
def session(tmp_path):
    load_builtin_tools()
    with shells(tmp_path, settings=SETTINGS.terminal) as running:
        yield Session(tmp_path, running)


def test_a_success_tells_output_and_exit_code_and_nothing_more(session):
    result = session.call("echo hello")

    assert value_of(result) == {"output": "hello\n", "exit_code": 0}
    assert not result.failed
    assert result.shown == (ShownOutput("hello\n", 0, None),)
    assert result.facts["command"] == "echo hello"
    assert result.facts["cwd"] == str(session.cwd)
    assert result.facts["exit_code"] == 0
    assert result.facts["duration"] >= 0


def test_a_failure_is_marked_and_keeps_its_output(session):
    result = session.call("echo why >&2; exit 3")

    assert result.failed
    assert value_of(result) == {"output": "why\n", "exit_code": 3}


def test_a_command_that_does_not_exist_is_explained(session):
    answer = session.payload("no-such-program-here")

    assert answer["exit_code"] == 127
    assert "not found" in answer["note"]


def test_a_search_without_a_match_is_no_failure(session):
    (session.cwd / "file").write_text("text")

    result = session.call("grep absent file")

    assert not result.failed
    assert "no match" in value_of(result)["note"]


def test_a_signal_is_told_as_the_number_that_shells_use(session):
    result = session.call("kill -SEGV $$")

    assert value_of(result)["exit_code"] == 139
    assert result.facts["exit_code"] is None
    assert result.shown == (ShownOutput("", None, "SIGSEGV"),)


def test_the_person_sees_colours_live_and_the_model_plain_text(session):
    command = r"printf '\033[31mred\033[0m\n10%%\r100%%\n'"

    result = session.call(command)

    assert result.text == "red\n100%\n[exit 0]"
    assert "".join(session.live) == "\x1b[31mred\x1b[0m\n10%\r100%\n"
    assert result.shown[0].output == "\x1b[31mred\x1b[0m\n100%\n"


def test_a_long_output_tells_how_much_is_left_out(session):
    answer = session.payload("seq 1 5000")

    assert answer["truncated_chars"] > 10_000
    assert f"{answer['truncated_chars']} characters left out" in answer["output"]
    assert answer["output"].startswith("1\n2\n")
    assert answer["output"].endswith("4999\n5000\n")


def test_a_flood_is_shown_live_only_up_to_a_bound(session):
    session.call("yes", timeout=1)

    assert len("".join(session.live)) < 1_100_000
    assert "too much to show live" in session.live[-2]
    assert session.live[-1].endswith("y\ny\n"), "the end follows"


def test_a_command_that_takes_too_long_says_so(session):
    result = session.call("echo begun; sleep 30", timeout=0.2)
    answer = value_of(result)

    assert result.failed
    assert answer["timed_out"] is True
    assert result.facts["timed_out"] is True
    assert any("still running after 0.2 s" in getattr(shown, "text", "") for shown in result.shown)
    assert answer["exit_code"] == 124
    assert answer["output"] == "begun\n"
    assert "0.2 s" in answer["note"]


@pytest.mark.parametrize("timeout", [0.2, "0.2", " 0.2 "])
def test_the_timeout_may_come_as_a_number_or_as_text(session, timeout):
    assert session.payload("sleep 30", timeout=timeout)["timed_out"]


def test_the_timeout_is_clamped_to_the_settings(session):
    session.settings = ToolSettings(terminal=TerminalSettings(max_timeout=0.2))

    assert session.payload("sleep 30", timeout=100_000)["timed_out"]


def test_a_timeout_above_the_limit_is_said(session):
    session.settings = ToolSettings(terminal=TerminalSettings(max_timeout=60))
    assert session.payload("echo a", timeout=61)["note"].startswith("timeout was set to 60 s, the most that there is")
    assert "note" not in session.payload("echo a", timeout=60)


@pytest.mark.parametrize("timeout", [0, -1, "soon", True, "nan", [1], {}])
def test_a_timeout_that_is_no_time_is_refused(session, timeout):
    assert "timeout" in session.payload("touch made", timeout=timeout)["error"]
    assert not (session.cwd / "made").exists()


class TestWorkdir:
    def test_a_relative_one_is_below_the_session_s_directory(self, session):
        (session.cwd / "sub").mkdir()

        assert session.payload("pwd", workdir="sub")["output"] == f"{session.cwd / 'sub'}\n"

    @pytest.mark.parametrize("workdir", [None, "", "."])
    def test_the_default_is_the_session_s_directory(self, session, workdir):
        assert session.payload("pwd", workdir=workdir)["output"] == f"{session.cwd}\n"

    @pytest.mark.parametrize("workdir", ["missing", "file", 7])
    def test_one_that_is_no_directory_is_refused(self, session, workdir):
        (session.cwd / "file").write_text("")

        assert "workdir" in session.payload("true", workdir=workdir)["error"]

    def test_one_outside_the_session_asks_first(self, session, tmp_path_factory):
        outside = tmp_path_factory.mktemp("outside")
        session.approver.choice = "reject_once"

        result = session.call("pwd", workdir=str(outside))

        assert result.failed
        assert str(outside) in error_of(result)


@pytest.mark.parametrize("command", ["", "  \n", None, {"x": "ls"}])
def test_an_empty_command_is_refused(session, command):
    assert "command" in session.payload(command)["error"]


def test_without_background_processes_it_says_what_to_do(session):
    ctx = replace(session.context(), processes=None)
    answer = value_of(dispatch("terminal", {"command": "touch made", "background": True}, ctx))

    assert "background is not available" in answer["error"]
    assert not (session.cwd / "made").exists()


def test_without_a_memory_each_command_gets_a_fresh_shell(session):
    ctx = replace(session.context(), processes=None)
    dispatch("terminal", {"command": "cd /; export A=1"}, ctx)
    answer = value_of(dispatch("terminal", {"command": 'echo "[$A]"; pwd'}, ctx))

    assert answer == {"output": f"[]\n{session.cwd}\n", "exit_code": 0}


def test_what_is_not_asked_for_does_no_harm(session):
    assert session.payload("echo x", background=False, pty=False, watch_patterns=[])["exit_code"] == 0


def test_a_dangerous_command_runs_only_after_a_yes(session):
    (session.cwd / "file").write_text("")
    session.approver.choice = "reject_once"
    refused = session.call("rm file")
    assert refused.failed
    assert (session.cwd / "file").exists()

    session.approver.choice = "allow_once"
    assert not session.call("rm file").failed
    assert not (session.cwd / "file").exists()
    assert len(session.approver.asked) == 2


def test_the_cancel_ends_the_call(session):
    canceller = threading.Thread(target=lambda: wait_until(lambda: bool(session.live)) or session.token.cancel())
    canceller.start()

    with pytest.raises(ToolInterrupted):
        session.call("echo up; sleep 1000")
    canceller.join()


def test_the_definition_stays_small():
    load_builtin_tools()
    definition = registry.get("terminal").definition()

    assert len(json.dumps(definition)) <= 1200
    assert list(definition["function"]["parameters"]["properties"]) == [
        "command",
        "background",
        "timeout",
        "workdir",
        "pty",
        "unsandboxed",
        "notify_on_complete",
        "watch_patterns",
    ]
    assert definition["function"]["parameters"]["required"] == ["command"]


def test_it_never_runs_beside_other_tools():
    load_builtin_tools()

    assert registry.get("terminal").parallel == "never"
    assert registry.get("terminal").toolset == "terminal"


class TestMemory:
    def test_the_model_is_told_where_the_shell_is_while_that_is_elsewhere(self, session):
        (session.cwd / "sub").mkdir()

        assert session.payload("cd sub; export A=1")["cwd"] == str(session.cwd / "sub")
        assert session.payload("pwd; echo $A") == {
            "output": f"{session.cwd / 'sub'}\n1\n",
            "exit_code": 0,
            "cwd": str(session.cwd / "sub"),
        }
        assert session.payload("cd ..") == {"output": "", "exit_code": 0}

    def test_a_workdir_is_for_one_call(self, session):
        (session.cwd / "sub").mkdir()
        (session.cwd / "sub" / "deep").mkdir()

        assert session.payload("cd deep; export B=2; pwd", workdir="sub")["output"].endswith("/sub/deep\n")
        assert session.payload("pwd; echo $B")["output"] == f"{session.cwd}\n2\n"

    def test_a_directory_that_is_gone_is_left(self, session):
        (session.cwd / "sub").mkdir()
        session.payload("cd sub")
        (session.cwd / "sub").rmdir()
        answer = session.payload("pwd")

        assert answer["output"] == f"{session.cwd}\n"
        assert "is gone" in answer["note"]
        assert "note" not in session.payload("pwd")

    def test_a_cd_outside_the_session_holds_for_that_command_only_and_is_said(self, session, tmp_path_factory):
        outside = tmp_path_factory.mktemp("outside")
        (session.cwd / "sub").mkdir()
        session.payload("cd sub")
        answer = session.payload(f"cd {outside}; export A=1; pwd")

        assert answer["output"] == f"{outside}\n"
        assert f"{outside} is outside the session's directories, so it was left again" in answer["note"]
        assert f"the next command runs in {session.cwd / 'sub'}" in answer["note"]
        assert session.payload("pwd; echo $A")["output"] == f"{session.cwd / 'sub'}\n1\n"
        assert {type(action).__name__ for action in session.approver.asked} == {"RunCommand"}

    def test_a_cd_through_a_link_that_leads_outside_holds_for_that_command_only(self, session, tmp_path_factory):
        (session.cwd / "link").symlink_to(tmp_path_factory.mktemp("outside"))

        assert "was left again" in session.payload("cd link")["note"]
        assert session.payload("pwd")["output"] == f"{session.cwd}\n"

    def test_a_cd_to_another_directory_of_the_session_lasts(self, session, tmp_path_factory):
        session.roots = (session.cwd, tmp_path_factory.mktemp("additional"))

        assert "note" not in session.payload(f"cd {session.roots[1]}")
        assert session.payload("pwd")["output"] == f"{session.roots[1]}\n"

    def test_a_workdir_outside_the_session_is_still_for_one_call(self, session, tmp_path_factory):
        outside = tmp_path_factory.mktemp("outside")

        assert session.payload("pwd", workdir=str(outside))["output"] == f"{outside}\n"
        assert session.payload("pwd")["output"] == f"{session.cwd}\n"

    def test_a_background_command_after_a_cd_outside_runs_in_the_session_and_names_its_directory(self, session):
        session.payload("cd /; echo")
        answer = session.payload("pwd", background=True)

        assert (answer["cwd"], answer["output"]) == (str(session.cwd), f"{session.cwd}\n")

    def test_the_gate_asks_about_the_directory_in_which_it_really_runs(self, session):
        (session.cwd / "sub").mkdir()
        session.payload("cd sub")
        session.payload("rm -f x")

        assert session.approver.asked[-1].cwd == session.cwd / "sub"

    @pytest.mark.parametrize("command", ["trap true EXIT; cd sub", "cd sub; exec true"])
    def test_a_directory_that_a_shell_cannot_tell_at_its_end_is_told_to_be_lost(self, command, session):
        (session.cwd / "sub").mkdir()
        assert "not kept" in session.payload(command)["note"]
        assert "note" not in session.payload("exec true")

    def test_what_is_not_kept_is_told(self, session):
        assert "BASH_ENV" in session.payload("export BASH_ENV=x")["note"]


class TestInput:
    def test_a_question_is_reported_with_what_to_do(self, session):
        result = session.call("read -p 'Sure? [y/N] ' x", pty=True)
        answer = value_of(result)

        assert result.failed
        assert answer["output"] == "Sure? [y/N] "
        assert "«Sure? [y/N]»" in answer["note"]
        assert "-y" in answer["note"]

    def test_a_full_screen_program_is_reported(self, session):
        assert "full-screen" in session.payload(r"printf '\033[?1049h'; read x", pty=True)["note"]

    def test_git_says_that_there_is_no_editor(self, session):
        session.payload("git init -q . && git config user.email a@b.example && git config user.name A")
        answer = session.payload("git commit --allow-empty -e -m x")

        assert answer["exit_code"] == 1
        assert "No editor here" in answer["output"]


class TestBackground:
    def test_it_returns_at_once_with_an_id(self, session):
        result = session.call("echo up; sleep 1000", background=True)
        answer = value_of(result)

        assert not result.failed
        assert answer == {
            "session_id": answer["session_id"],
            "running": True,
            "cwd": str(session.cwd),
            "output": "up\n",
        }
        assert session.shells.processes.poll(answer["session_id"]).info.running

    def test_one_that_fails_at_once_says_so(self, session):
        result = session.call("no-such-program", background=True)
        answer = value_of(result)

        assert result.failed
        assert (answer["running"], answer["exit_code"]) == (False, 127)
        assert "not found" in answer["note"]

    def test_it_runs_where_the_shell_is_with_its_variables(self, session):
        (session.cwd / "sub").mkdir()
        session.payload("cd sub; export A=1")

        assert session.payload("pwd; echo $A", background=True)["output"] == f"{session.cwd / 'sub'}\n1\n"

    def test_it_leaves_the_shell_alone(self, session):
        session.payload("cd /; export A=1", background=True)

        assert session.payload("echo [$A]; pwd")["output"] == f"[]\n{session.cwd}\n"

    def test_a_time_out_in_the_foreground_leads_here(self, session):
        assert "background=true" in session.payload("sleep 30", timeout=0.1)["note"]

    @pytest.mark.parametrize("patterns", [7, {"a": 1}])
    def test_patterns_that_are_no_texts_are_refused(self, patterns, session):
        assert "watch_patterns" in session.payload("touch made", background=True, watch_patterns=patterns)["error"]
        assert not (session.cwd / "made").exists()


class TestLongOutput:
    def test_all_of_it_is_in_a_file_that_is_named(self, session):
        session.output_file = session.cwd / "out.txt"
        answer = session.payload("head -c 10000000 /dev/zero | tr '\\0' x; echo; echo the end")

        assert answer["output"].endswith("the end\n")
        assert len(answer["output"]) < 2200
        assert answer["full_output"] == str(session.cwd / "out.txt")
        assert Path(answer["full_output"]).stat().st_size == 10_000_009

    def test_a_progress_bar_does_not_push_out_what_counts(self, session):
        session.output_file = session.cwd / "out.txt"
        bar = r"for i in {1..2000}; do printf '\r%d%%|###########   |' $i; done; echo"
        answer = session.payload(f"echo begin; {bar}; echo end")

        assert answer == {"output": "begin\n2000%|###########   |\nend\n", "exit_code": 0}

    def test_what_is_no_text_does_no_harm(self, session):
        answer = session.payload("printf '\\x%02x' {0..255} > codes; printf \"$(cat codes)\"; echo; echo end")

        assert answer["exit_code"] == 0
        assert ' !"#$' in answer["output"]
        assert answer["output"].endswith("end\n")
