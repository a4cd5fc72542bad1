"""The `terminal` tool with real shells behind the real gate."""

import json
import threading

import pytest

from agent_core.interrupt import CancelToken
from tests.support.tool_context import ScriptedApprover, make_context
from tests.support.waiting import wait_until
from tools.dispatch import dispatch
from tools.environments.guardian import Guardian
from tools.environments.local_commands import LocalEnvironment
from tools.errors import ToolInterrupted
from tools.registry import registry
from tools.result import ShownOutput
from tools.settings import TerminalSettings, ToolSettings
from tools.toolsets import load_builtin_tools


class Session:
    """One workspace; `call` runs the tool as the agent does."""

    def __init__(self, cwd, guardian):
        self.cwd = cwd
        self.live = []
        self.token = CancelToken()
        self.approver = ScriptedApprover()
        self.settings = ToolSettings(terminal=TerminalSettings(max_timeout=5.0, max_output_chars=2000))
        self.environment = LocalEnvironment(guardian, self.settings.terminal)

    def call(self, command, **args):
        return dispatch("terminal", {"command": command, **args}, self.context())

    def payload(self, command, **args):
        return json.loads(self.call(command, **args).text)

    def context(self):
        return make_context(
            self.cwd,
            "default",
            self.approver,
            terminal=self.environment,
            settings=self.settings,
            interrupt=self.token,
            progress=self.live.append,
        )


@pytest.fixture
def session(tmp_path):
    load_builtin_tools()
    guardian = Guardian()
    session = Session(tmp_path, guardian)
    yield session
    session.environment.close()
    guardian.kill_all()


def test_a_success_tells_output_and_exit_code_and_nothing_more(session):
    result = session.call("echo hello")

    assert json.loads(result.text) == {"output": "hello\n", "exit_code": 0}
    assert not result.failed
    assert result.shown == (ShownOutput("hello\n", 0, None),)
    assert result.facts["command"] == "echo hello"
    assert result.facts["cwd"] == str(session.cwd)
    assert result.facts["exit_code"] == 0
    assert result.facts["duration"] >= 0


def test_a_failure_is_marked_and_keeps_its_output(session):
    result = session.call("echo why >&2; exit 3")

    assert result.failed
    assert json.loads(result.text) == {"output": "why\n", "exit_code": 3}


def test_a_command_that_does_not_exist_is_explained(session):
    answer = session.payload("no-such-program-here")

    assert answer["exit_code"] == 127
    assert "not found" in answer["note"]


def test_a_search_without_a_match_is_no_failure(session):
    (session.cwd / "file").write_text("text")

    result = session.call("grep absent file")

    assert not result.failed
    assert "no match" in json.loads(result.text)["note"]


def test_a_signal_is_told_as_the_number_that_shells_use(session):
    result = session.call("kill -SEGV $$")

    assert json.loads(result.text)["exit_code"] == 139
    assert result.facts["exit_code"] is None
    assert result.shown == (ShownOutput("", None, "SIGSEGV"),)


def test_the_person_sees_colours_live_and_the_model_plain_text(session):
    command = r"printf '\033[31mred\033[0m\n10%%\r100%%\n'"

    result = session.call(command)

    assert json.loads(result.text)["output"] == "red\n100%\n"
    assert "".join(session.live) == "\x1b[31mred\x1b[0m\n10%\r100%\n"
    assert result.shown[0].output == "".join(session.live)


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
    answer = json.loads(result.text)

    assert result.failed
    assert answer["timed_out"] is True
    assert answer["exit_code"] == 124
    assert answer["output"] == "begun\n"
    assert "0.2 s" in answer["note"]


@pytest.mark.parametrize("timeout", [0.2, "0.2", " 0.2 "])
def test_the_timeout_may_come_as_a_number_or_as_text(session, timeout):
    assert session.payload("sleep 30", timeout=timeout)["timed_out"]


def test_the_timeout_is_clamped_to_the_settings(session):
    session.settings = ToolSettings(terminal=TerminalSettings(max_timeout=0.2))

    assert session.payload("sleep 30", timeout=100_000)["timed_out"]


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
        assert str(outside) in json.loads(result.text)["error"]


@pytest.mark.parametrize("command", ["", "  \n", None, 5, ["ls"]])
def test_an_empty_command_is_refused(session, command):
    assert "command" in session.payload(command)["error"]


@pytest.mark.parametrize("name", ["background", "pty", "notify_on_complete"])
def test_what_is_not_available_is_refused_clearly(session, name):
    answer = session.payload("touch made", **{name: True})

    assert f"{name} is not available" in answer["error"]
    assert not (session.cwd / "made").exists()


def test_what_is_not_available_but_not_asked_for_does_no_harm(session):
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


def test_the_definition_stays_small_and_offers_only_what_works():
    load_builtin_tools()
    definition = registry.get("terminal").definition()

    assert len(json.dumps(definition)) < 900
    assert set(definition["function"]["parameters"]["properties"]) == {"command", "timeout", "workdir"}
    assert definition["function"]["parameters"]["required"] == ["command"]


def test_it_never_runs_beside_other_tools():
    load_builtin_tools()

    assert registry.get("terminal").parallel == "never"
    assert registry.get("terminal").toolset == "terminal"
