"""Background processes behind the gate: starting and typing ask, looking and ending do not."""

import pytest

from agent_core.cancel import CancelToken
from tests.support.shells import shells
from tests.support.tool_context import ScriptedApprover
from tests.support.waiting import wait_until
from tools.approval.actions import ProcessInput, RunCommand
from tools.approval.approvals import Approvals
from tools.approval.gate import Gate
from tools.approval.policy import Rules
from tools.environments.gated_commands import GatedProcesses
from tools.errors import Denied, ToolInterrupted
from tools.shell.session import ProcessSpec


class Desk:
    """A session's processes behind a gate that asks `approver`."""

    def __init__(self, cwd, session, mode="default"):
        self.cwd = cwd
        self.session = session
        self.approver = ScriptedApprover()
        self.token = CancelToken()
        approvals = Approvals(Rules(roots=(cwd.resolve(),)), mode, self.approver)
        gate = Gate(approvals, "call-1", self.token, on_allowed=lambda _action: None)
        self.processes = GatedProcesses(session.processes, gate)

    def start(self, command, **spec):
        return self.processes.start(ProcessSpec(command, self.cwd, **spec)).id

    def shown(self, name, text):
        wait_until(lambda: text in self.processes.log(name).output)


@pytest.fixture
def desk(tmp_path):
    with shells(tmp_path) as session:
        yield Desk(tmp_path, session)


def test_an_ordinary_command_starts_unasked(desk):
    desk.start("sleep 1000")

    assert desk.approver.asked == []


def test_what_was_allowed_just_before_plan_mode_is_not_started_in_it(tmp_path):
    with shells(tmp_path) as session:
        approvals = Approvals(Rules(roots=(tmp_path.resolve(),)), "accept_edits", ScriptedApprover())

        def plan(_action):
            approvals.mode = "plan"

        processes = GatedProcesses(session.processes, Gate(approvals, "call-1", CancelToken(), on_allowed=plan))
        with pytest.raises(Denied):
            processes.start(ProcessSpec("touch made; sleep 1000", tmp_path))
        assert processes.list() == ()


def test_a_dangerous_one_starts_only_after_a_yes(desk):
    desk.approver.choice = "reject_once"
    with pytest.raises(Denied):
        desk.start("rm file; touch made")

    assert desk.approver.asked == [RunCommand("rm file; touch made", desk.cwd)]
    assert desk.processes.list() == ()


@pytest.mark.parametrize("data", ["y", "", "2", "my-project", "\x03", "\x1b[B", "q", "ann@example.org"])
def test_a_short_answer_is_typed_unasked(data, desk):
    name = desk.start("read x; read x")
    desk.processes.write(name, data, submit=True)

    assert desk.approver.asked == []


@pytest.mark.parametrize(
    "data", ["rm -rf src", "import os; os.remove('x')", "./run.sh", "git push --force", "DROP TABLE users;", "a b"]
)
def test_anything_else_asks_before_it_is_typed(data, desk):
    name = desk.start("cat")
    desk.approver.choice = "reject_once"
    with pytest.raises(Denied, match="type"):
        desk.processes.write(name, data, submit=True)
    assert desk.approver.asked == [ProcessInput("cat", data, desk.cwd)]

    desk.approver.choice = "allow_once"
    desk.processes.write(name, data, submit=True)
    desk.shown(name, f"{data}\n")
    assert desk.processes.log(name).output == f"{data}\n", "what was refused was not typed"


def test_a_yes_for_the_session_is_for_that_program(desk):
    first, second = desk.start("cat"), desk.start("cat -u")
    desk.approver.choice = "allow_session"
    desk.processes.write(first, "two words", submit=True)
    desk.processes.write(first, "more words", submit=True)
    assert len(desk.approver.asked) == 1

    desk.processes.write(second, "two words", submit=True)
    assert len(desk.approver.asked) == 2


def test_what_is_forbidden_as_a_command_is_not_typed_either(desk):
    name = desk.start("cat")
    with pytest.raises(Denied):
        desk.processes.write(name, "rm -rf /", submit=True)

    assert desk.approver.asked == []


def test_a_command_line_cannot_be_typed_in_pieces_that_look_like_answers(desk):
    name = desk.start("cat")
    desk.approver.choice = "reject_once"
    for piece in ("r", "m"):
        desk.processes.write(name, piece)
    with pytest.raises(Denied, match="type"):
        desk.processes.write(name, "\t")


def test_while_planning_a_command_runs_with_the_programs_that_the_user_has(tmp_path):
    (tmp_path / "ls").write_text("#!/bin/sh\necho mine\n")
    (tmp_path / "ls").chmod(0o755)
    with shells(tmp_path) as session:
        session.run('export PATH="$PWD:$PATH"')
        planning = Desk(tmp_path, session, "plan")
        state = session.memory.state()
        name = planning.start("ls", env=state.added(), unset=state.removed())
        planning.processes.wait(name, 10, planning.token)

        assert planning.processes.log(name).output == "ls\n"


def test_while_planning_nothing_is_started_or_typed(tmp_path):
    with shells(tmp_path) as session:
        name = Desk(tmp_path, session).start("cat")
        planning = Desk(tmp_path, session, "plan")

        with pytest.raises(Denied):
            planning.start("make")
        with pytest.raises(Denied):
            planning.processes.write(name, "y", submit=True)
        with pytest.raises(Denied):
            planning.processes.end_input(name)
        assert planning.processes.poll(name).info.running


def test_looking_and_ending_ask_nothing(desk):
    name = desk.start("echo x; cat")
    desk.shown(name, "x")
    desk.processes.poll(name)
    desk.processes.wait(name, 0, desk.token)
    desk.processes.end_input(name)
    desk.processes.kill(name)

    assert desk.approver.asked == []


def test_a_turn_that_is_over_starts_and_types_nothing(desk):
    name = desk.start("cat")
    desk.token.cancel()

    with pytest.raises(ToolInterrupted):
        desk.start("true")
    with pytest.raises(ToolInterrupted):
        desk.processes.write(name, "y")


def test_closing_it_leaves_the_session_s_processes_alone(desk):
    name = desk.start("sleep 1000")
    desk.processes.close()

    assert desk.session.processes.poll(name).info.running
