"""Git commands and the places that others run later: what they would change is asked about before they run."""

from __future__ import annotations

import itertools
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from agent_core.cancel import CancelToken
from tests.support.shells import shells
from tests.support.waiting import wait_until
from tests.tools.environments.test_gated_commands import NoSandbox
from tools.approval.actions import Action, RunCommand, WritePath
from tools.approval.approvals import Approvals
from tools.approval.gate import Gate
from tools.approval.policy import Mode, Rules
from tools.approval.questions import Answer, Question
from tools.approval.rules import parse_rule
from tools.environments import git_effects as subject
from tools.environments.containment import Containment, Grounds
from tools.environments.gated_commands import GatedEnvironment, GatedProcesses
from tools.environments.git_effects import git_effects
from tools.environments.persistence_watch import KeptPlaces
from tools.errors import Denied
from tools.ports import CommandOutcome, CommandSpec, FileHistory, Interrupt, NoHistory
from tools.result import ChangedFile
from tools.shell.session import Processes, ProcessInfo, ProcessSpec, ShellCommand

_AS_SOMEBODY = ("git", "-c", "user.name=a", "-c", "user.email=a@example.com")


@dataclass
class RealCommands:
    """Runs what is let through, as the user would."""

    ran: list[str] = field(default_factory=list)

    def run(self, spec: CommandSpec, on_output: Callable[[str], None], interrupt: Interrupt) -> CommandOutcome:
        self.ran.append(spec.command)
        done = subprocess.run(["bash", "-c", spec.command], cwd=spec.cwd, capture_output=True, check=False)
        return CommandOutcome(done.stdout.decode() + done.stderr.decode(), done.returncode)

    def is_busy(self) -> bool:
        return False

    def close(self) -> None:
        return


@dataclass
class Person:
    """Answers each question the same, and remembers it."""

    says_yes: bool = True
    answers: list[bool] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)

    def ask(self, question: Question, interrupt: Interrupt) -> Answer:
        self.questions.append(question)
        return Answer(allowed=self.answers.pop(0) if self.answers else self.says_yes)

    @property
    def asked(self) -> list[Action]:
        return [question.action for question in self.questions]


class Session:
    """A session in a repository with the branches `main` and `other`, which has another `.envrc`, settings of VS Code
    and a hook that git runs.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.person = Person()
        self.commands = RealCommands()
        self.allow: tuple[str, ...] = ()
        self.deny: tuple[str, ...] = ()
        self.mode: Mode = "default"
        self.history: FileHistory = NoHistory()
        self.containment = Containment(
            sandbox=NoSandbox(),  # type: ignore[arg-type]  # nothing is confined
            why_not=lambda: "",
            grounds=lambda: Grounds((self.root,)),
            places=KeptPlaces((self.root,)),
        )
        root.mkdir()
        self.git("init", "-q", "-b", "main")
        self.write("a.txt", "a\n")
        self.write(".envrc", "one\ntwo\nthree\n")
        self.commit("first")
        self.git("checkout", "-q", "-b", "other")
        self.write(".envrc", "one\ntwo\nTHREE\n")
        self.write(".vscode/settings.json", "{}\n")
        self.write(".husky/pre-commit", "#!/bin/sh\n").chmod(0o755)
        self.write("a.txt", "b\n")
        self.commit("second")
        self.git("checkout", "-q", "main")

    def git(self, *arguments: str) -> str:
        done = subprocess.run([*_AS_SOMEBODY, *arguments], cwd=self.root, check=True, capture_output=True)
        return done.stdout.decode()

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def commit(self, message: str) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)

    def gate(self) -> Gate:
        rules = Rules(
            roots=(self.root,),
            confines=self.containment.confines,
            runs_later=self.containment.places.runs,
            allow=tuple(map(parse_rule, self.allow)),
            deny=tuple(map(parse_rule, self.deny)),
        )
        approvals = Approvals(rules, self.mode, self.person)
        return Gate(approvals, "call-1", CancelToken(), lambda _action: None, history=lambda: self.history)

    def run(self, command: str) -> CommandOutcome:
        environment = GatedEnvironment(self.commands, self.gate(), self.containment)
        return environment.run(ShellCommand(command, self.root, 60), lambda _text: None, CancelToken())

    def shown(self) -> list[str]:
        """The places on the cards of commands."""
        actions = [action for action in self.person.asked if isinstance(action, RunCommand)]
        return sorted(str(each.path.relative_to(self.root)) for action in actions for each in action.changes)

    def state(self) -> tuple[str, dict[str, str]]:
        files = {
            str(path.relative_to(self.root)): path.read_text()
            for path in sorted(self.root.rglob("*"))
            if path.is_file() and ".git" not in path.parts
        }
        return self.git("status", "--porcelain=v2", "--branch"), files


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    made = Session(tmp_path.resolve() / "project")
    monkeypatch.setenv("GIT_EDITOR", "true")
    return made


BROUGHT = [".envrc", ".husky/pre-commit", ".vscode/settings.json"]
_NAMED = "git -c user.name=a -c user.email=a@b.c"
BRINGING = [
    "git checkout other",
    "git checkout -q --detach other",
    "git checkout -",
    "git checkout -b mine other",
    "git checkout other -- .",
    "git checkout other .envrc .husky .vscode",
    "git switch other",
    "git switch -c mine other",
    "git -C .. -C project switch -f other",
    "cd .. && cd project; git merge -q other",
    f"{_NAMED} merge --no-ff -m x other",
    f"{_NAMED} cherry-pick other",
    f"{_NAMED} rebase other",
    "git reset -q --hard other",
    "git reset --keep other",
    "git restore --source=other .",
    "git restore -s other -SW -- .envrc .husky .vscode",
    "git read-tree -u -m other",
    "git read-tree --reset -u other",
]


@pytest.mark.parametrize("command", BRINGING)
def test_what_a_command_of_git_brings_is_on_its_own_card_before_it_runs(session: Session, command: str) -> None:
    before = session.state()
    session.person.says_yes = False
    with pytest.raises(Denied):
        session.run(command)
    assert (session.state(), session.commands.ran) == (before, [])
    assert session.shown() == BROUGHT
    [question] = session.person.questions
    assert question.is_risky
    assert "changes .envrc, which is run by direnv and its kind" in question.reason
    assert {change.after for change in question.also} == {b"one\ntwo\nTHREE\n", b"{}\n", b"#!/bin/sh\n"}
    assert (question.reaches, question.keeps) == ((), ())


@pytest.mark.parametrize("command", BRINGING)
def test_after_a_yes_nothing_is_asked_again_and_the_files_are_as_git_made_them(
    session: Session, command: str
) -> None:
    assert session.run(command).exit_code == 0
    assert len(session.person.questions) == 1
    assert (session.root / ".envrc").read_text() == "one\ntwo\nTHREE\n"
    assert (session.root / ".husky/pre-commit").stat().st_mode & 0o100


def test_a_command_that_brings_no_such_place_is_not_asked_about(session: Session) -> None:
    session.git("checkout", "-q", "-b", "plain", "main")
    session.write("b.txt", "b\n")
    session.commit("plain")
    session.git("checkout", "-q", "main")
    for command in ("git checkout plain", "git merge main", "git checkout -q main", "git merge -q plain"):
        assert session.run(command).exit_code == 0
    assert session.person.questions == []


def test_what_goes_runs_nothing(session: Session) -> None:
    session.git("checkout", "-q", "-b", "less", "main")
    session.git("rm", "-q", ".envrc")
    session.commit("less")
    session.git("checkout", "-q", "main")
    assert session.run("git checkout less").exit_code == 0
    assert session.person.questions == []


def test_a_merge_of_two_changes_shows_what_comes_of_both(session: Session) -> None:
    session.write(".envrc", "ONE\ntwo\nthree\n")
    session.commit("mine")
    assert session.run(f"{_NAMED} merge -m x other").exit_code == 0
    [question] = session.person.questions
    [envrc] = [change for change in question.also if change.path.name == ".envrc"]
    assert (envrc.before, envrc.after) == (b"ONE\ntwo\nthree\n", b"ONE\ntwo\nTHREE\n")
    assert (session.root / ".envrc").read_bytes() == envrc.after


def test_what_a_stash_would_put_back_is_shown_before(session: Session) -> None:
    session.write(".envrc", "stashed\n")
    session.write(".mcp.json", "{}\n")
    session.git("stash", "-u")
    session.write(".envrc", "one\ntwo\nthree\n")
    for command in ("git stash apply", "git checkout -q -f main; git clean -qfd; git stash pop", "git stash pop 0"):
        session.person = Person(says_yes=False)
        with pytest.raises(Denied):
            session.run(command)
        assert session.shown() == [".envrc", ".mcp.json"], command
    session.person = Person()
    assert session.run("git stash pop").exit_code == 0
    assert (session.root / ".envrc").read_text() == "stashed\n"
    assert len(session.person.questions) == 1


@pytest.mark.parametrize(
    "command", ["git stash", "git checkout -- .", "git restore .envrc", "git checkout-index -fa"]
)
def test_a_change_of_ones_own_that_goes_back_is_shown_too(session: Session, command: str) -> None:
    session.write(".envrc", "mine\n")
    assert session.run(command).exit_code == 0
    [question] = session.person.questions
    [change] = question.also
    assert (change.before, change.after) == (b"mine\n", b"one\ntwo\nthree\n")
    assert (session.root / ".envrc").read_text() == "one\ntwo\nthree\n"


@pytest.mark.parametrize(
    "command",
    ["git apply ../x.patch", "git apply < ../x.patch", f"{_NAMED} am -q ../x.mbox", "git apply -3 ../x.patch"],
)
def test_what_a_patch_makes_of_a_place_is_shown_before(session: Session, command: str) -> None:
    (session.root.parent / "x.patch").write_text(session.git("diff", "--binary", "main", "other"))
    (session.root.parent / "x.mbox").write_text(session.git("format-patch", "--stdout", "main..other"))
    session.person.says_yes = False
    with pytest.raises(Denied):
        session.run(command)
    assert session.shown() == BROUGHT
    session.person = Person()
    assert session.run(command).exit_code == 0
    assert (session.root / ".envrc").read_text() == "one\ntwo\nTHREE\n"
    assert len(session.person.questions) == 1
    assert (session.root / ".husky/pre-commit").stat().st_mode & 0o100


def test_a_revert_and_a_cherry_pick_of_several_are_foreseen_in_order(session: Session) -> None:
    session.git("checkout", "-q", "other")
    session.write(".envrc", "one\ntwo\nFOUR\n")
    session.commit("third")
    session.git("checkout", "-q", "main")
    assert session.run(f"{_NAMED} cherry-pick main..other").exit_code == 0
    [question] = session.person.questions
    assert [change.after for change in question.also if change.path.name == ".envrc"] == [b"one\ntwo\nFOUR\n"]
    session.person = Person()
    assert session.run(f"{_NAMED} revert --no-edit HEAD").exit_code == 0
    [question] = session.person.questions
    assert [change.after for change in question.also] == [b"one\ntwo\nTHREE\n"]


def test_a_file_that_git_runs_because_its_settings_say_so_is_such_a_place(session: Session) -> None:
    session.git("checkout", "-q", "other")
    session.write("tools/hooks/pre-commit", "#!/bin/sh\nevil\n").chmod(0o755)
    session.commit("hooks")
    session.git("checkout", "-q", "main")
    session.git("config", "core.hooksPath", "tools/hooks")
    assert session.run("git checkout -q other").exit_code == 0
    assert "tools/hooks/pre-commit" in session.shown()
    assert len(session.person.questions) == 1


def test_what_cannot_be_foreseen_is_looked_at_afterwards(session: Session) -> None:
    session.git("config", "alias.go", "checkout")
    session.write("../go.sh", "git checkout -q other\n")
    session.write("../name", "other\n")
    for command in ("git go other", "sh ../go.sh", "git checkout -q $(cat ../name)"):
        session.person = Person()
        session.run(command)
        asked = [action for action in session.person.asked if isinstance(action, WritePath)]
        assert len(asked) == 1, command
        session.git("checkout", "-q", "-f", "main")
        session.containment.places.before()


def test_another_content_than_was_shown_is_asked_about(session: Session) -> None:
    command = "git checkout -q other && echo evil >> .vscode/tasks.json"
    session.run(command)
    assert [action for action in session.person.asked if isinstance(action, WritePath)] == []  # it is named
    session.git("checkout", "-q", "-f", "main")
    session.containment.places.before()
    session.person = Person()
    session.write("../more.sh", "echo evil >> .envrc\n")
    session.run("git checkout -q other && sh ../more.sh")
    [_, after] = session.person.asked
    assert isinstance(after, WritePath)
    assert (after.path.name, after.after) == (".envrc", b"one\ntwo\nTHREE\nevil\n")


def test_a_rule_for_commands_is_no_yes_to_a_place_but_one_for_the_place_is(session: Session) -> None:
    session.allow = ("run: git checkout *",)
    session.person.says_yes = False
    with pytest.raises(Denied):
        session.run("git checkout other")
    assert session.shown() == BROUGHT
    session.allow = tuple(f"write: {name}" for name in BROUGHT)
    session.person = Person()
    assert session.run("git checkout -q other").exit_code == 0
    assert session.person.questions == []


def test_a_place_that_a_rule_denies_keeps_the_command_from_running(session: Session) -> None:
    session.deny = ("write: .vscode/**",)
    with pytest.raises(Denied, match="denied by the user's rule"):
        session.run("git checkout other")
    assert (session.commands.ran, session.person.questions) == ([], [])


def test_where_nobody_is_asked_it_runs(session: Session) -> None:
    session.mode = "dont_ask"
    assert session.run("git checkout -q other").exit_code == 0
    assert session.person.questions == []


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("echo 'export A=1' > .envrc", ".envrc"),
        ("mkdir -p .vscode && cp a.txt .vscode/tasks.json", ".vscode/tasks.json"),
        ("printf x | tee .mcp.json", ".mcp.json"),
        ("git mv a.txt AGENTS.md", "AGENTS.md"),
    ],
)
def test_a_yes_to_a_command_that_names_a_place_is_one_to_the_place(session: Session, command: str, name: str) -> None:
    assert session.run(command).exit_code == 0
    assert (session.root / name).is_file()
    assert [type(action) for action in session.person.asked] == [RunCommand]


def test_a_yes_to_a_command_that_sets_what_git_runs_is_one_to_the_settings(session: Session) -> None:
    assert session.run("git config core.pager ./evil").exit_code == 0
    assert [type(action) for action in session.person.asked] == [RunCommand]
    session.person = Person()
    session.run("rm -rf src; git remote add x git@example.com:x")  # asked about for something else
    assert [type(action) for action in session.person.asked] == [RunCommand, WritePath]


def test_a_place_beside_the_one_that_was_named_is_asked_about(session: Session) -> None:
    session.write("../more.sh", "echo evil > .mcp.json\n")
    session.run("echo x > .envrc; sh ../more.sh")
    [_, after] = session.person.asked
    assert isinstance(after, WritePath)
    assert after.path.name == ".mcp.json"


def test_a_rule_is_no_yes_to_the_place_that_a_command_names(session: Session) -> None:
    session.allow = ("run: cp *",)
    session.run("cp a.txt AGENTS.md")
    assert [type(action) for action in session.person.asked] == [WritePath]


def test_without_git_or_in_time_nothing_is_foreseen_and_nothing_breaks(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setenv("PATH", "")
        assert git_effects("git checkout other", session.root, (session.root,)) == subject.NO_EFFECTS
    monkeypatch.setattr(subject, "SECONDS", 0.0)
    late = git_effects("git checkout other", session.root, (session.root,), _none_further)
    assert (late.places, late.unkept) == ((), "what git was too slow to name")
    session.run("git checkout -q other")
    assert any(isinstance(action, WritePath) for action in session.person.asked)


def _none_further() -> Callable[[Path], bool]:
    return lambda _: False


def test_what_leaves_the_files_alone_or_is_not_known_has_no_effect(session: Session) -> None:
    for command in (
        "git status",
        "git log --oneline",
        "git branch x",
        "git checkout -q nothing-of-that-name",
        "git --git-dir=/x checkout other",
        "GIT_DIR=/x git checkout other",
        "ssh host git checkout other",
        "git restore --staged .envrc",
        "git reset -q other",
        "git apply --check ../x.patch",
        "git checkout $X",
        "git checkout --orphan x",
        "cd /nowhere && git checkout other",
    ):
        assert git_effects(command, session.root, (session.root,), _none_further).places == (), command


@pytest.mark.parametrize("command", ["git clean -fdx", "git stash -a", "git clean -fX"])
def test_the_card_says_what_an_undo_could_not_bring_back(session: Session, command: str) -> None:
    session.write(".git/info/exclude", "node_modules/\n*.iso\n")
    session.write("node_modules/a/index.js", "x")
    with session.write("huge.iso", "").open("wb") as stream:
        stream.truncate(70_000_000)
    session.person.says_yes = False
    with pytest.raises(Denied):
        session.run(command)
    [question] = session.person.questions
    assert "takes what /undo cannot bring back: huge.iso (70 MB), node_modules/" in question.reason
    assert any("huge.iso" in risk for risk in question.risks)


def test_a_command_that_takes_what_can_come_back_says_nothing_of_it(session: Session) -> None:
    session.write("a.txt", "mine\n")
    session.run("git checkout -- .; git stash; git clean -fd")
    [question] = session.person.questions
    assert "/undo" not in question.reason


class SlowHistory(NoHistory):
    """There was no time to keep everything."""

    @contextmanager
    def command(
        self, spec: CommandSpec, unkept: Callable[[str], object] = lambda _: None
    ) -> Iterator[Sequence[ChangedFile]]:
        unkept("a.txt and 7 more files, as copying them takes too long")
        yield ()


def test_what_there_was_no_time_to_keep_is_asked_about_before_the_command_runs(session: Session) -> None:
    session.history = SlowHistory()
    session.person.answers = [True, False]
    with pytest.raises(Denied):
        session.run("git checkout -- .")
    first, second = session.person.questions
    assert "/undo" not in first.reason
    assert (
        "takes what /undo cannot bring back: a.txt and 7 more files, as copying them takes too long" in second.reason
    )
    assert session.commands.ran == []
    session.person = Person()
    session.run("git checkout -- .")
    assert (len(session.person.questions), len(session.commands.ran)) == (2, 1)
    session.person = Person()
    session.run("sed -i s/a/b/ a.txt")  # nobody has to be asked about it
    assert session.person.questions == []


class FreeProcesses:
    """Processes that nothing confines."""

    def __init__(self, inner: Processes) -> None:
        self._inner = inner

    def start(self, spec: ProcessSpec) -> ProcessInfo:
        return self._inner.start(replace(spec, confinement=None))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


@pytest.mark.parametrize("command", ["git checkout -q other", "git merge -q other", "git reset -q --hard other"])
def test_what_was_agreed_to_is_not_asked_about_after_a_background_command(session: Session, command: str) -> None:
    with shells(session.root) as shell:
        processes = GatedProcesses(FreeProcesses(shell.processes), session.gate(), session.containment)
        started = processes.start(ProcessSpec(command, session.root)).id
        wait_until(lambda: not shell.processes.log(started).info.running)
        processes.poll(started)
    [question] = session.person.questions
    assert isinstance(question.action, RunCommand)
    assert len(question.also) == len(BROUGHT)
    assert (session.root / ".envrc").read_text() == "one\ntwo\nTHREE\n"


_HOSTILE = {
    "a filter": ("filter.x.clean", "filter=x"),
    "a watcher": ("core.fsmonitor", "text"),
    "a smudger": ("filter.x.process", "filter=x"),
}


@pytest.mark.parametrize("kind", _HOSTILE)
def test_nothing_that_a_repository_names_runs_to_find_out(session: Session, kind: str) -> None:
    setting, attribute = _HOSTILE[kind]
    marker = session.root.parent / "ran"
    program = session.write("../program.sh", f"#!/bin/sh\ntouch {marker}\ncat\n")
    program.chmod(0o755)
    session.write(".gitattributes", f"* {attribute}\n")
    session.commit("attributes")
    session.git("config", setting, str(program))
    session.write("a.txt", "mine\n")
    for command in (
        "git checkout -- .",
        "git reset --hard other",
        "git stash -u",
        "git clean -fd",
        "git merge other",
    ):
        git_effects(command, session.root, (session.root,))
    assert not marker.exists()
    subprocess.run(["git", "diff", "HEAD"], cwd=session.root, capture_output=True, check=False)
    assert marker.exists()  # as plain git does


def _taken(session: Session, command: str) -> list[str]:
    effects = git_effects(command, session.root, (session.root,))
    return sorted(str(path.relative_to(session.root)) for path in (*effects.taken, *effects.folders))


@pytest.mark.parametrize(
    "command",
    ["git checkout other", "git switch other", "git merge other", "git reset --keep other", "git cherry-pick other"],
)
def test_an_ignored_file_that_git_would_replace_is_taken(session: Session, command: str) -> None:
    session.git("checkout", "-q", "other")
    session.write("made/x.iso", "tracked\n")
    session.commit("tracked")
    session.git("checkout", "-q", "main")
    session.write(".git/info/exclude", "*.iso\n")
    session.write("made/x.iso", "mine\n")
    assert _taken(session, command) == ["made/x.iso"]
    assert session.run(f"{_NAMED} {command.removeprefix('git ')}").exit_code == 0
    assert (session.root / "made/x.iso").read_text() == "tracked\n"


def test_what_is_in_the_way_of_files_that_are_to_come_is_taken(session: Session) -> None:
    session.write(".husky", "a file where a directory is to be\n")
    session.write(".vscode/settings.json/x", "a directory where a file is to be\n")
    for command in ("git checkout -f other", "git reset --hard other"):
        assert _taken(session, command) == [".envrc", ".husky", ".vscode/settings.json", "a.txt"]
    session.person.says_yes = False
    with pytest.raises(Denied):
        session.run("git checkout -f other")
    assert "takes what /undo cannot bring back: settings.json/" in session.person.questions[0].reason


def test_what_is_staged_before_the_first_commit_is_taken_by_a_reset(session: Session) -> None:
    session.git("checkout", "-q", "--orphan", "new")
    assert _taken(session, "git reset --hard") == [".envrc", "a.txt"]
    assert session.run("git reset -q --hard").exit_code == 0
    assert not (session.root / "a.txt").exists()
    assert session.run("git checkout -q other").exit_code == 0
    assert session.shown() == BROUGHT
    assert len(session.person.questions) == 2


@pytest.mark.parametrize("verb", ["merge", "rebase", "cherry-pick"])
def test_a_conflict_that_was_resolved_by_hand_is_taken_where_it_is_given_up(session: Session, verb: str) -> None:
    session.write("a.txt", "c\n")
    session.commit("mine")
    with pytest.raises(subprocess.CalledProcessError):
        session.git(verb, "other")
    session.write("a.txt", "by hand\n")
    assert "a.txt" in _taken(session, f"git {verb} --abort")
    session.run(f"git {verb} --abort")
    assert (session.root / "a.txt").read_text() == "c\n"


def test_paths_that_look_like_options_are_taken(session: Session) -> None:
    session.write("-dash", "x\n")
    session.commit("dash")
    assert _taken(session, "git mv -- -dash a.txt") == ["-dash", "a.txt"]
    assert _taken(session, "git rm -- -dash") == ["-dash"]


def test_a_link_in_the_place_of_a_directory_is_taken_and_not_what_is_behind_it(session: Session) -> None:
    session.write("../elsewhere/pre-commit", "not git's\n")
    (session.root / ".husky").symlink_to("../elsewhere")
    assert ".husky" in _taken(session, "git checkout -f other")
    assert not any("pre-commit" in name for name in _taken(session, "git checkout -f other"))


def test_a_checkout_of_new_files_takes_nothing(session: Session) -> None:
    assert _taken(session, "git checkout other") == []


def test_looking_for_places_among_very_many_files_ends_in_time(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.git("checkout", "-q", "other")
    for name in (*map(str, range(1500)), "z/AGENTS.md"):
        session.write(name, "x")
    session.commit("many")
    session.git("checkout", "-q", "main")

    def places() -> list[str]:
        found = git_effects("git checkout -f other", session.root, (session.root,), _none_further)
        return [str(each.path.relative_to(session.root)) for each in found.places]

    assert "z/AGENTS.md" in places()
    clock = itertools.count(0, subject.SECONDS / 1000)
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    assert "z/AGENTS.md" not in places()
