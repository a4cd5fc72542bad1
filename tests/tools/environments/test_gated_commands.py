"""Commands behind the gate: which run confined, what is asked after a refusal, and what is looked at afterwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from agent_core.cancel import CancelToken
from tests.support.tool_context import ScriptedApprover
from tools.approval.actions import Action, RunCommand, WritePath
from tools.approval.approvals import Approvals
from tools.approval.gate import Gate
from tools.approval.policy import Mode, Rules
from tools.approval.questions import Answer, Question
from tools.environments.containment import Containment, Grounds
from tools.environments.gated_commands import AGAIN, GatedEnvironment
from tools.environments.persistence_watch import KeptPlaces
from tools.environments.sandbox.places import WorkspaceSecrets
from tools.environments.sandbox.port import Level
from tools.errors import Denied, ToolInterrupted
from tools.ports import CommandOutcome, CommandSpec, Interrupt
from tools.shell.commands import refused_of
from tools.shell.session import ShellCommand, ShellOutcome, ShellState, with_path_of

_FREE = CommandOutcome("free", 0)
_REFUSED = CommandOutcome("confined", 1, refused="writing /etc/x")


class NoSandbox:
    """What makes a containment active; the environment of these tests starts nothing."""

    name = "none"
    hides_beside_changes = True

    def any_left(self) -> bool:
        return False

    def close(self) -> None:
        return


@dataclass
class Commands:
    """Answers as a sandbox would, and remembers how each command was to run."""

    confined: CommandOutcome = _REFUSED
    during: Callable[[], object] = lambda: None
    specs: list[CommandSpec] = field(default_factory=list)

    def run(self, spec: CommandSpec, on_output: Callable[[str], None], interrupt: Interrupt) -> CommandOutcome:
        self.specs.append(spec)
        self.during()
        return _FREE if spec.confinement is None else self.confined

    def levels(self) -> list[str]:
        return [spec.confinement.level if spec.confinement else "free" for spec in self.specs]

    def is_busy(self) -> bool:
        return False

    def close(self) -> None:
        return


@dataclass
class Bench:
    root: Path
    mode: Mode = "default"
    approver: ScriptedApprover = field(default_factory=ScriptedApprover)
    commands: Commands = field(default_factory=Commands)
    live: list[str] = field(default_factory=list)
    elsewhere: str = ""
    level: Level = "workspace-write"
    approvals: Approvals | None = None
    token: CancelToken = field(default_factory=CancelToken)

    def run(self, command: str, *, outside: bool = False, env: dict[str, str] | None = None) -> CommandOutcome:
        containment = Containment(
            sandbox=NoSandbox(),  # type: ignore[arg-type]  # nothing is started
            why_not=lambda: "",
            grounds=lambda: Grounds((self.root,), (Path("/srv/secret"),)),
            places=KeptPlaces((self.root,)),
            secrets=WorkspaceSecrets((self.root,)),
            elsewhere=lambda: self.elsewhere,
            level=self.level,
        )
        rules = Rules(roots=(self.root,), confines=containment.confines)
        self.approvals = self.approvals or Approvals(rules, self.mode, self.approver)
        gate = Gate(self.approvals, "call-1", self.token, on_allowed=lambda _action: None)
        environment = GatedEnvironment(self.commands, gate, containment)
        spec = ShellCommand(command, self.root, 60, env, outside=outside)
        return environment.run(spec, self.live.append, self.token)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_an_ordinary_command_runs_confined_and_unasked(bench: Bench) -> None:
    bench.commands.confined = CommandOutcome("done", 0)
    assert bench.run("make").output == "done"
    assert bench.approver.asked == []
    [spec] = bench.commands.specs
    assert spec.confinement is not None
    assert (spec.confinement.writable, spec.confinement.hidden) == ((bench.root,), (Path("/srv/secret"),))


def test_what_only_looks_changes_nothing_and_does_not_see_the_workspaces_secrets(bench: Bench) -> None:
    (bench.root / ".env").write_text("TOKEN=x")
    assert bench.run("grep -rn TOKEN .").refused
    [spec] = bench.commands.specs
    assert spec.confinement is not None
    assert (spec.confinement.level, spec.confinement.network) == ("read-only", "off")
    assert bench.root / ".env" in spec.confinement.hidden
    assert bench.approver.asked == []


def test_what_the_sandbox_refuses_runs_again_without_it_after_a_yes(bench: Bench) -> None:
    assert bench.run("make").output == "free"
    assert bench.commands.levels() == ["workspace-write", "free"]
    [asked] = bench.approver.asked
    assert isinstance(asked, RunCommand)
    assert (asked.outside, asked.refused) == (True, "writing /etc/x")
    assert bench.live == [AGAIN]


def test_after_a_no_it_does_not_run_again_and_the_refusal_is_told(bench: Bench) -> None:
    bench.approver.choice = "reject_once"
    outcome = bench.run("make")
    assert replace(outcome, kept_in="") == _REFUSED
    assert "the user said no" in outcome.kept_in
    assert "Do not call it again with unsandboxed=true" in refused_of(outcome)
    assert "then the user is asked" not in refused_of(outcome)
    assert bench.commands.levels() == ["workspace-write"]


@pytest.mark.parametrize(
    ("mode", "command", "level"), [("plan", "ls", "read-only"), ("dont_ask", "make", "workspace-write")]
)
def test_where_nobody_is_asked_it_does_not_run_again(bench: Bench, mode: Mode, command: str, level: str) -> None:
    bench.mode = mode
    assert bench.run(command).refused
    assert bench.commands.levels() == [level]
    assert bench.approver.asked == []


def test_a_command_that_needs_more_runs_without_the_sandbox_at_once_after_a_yes(bench: Bench) -> None:
    assert bench.run("sudo systemctl restart nginx").output == "free"
    assert bench.commands.levels() == ["free"]
    assert len(bench.approver.asked) == 1


def test_the_model_may_ask_for_no_sandbox_and_the_person_decides(bench: Bench) -> None:
    assert bench.run("make", outside=True).output == "free"
    bench.approver.choice = "reject_once"
    with pytest.raises(Denied):
        bench.run("make", outside=True)
    assert bench.commands.levels() == ["free"]


def test_where_the_editor_runs_it_an_ordinary_command_is_asked_about(bench: Bench) -> None:
    bench.elsewhere = "it would run in the editor's own terminal"
    assert bench.run("make").output == "free"
    assert len(bench.approver.asked) == 1


@dataclass
class Decider:
    """Says yes to commands and no to writes, as one who reads what is asked."""

    asked: list[Action] = field(default_factory=list)
    then: Callable[[], None] = lambda: None

    def ask(self, question: Question, interrupt: Interrupt) -> Answer:
        self.asked.append(question.action)
        self.then()
        return Answer(allowed=not isinstance(question.action, WritePath))


def test_a_change_of_what_others_run_later_is_asked_about_and_put_back_after_a_no(bench: Bench) -> None:
    settings = bench.root / ".mcp.json"
    settings.write_text("mine")
    bench.commands = Commands(CommandOutcome("done", 0), lambda: settings.write_text("evil"))
    bench.approver = Decider()  # type: ignore[assignment]  # an approver all the same
    outcome = bench.run("make")
    [asked] = bench.approver.asked
    assert isinstance(asked, WritePath)
    assert (asked.before, asked.after) == (b"mine", b"evil")
    assert (outcome.put_back, settings.read_text()) == ((settings,), "mine")


def test_after_a_yes_the_change_stays(bench: Bench) -> None:
    settings = bench.root / ".envrc"
    bench.commands = Commands(CommandOutcome("done", 0), lambda: settings.write_text("new"))
    assert bench.run("make").put_back == ()
    assert settings.read_text() == "new"


def test_a_cancel_while_it_is_asked_about_puts_it_back(bench: Bench) -> None:
    settings = bench.root / ".envrc"
    bench.commands = Commands(CommandOutcome("done", 0), lambda: settings.write_text("evil"))
    bench.approver.before_answer = bench.token.cancel
    with pytest.raises(ToolInterrupted):
        bench.run("make")
    assert not settings.exists()


def test_what_the_person_has_allowed_to_run_free_is_not_looked_after(bench: Bench) -> None:
    settings = bench.root / ".envrc"
    bench.commands = Commands(_FREE, lambda: settings.write_text("new"))
    assert replace(bench.run("make", outside=True), duration=0.0) == _FREE
    assert settings.read_text() == "new"


@pytest.mark.parametrize(
    ("command", "outside"), [("git push origin main", False), ("git push", True), ("make", True)]
)
def test_a_question_about_running_free_tells_what_confined_commands_have_set(
    bench: Bench, command: str, outside: bool
) -> None:
    bench.run(command, outside=outside, env={"A": "b", "PATH": "/srv/evil:/bin"})
    [question] = bench.approver.questions
    assert "earlier commands have set: PATH=/srv/evil:/bin, A=b" in question.reason
    assert question.keeps == ()


def test_a_yes_to_running_free_is_none_with_other_variables(bench: Bench) -> None:
    bench.approver.choice = "allow_session"
    for _ in range(2):
        bench.run("git push origin main")
    assert len(bench.approver.asked) == 1
    bench.run("git push origin main", env={"PATH": "/srv/evil:/bin"})
    assert len(bench.approver.asked) == 2


def test_a_no_for_the_session_holds_with_other_variables(bench: Bench) -> None:
    bench.approver.choice = "reject_always"
    for env in (None, {"A": "b"}):
        with pytest.raises(Denied):
            bench.run("git push", env=env)
    assert len(bench.approver.asked) == 1


def test_what_settings_name_again_that_were_put_back_is_looked_at_too(bench: Bench) -> None:
    config, hook = bench.root / ".git/config", bench.root / ".hooks/pre-commit"
    config.parent.mkdir()
    hook.parent.mkdir()
    config.write_text("[core]hooksPath = .hooks\n")

    def change() -> None:
        config.write_text("[core]pager = evil\n")
        hook.write_text("evil")

    bench.commands.during = change
    bench.commands.confined = CommandOutcome("done", 0)
    bench.approver.choice = "reject_once"
    assert bench.run("make").put_back == (config, hook)
    assert config.read_text() == "[core]hooksPath = .hooks\n"
    assert not hook.exists()


def test_a_search_that_would_print_a_secret_asks_where_no_sandbox_hides_it(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("KEY=1")
    bench = Bench(tmp_path, elsewhere="the editor runs it", approver=ScriptedApprover(choice="reject_once"))
    with pytest.raises(Denied):
        bench.run("grep -r '' .")
    assert bench.commands.specs == []
    bench.run("grep x main.py")
    (tmp_path / ".env").unlink()
    bench.run("grep -r '' .")
    bench.elsewhere = ""
    (tmp_path / ".env").write_text("KEY=1")
    bench.run("grep -r '' .")
    assert bench.commands.levels() == ["free", "free", "read-only"]


@pytest.mark.parametrize(("mode", "is_cut"), [("dont_ask", True), ("default", False)])
def test_where_nobody_is_asked_a_command_outside_runs_no_programs_that_a_confined_one_may_have_made(
    tmp_path: Path, mode: Mode, *, is_cut: bool
) -> None:
    path = f"{tmp_path}/bin:/usr/bin"
    bench = Bench(tmp_path.resolve(), mode)
    bench.run("git push", env={"PATH": path, "A": "1"})
    bench.run("git push", env={"PATH": "/usr/sbin:/usr/bin", "A": "1"})
    bench.run("git push", env={"PATH": "bin:/usr/bin", "A": "1"})
    assert bench.commands.levels() == ["free"] * 3
    found = [spec.env for spec in bench.commands.specs]
    cut = {"A": "1"}
    assert found[0] == (cut if is_cut else {"PATH": path, "A": "1"})
    assert found[1] == {"PATH": "/usr/sbin:/usr/bin", "A": "1"}
    assert found[2] == (cut if is_cut else {"PATH": "bin:/usr/bin", "A": "1"})


def test_the_sessions_shell_keeps_its_path_all_the_same() -> None:
    spec = ShellCommand("git push", Path("/srv"), 60, {"PATH": "/srv/bin"})
    ended = ShellOutcome("", 0, left=ShellState(Path("/srv"), {"A": "1"}))
    kept = with_path_of(spec, ended)
    assert isinstance(kept, ShellOutcome)
    assert kept.left == ShellState(Path("/srv"), {"A": "1", "PATH": "/srv/bin"})
    changed = replace(ended, left=ShellState(Path("/srv"), {"PATH": "/opt/bin"}))
    assert with_path_of(spec, changed) == changed


@pytest.mark.parametrize(
    ("command", "level", "elsewhere", "brings"),
    [
        ("make", "workspace-write", "", False),
        ("ls -la", "workspace-write", "", False),
        ("ls -la", "full", "", False),
        ("make", "full", "", True),
        ("make", "workspace-write", "it runs in the editor's terminal", True),
        ("git log", "workspace-write", "it runs in the editor's terminal", False),
        ("sudo make", "workspace-write", "", True),
    ],
)
def test_what_nothing_keeps_from_the_network_may_bring_others_words_before_memory_is_written(
    bench: Bench, command: str, level: Level, elsewhere: str, brings: bool
) -> None:
    bench.commands.confined = CommandOutcome("done", 0)
    bench.level, bench.elsewhere = level, elsewhere
    bench.run(command)
    assert bench.approvals is not None
    assert bench.approvals.has_read_others is brings
