"""In plan mode a command runs with the programs that the user has, and changes nothing that the shell keeps."""

import pytest

from agent_core.cancel import CancelToken
from tests.support.shells import shells
from tools.approval.approvals import Approvals
from tools.approval.gate import Gate
from tools.approval.policy import Rules
from tools.environments.gated_commands import GatedEnvironment
from tools.errors import Denied
from tools.shell.session import ShellCommand


def gated(session, mode):
    approvals = Approvals(Rules(roots=(session.cwd.resolve(),)), mode)
    return GatedEnvironment(session.environment, Gate(approvals, "call-1", CancelToken(), lambda _action: None))


def run(session, mode, command):
    state = session.memory.state()
    spec = ShellCommand(command, state.cwd, 20.0, state.added(), unset=state.removed())
    return gated(session, mode).run(spec, lambda _text: None, CancelToken())


def test_a_path_that_was_exported_before_does_not_count_while_planning(tmp_path):
    (tmp_path / "ls").write_text("#!/bin/sh\necho mine\n")
    (tmp_path / "ls").chmod(0o755)
    with shells(tmp_path) as session:
        session.run('export PATH="$PWD:$PATH"')

        assert session.run("ls").output == "mine\n"
        assert run(session, "plan", "ls").output == "ls\n"
        assert session.run("ls").output == "mine\n"


def test_a_safe_command_that_a_path_leads_to_the_workspace_is_asked_about(tmp_path):
    (tmp_path / "ls").write_text("#!/bin/sh\necho mine\n")
    (tmp_path / "ls").chmod(0o755)
    with shells(tmp_path) as session:
        session.run('export PATH="$PWD:$PATH"')
        for command in ("ls", "ls -l | head", "timeout 5 ls", "cd /usr && ls"):
            with pytest.raises(Denied, match="nobody to ask"):
                run(session, "default", command)
        assert run(session, "default", "echo fine; cat /dev/null").output == "fine\n"


def test_the_shell_stays_where_it_is(tmp_path):
    with shells(tmp_path) as session:
        outcome = run(session, "plan", "cd /usr && pwd")

    assert outcome.output == "/usr\n"
    assert outcome.left is None
