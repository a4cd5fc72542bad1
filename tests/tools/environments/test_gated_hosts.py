"""Hosts that commands want to reach: asked about on the card of the call, and the time of it does not count."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from agent_core.cancel import CancelToken
from tests.support.shells import shells
from tests.support.tool_context import ScriptedApprover
from tests.support.waiting import wait_until
from tools.approval.actions import ConnectHost
from tools.approval.approvals import Approvals
from tools.approval.gate import Gate
from tools.approval.policy import Mode, Rules
from tools.environments.containment import GatedHosts
from tools.ports import CommandSpec

_ROOT = Path("/srv/project")


def _gate(approver: ScriptedApprover, mode: Mode = "default", call: str = "call-1") -> Gate:
    approvals = Approvals(Rules(roots=(_ROOT,)), mode, approver)
    return Gate(approvals, call, CancelToken(), on_allowed=lambda _action: None)


def test_the_question_names_the_command_and_the_host() -> None:
    hosts, approver = GatedHosts(), ScriptedApprover()
    with hosts.asking_for(_gate(approver), "npm ci"):
        assert hosts.may_connect("example.com", 443, CancelToken())
    assert approver.asked == [ConnectHost("example.com", 443, "", "npm ci")]


def test_before_any_command_nothing_is_reached() -> None:
    assert not GatedHosts().may_connect("example.com", 443, CancelToken())


def test_what_runs_on_in_the_background_asks_for_the_command_that_was_started_last() -> None:
    hosts, approver = GatedHosts(), ScriptedApprover()
    with hosts.asking_for(_gate(approver), "npm run dev"):
        pass
    assert hosts.may_connect("example.com", 443, CancelToken())
    assert approver.asked == [ConnectHost("example.com", 443, "", "npm run dev")]


def test_what_is_over_is_forgotten_and_asks_nobody_any_more() -> None:
    hosts, approver = GatedHosts(), ScriptedApprover()
    with hosts.asking_for(_gate(approver), "npm run dev"):
        hosts.forget()
        assert hosts.may_connect("example.com", 443, CancelToken()), "it runs"
    hosts.forget()
    assert not hosts.may_connect("example.com", 443, CancelToken())
    assert len(approver.asked) == 1


def test_a_host_that_is_reached_without_a_question_brings_others_words_before_memory_is_written() -> None:
    hosts, gate = GatedHosts(), _gate(ScriptedApprover())
    hosts.reached()
    with hosts.asking_for(gate, "npm view x readme"):
        assert not gate.approvals.has_read_others
        hosts.reached()
    assert gate.approvals.has_read_others


@pytest.mark.parametrize("mode", ["default", "plan"])
def test_a_no_is_a_no(mode: Mode) -> None:
    hosts, approver = GatedHosts(), ScriptedApprover("reject_once")
    with hosts.asking_for(_gate(approver, mode), "curl"):
        assert not hosts.may_connect("example.com", 443, CancelToken())


def test_a_program_that_has_ended_waits_for_no_answer() -> None:
    ended = CancelToken()
    ended.cancel()
    hosts, approver = GatedHosts(), ScriptedApprover()
    with hosts.asking_for(_gate(approver), "curl"):
        assert not hosts.may_connect("example.com", 443, ended)


def test_a_commands_time_does_not_run_out_while_the_person_thinks(tmp_path: Path) -> None:
    answered = threading.Event()
    approver = ScriptedApprover(before_answer=lambda: answered.wait(20))
    hosts, answers = GatedHosts(), []
    with shells(tmp_path) as session, hosts.asking_for(_gate(approver), "curl") as running:
        asking = threading.Thread(
            target=lambda: answers.append(hosts.may_connect("example.com", 443, CancelToken())), name="asking"
        )
        asking.start()
        wait_until(lambda: bool(approver.asked))
        spec = CommandSpec("while [ ! -e go ]; do sleep 0.02; done; echo done", tmp_path, 0.3, waited=running.waited)
        outcomes = []
        command = threading.Thread(
            target=lambda: outcomes.append(session.environment.run(spec, lambda _: None, CancelToken())),
            name="command",
        )
        command.start()
        # Longer than the command may take.
        wait_until(lambda: running.waited() > 1.0)
        (tmp_path / "go").touch()
        command.join(20)
        answered.set()
        asking.join(20)
    assert (outcomes[0].output, outcomes[0].timed_out, answers) == ("done\n", False, [True])
