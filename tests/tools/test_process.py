"""The `process` tool over real background processes."""

import json
from dataclasses import replace

import pytest

from tests.support.shells import shells
from tests.support.tool_context import error_of, make_context, value_of
from tests.support.waiting import wait_until
from tools.dispatch import dispatch
from tools.registry import registry
from tools.shell.session import ProcessLimits
from tools.toolsets import load_builtin_tools


class Desk:
    """Calls the tool as the agent does."""

    def __init__(self, cwd, shells):
        self.shells = shells
        self.ctx = replace(make_context(cwd, terminal=shells.environment), processes=shells.processes)

    def call(self, action, process_id=None, **args):
        named = {} if process_id is None else {"session_id": process_id}
        return dispatch("process", {"action": action, **named, **args}, self.ctx)

    def payload(self, action, process_id=None, **args):
        return value_of(self.call(action, process_id, **args))

    def start(self, command, **args):
        result = dispatch("terminal", {"command": command, "background": True, **args}, self.ctx)
        return value_of(result)["session_id"]


@pytest.fixture
def desk(tmp_path):
    load_builtin_tools()
    with shells(tmp_path, limits=ProcessLimits(kept_chars=20_000)) as running:
        yield Desk(tmp_path, running)


def test_all_are_listed_with_what_they_run(desk):
    assert desk.payload("list") == {"processes": []}
    first, second = desk.start("sleep 1000"), desk.start("exit 3")
    desk.payload("wait", second)
    listed = desk.payload("list")["processes"]

    assert [(one["session_id"], one["running"], one["command"]) for one in listed] == [
        (first, True, "sleep 1000"),
        (second, False, "exit 3"),
    ]
    assert listed[1]["exit_code"] == 3


def test_a_person_sees_the_list_in_words(desk):
    assert desk.call("list").shown[0].text == "There are none."
    first, second = desk.start("sleep   1000"), desk.start("exit 3")
    desk.payload("wait", second)
    running, ended = desk.call("list").shown[0].text.splitlines()

    assert running.startswith(f"{first}  running, ")
    assert running.endswith(" s: sleep 1000")
    assert ended == f"{second}  ended with exit code 3: exit 3"


def test_polling_tells_what_is_new(desk):
    name = desk.start("echo one; read x; echo two; read x")
    assert desk.payload("poll", name)["output"] == ""

    desk.payload("submit", name)
    wait_until(lambda: "two" in desk.shells.processes.log(name).output)

    answer = desk.payload("poll", name)
    assert (answer["running"], answer["output"]) == (True, "two\n")


def test_waiting_tells_the_rest_and_how_it_ended(desk):
    name = desk.start("read x; printf '10%%\\r100%%\\n'; exit 2")
    desk.payload("submit", name)
    result = desk.call("wait", name)
    answer = value_of(result)

    assert (answer["running"], answer["exit_code"], answer["output"]) == (False, 2, "100%\n")
    assert not result.failed, "waiting worked"
    assert result.facts["exit_code"] == 2


def test_waiting_ends_with_the_time_that_is_given(desk):
    assert desk.payload("wait", desk.start("sleep 1000"), timeout=0.05)["running"]


def test_waiting_ends_at_a_question_which_can_be_answered(desk):
    name = desk.start("read -p 'Name? [y/n] ' name; echo hello $name", pty=True)
    asked = desk.payload("wait", name)
    assert asked["waits_for"] == "Name? [y/n]"
    assert "submit" in asked["note"]

    desk.payload("submit", name, data="Ann")
    assert desk.payload("wait", name)["output"].endswith("hello Ann\n")


def test_the_log_is_read_in_pages_of_lines(desk):
    name = desk.start("seq 1 500")
    desk.payload("wait", name)

    last = desk.payload("log", name, limit=2)
    assert (last["output"], last["offset"], last["total_lines"]) == ("499\n500", 498, 500)
    assert desk.payload("log", name, offset=0, limit=2)["output"] == "1\n2"
    assert desk.payload("log", name)["output"].startswith("301\n")
    assert desk.payload("log", name, offset=1000)["output"] == ""


def test_a_long_log_names_its_file(tmp_path, desk):
    desk.ctx = replace(desk.ctx, output_file=tmp_path / "out.txt")
    name = desk.start("read x; seq 1 20000")
    desk.payload("submit", name)
    answer = desk.payload("wait", name)

    assert answer["full_output"] == str(tmp_path / "out.txt")
    assert answer["truncated_chars"] > 50_000
    assert answer["output"].endswith("20000\n")
    assert desk.payload("log", name)["truncated_chars"] > 50_000


def test_typing_and_the_end_of_input(desk):
    name = desk.start("cat; echo over")
    desk.payload("write", name, data="a")
    desk.payload("write", name, data="b\n")
    desk.payload("close", name)

    assert desk.payload("wait", name)["output"] == "ab\nover\n"


def test_killing_tells_the_signal_and_whether_it_was_needed(desk):
    name = desk.start("sleep 1000")

    assert desk.payload("kill", name) == {
        "session_id": name,
        "running": False,
        "exit_code": None,
        "signal": "SIGTERM",
    }
    assert "had ended" in desk.payload("kill", name)["note"]


def test_matches_are_told(desk):
    name = desk.start("echo ready on 80; sleep 1000", watch_patterns=["ready"])
    wait_until(lambda: bool(desk.shells.processes.poll(name).info.matches))

    assert desk.payload("poll", name)["matches"] == ["ready on 80"]


@pytest.mark.parametrize("action", ["poll", "log", "wait", "kill", "write", "submit", "close"])
def test_a_process_that_is_not_there_is_a_clear_error(action, desk):
    known = desk.start("sleep 1000")

    answer = desk.payload(action, "proc_none", data="x")
    assert "no process 'proc_none'" in answer["error"]
    assert known in answer["error"]
    assert "session_id" in desk.payload(action, data="x")["error"]


@pytest.mark.parametrize("args", [{"action": "fly"}, {"action": ""}, {}])
def test_an_action_that_does_not_exist_is_refused(args, desk):
    assert "action" in error_of(dispatch("process", args, desk.ctx))


@pytest.mark.parametrize("timeout", ["soon", -1, "nan"])
def test_a_time_that_is_none_is_refused(timeout, desk):
    assert "timeout" in desk.payload("wait", desk.start("sleep 1000"), timeout=timeout)["error"]


def test_without_background_processes_it_says_so(desk):
    desk.ctx = replace(desk.ctx, processes=None)

    assert "no background processes" in desk.payload("list")["error"]


def test_the_definition_stays_small():
    load_builtin_tools()

    assert len(json.dumps(registry.get("process").definition())) <= 560
