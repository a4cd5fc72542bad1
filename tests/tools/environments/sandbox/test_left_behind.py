"""What a confined command leaves behind, wherever it has put itself: it is known of, and ends with the session."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_core.cancel import CancelToken
from tests.support.tool_context import ScriptedApprover
from tests.support.waiting import wait_until
from tests.tools.environments.sandbox.conftest import World
from tests.tools.environments.sandbox.test_breakouts import NoHost, needs_landlock
from tools.approval.actions import WritePath
from tools.approval.approvals import Approvals
from tools.approval.gate import Gate
from tools.approval.policy import Rules
from tools.environments.containment import Containment, Grounds
from tools.environments.gated_commands import GatedEnvironment
from tools.environments.guardian import Guardian
from tools.environments.local_commands import LocalEnvironment
from tools.environments.persistence_watch import KeptPlaces
from tools.environments.sandbox import kernel
from tools.environments.sandbox.landlock_sandbox import LandlockSandbox
from tools.environments.sandbox.network.session_network import SessionNetwork
from tools.ports import CommandOutcome, CommandSpec

pytestmark = needs_landlock


def has_domains() -> bool:
    """Whether the kernel finds what has shed all else: Linux 6.12."""
    return kernel.landlock_version() >= 6


class Session:
    """A session's commands, asked about and confined, with nobody who says yes."""

    def __init__(self, world: World) -> None:
        self.root = world.root
        self._guardian = Guardian()
        network = SessionNetwork(NoHost())
        sandbox = LandlockSandbox(network)
        self._inner = LocalEnvironment(self._guardian, sandbox=sandbox)
        self.containment = Containment(
            sandbox=sandbox,
            why_not=lambda: "",
            grounds=lambda: Grounds((world.root,)),
            places=KeptPlaces((world.root,)),
            on_close=network.close,
        )
        self.approver = ScriptedApprover(choice="reject_once")
        rules = Rules(roots=(world.root,), confines=self.containment.confines)
        self._token = CancelToken()
        gate = Gate(
            Approvals(rules, "default", self.approver), "call-1", self._token, on_allowed=lambda _action: None
        )
        self._commands = GatedEnvironment(self._inner, gate, self.containment)
        self.is_busy = self._inner.is_busy

    def run(self, command: str) -> CommandOutcome:
        return self._commands.run(CommandSpec(command, self.root, 20.0), lambda _text: None, self._token)

    def close(self) -> None:
        self._inner.close()
        self.containment.close()
        self._guardian.kill_all()


@pytest.fixture
def session(world: World) -> Iterator[Session]:
    session = Session(world)
    (world.root / "late.sh").write_text(
        "echo $$ >pid; until test -e go; do sleep 0.01; done; echo evil >.envrc; mkdir -p .git/hooks; "
        "echo evil >.git/hooks/pre-push; chmod +x .git/hooks/pre-push; touch done; exec sleep 1000\n"
    )
    (world.root / ".git").mkdir()
    yield session
    session.close()


_WAYS = ("sh late.sh", "setsid sh late.sh", "env -i setsid /bin/sh late.sh", "env -i bash -mc 'sh late.sh & wait'")


def _leave(session: Session, way: str) -> int:
    (session.root / "leave.sh").write_text(
        f"{way} </dev/null >/dev/null 2>&1 &\nuntil test -s pid; do sleep 0.01; done\n"
    )
    session.run("sh leave.sh")
    return int((session.root / "pid").read_text())


@pytest.mark.parametrize("way", _WAYS)
def test_what_it_changes_later_is_looked_at_even_if_it_has_ended_by_then(session: Session, way: str) -> None:
    pid = _leave(session, way)
    assert session.is_busy()
    (session.root / "go").touch()
    wait_until((session.root / "done").exists)
    os.kill(pid, 9)
    wait_until(lambda: not session.is_busy())
    outcome = session.run("true > x")
    assert {path.name for path in outcome.put_back} == {".envrc", "pre-push"}
    assert {type(action) for action in session.approver.asked} == {WritePath}
    assert not (session.root / ".envrc").exists()


@pytest.mark.parametrize("way", [way for way in _WAYS if has_domains() or not way.startswith("env -i setsid")])
def test_it_ends_with_the_session_and_its_hooks_do_not_run(session: Session, way: str) -> None:
    pid = _leave(session, way)
    (session.root / "go").touch()
    wait_until((session.root / "done").exists)
    session.close()
    wait_until(lambda: not Path(f"/proc/{pid}").exists() or " Z " in Path(f"/proc/{pid}/stat").read_text())
    hook = session.root / ".git/hooks/pre-push"
    assert hook.read_text() == "evil\n"
    assert hook.stat().st_mode & 0o111 == 0


def test_a_command_that_leaves_nothing_is_not_busy(session: Session) -> None:
    session.run("true > x")
    assert not session.is_busy()
    (session.root / ".envrc").write_text("the person's")
    assert session.run("true > x").put_back == ()


@pytest.mark.parametrize(
    "names",
    [
        (".nvim.lua", "AGENTS.md", "packages/a/.envrc"),
        ("Justfile", ".venv/bin/activate", "node_modules/.bin/eslint", ".idea/workspace.xml"),
        (".git/info/grafts", ".git/sequencer/todo", ".svn/hooks/x", "docs/HEAD"),
    ],
)
def test_a_script_changes_no_place_that_others_run_later_in_the_sandbox_without_a_question(
    session: Session, names: tuple[str, ...]
) -> None:
    lines = [f"mkdir -p $(dirname {name}) && echo evil >{name}" for name in names]
    (session.root / "plant.sh").write_text("\n".join([*lines, "echo fine >src.txt"]))
    outcome = session.run("sh plant.sh")
    assert sorted(outcome.put_back) == sorted(session.root / name for name in names)
    assert len(session.approver.questions) == 1
    assert [name for name in names if (session.root / name).exists()] == []
    assert (session.root / "src.txt").read_text() == "fine\n"
