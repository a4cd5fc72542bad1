"""Whether commands may read a project's secret files: asked once a project, whoever runs the command."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from agent_core.agent import AIAgent
from agent_core.loop import AgentSettings
from agent_core.model_request.caller import Patience
from agent_core.providers.offline import OfflineProvider
from agent_core.settings.project import PermissionSettings
from agent_core.settings.sections import SandboxPart
from agent_core.workspace import local_workspace
from agent_core.workspace_factory import containment_of
from tests.support.delegating import delegates
from tests.support.tool_context import unfenced
from tools.approval.actions import Action, ReadSecretFiles, RunCommand, WritePath
from tools.approval.grants import KeptGrants
from tools.approval.policy import Mode
from tools.approval.questions import Answer, Approver, NobodyToAsk, Question
from tools.approval.rules import parse_rule
from tools.environments.guardian import Guardian
from tools.environments.sandbox.bubblewrap import BubblewrapSandbox
from tools.environments.sandbox.landlock_sandbox import LandlockSandbox
from tools.environments.sandbox.port import Level, Sandbox
from tools.environments.sandbox.probe import probe
from tools.ports import Interrupt

_SECRET = "qKw7919planted"
_MAKE: dict[str, Callable[[], Sandbox]] = {"landlock": LandlockSandbox, "bubblewrap": BubblewrapSandbox}
_WORKS = {each.name for each in probe() if each.works}
_SANDBOXES = [
    pytest.param(name, marks=pytest.mark.skipif(name not in _WORKS, reason=f"no {name} on this machine"))
    for name in _MAKE
]
_LANDLOCK, _BUBBLEWRAP = _SANDBOXES

YES, YES_KEPT = Answer(allowed=True), Answer(allowed=True, scope="session", always=True)
NO, NO_KEPT = Answer(allowed=False, scope="session"), Answer(allowed=False, scope="session", always=True)
TIME_IS_UP = Answer(allowed=False, note="nobody answered in time")


@dataclass
class Person:
    """Answers each kind of question in its own way."""

    secrets: Answer = YES_KEPT
    commands: Answer = YES
    outside: Answer = NO
    questions: list[Question] = field(default_factory=list)
    meanwhile: Callable[[], object] = lambda: None

    def ask(self, question: Question, interrupt: Interrupt) -> Answer:
        self.questions.append(question)
        self.meanwhile()
        if isinstance(question.action, ReadSecretFiles):
            return self.secrets
        is_outside = isinstance(question.action, RunCommand) and question.action.outside
        return self.outside if is_outside else self.commands

    @property
    def asked(self) -> list[Action]:
        return [question.action for question in self.questions]

    @property
    def wishes(self) -> list[ReadSecretFiles]:
        return [action for action in self.asked if isinstance(action, ReadSecretFiles)]


@dataclass
class Project:
    """A project's directory, and what its user has answered for later sessions."""

    root: Path
    kept: KeptGrants
    person: Person = field(default_factory=Person)

    def write(self, name: str, text: str) -> None:
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text)

    @contextmanager
    def session(
        self,
        sandbox: str = "landlock",
        *,
        mode: Mode = "default",
        level: Level = "workspace-write",
        approver: Approver | None = None,
        permissions: PermissionSettings | None = None,
        extra: tuple[Path, ...] = (),
    ) -> Iterator[Session]:
        guardian = Guardian()
        settings = SandboxPart(caches=False, level=level, network="off")
        containment = containment_of(settings, (self.root, *extra), self.root.parent / "no-home")
        none = replace(containment, sandbox=None, why_not=lambda: "none works")
        made = none if sandbox == "none" else replace(containment, sandbox=_MAKE[sandbox]())
        workspace = local_workspace(
            self.root,
            extra,
            guardian=guardian,
            mode=mode,
            approver=approver or self.person,
            containment=made,
            kept=self.kept,
            permissions=permissions,
        )
        agent = AIAgent(
            "test-model",
            OfflineProvider(),
            workspace=workspace,
            settings=AgentSettings(patience=Patience(attempts=1)),
        )
        try:
            yield Session(agent)
        finally:
            workspace.close()
            guardian.kill_all()


@dataclass
class Session:
    agent: AIAgent

    def told(self, *lines: str) -> str:
        """What the model is told by the calls of a turn that does these lines."""
        result = self.agent.run_conversation("\n".join(lines))
        return "\n".join(unfenced(str(one["content"])) for one in result["messages"] if one["role"] == "tool")


def _run(command: str, **more: Any) -> str:
    return f"call terminal {json.dumps({'command': command, **more})}"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    root = tmp_path.resolve() / "project"
    root.mkdir()
    project = Project(root, KeptGrants(tmp_path / "home/permissions.yaml"))
    project.write(".env", f"KEY={_SECRET}\n")
    project.write(".env.example", "KEY=\n")
    project.write("show.sh", "cat .env; echo ran > made; cat made\n")
    return project


@pytest.mark.parametrize("sandbox", _SANDBOXES)
def test_commands_may_read_secret_files_after_one_question_in_the_life_of_a_project(
    project: Project, sandbox: str
) -> None:
    with project.session(sandbox) as session:
        assert _SECRET in session.told(_run("sh show.sh"))
        [question] = project.person.questions
        assert isinstance(question.action, ReadSecretFiles)
        assert question.action.paths == (project.root / ".env",)
        assert question.action.command == "sh show.sh"
        assert _SECRET in session.told(_run("sh ./show.sh"))
        assert _SECRET in session.told('call execute_code {"code": "import os\\nos.system(\'sh show.sh\')"}')
        session.told(_run("sh show.sh", background=True))
        assert session.told(_run(". ./.env && echo sourced")).count("sourced") == 1
        assert "ran" in session.told(delegates("run sh show.sh"))
    with project.session(sandbox) as later:
        assert _SECRET in later.told(_run("sh show.sh"))
    assert project.person.questions == [question]


@pytest.mark.parametrize(
    "lines",
    [
        (_run("sh show.sh"),),
        ("call execute_code {\"code\": \"import subprocess\\nprint(subprocess.run(['sh', 'show.sh']))\"}",),
        (_run("sh show.sh", background=True),),
        (delegates("run sh show.sh"),),
        ("parallel", _run("sh show.sh"), _run("sh ./show.sh"), "end"),
        (_run(". ./.env && true"),),
        (_run("cd . && . ./.env && true"),),
    ],
    ids=["a command", "a program", "in the background", "a sub-agent", "two at once", "sourced", "elsewhere"],
)
@pytest.mark.parametrize("sandbox", [_LANDLOCK])
def test_whoever_runs_a_command_is_asked_about_secret_files_once(
    project: Project, sandbox: str, lines: tuple[str, ...]
) -> None:
    with project.session(sandbox) as session:
        session.told(*lines)
        session.told(*lines)
    assert [type(action) for action in project.person.asked] == [ReadSecretFiles]


@pytest.mark.parametrize("sandbox", [_BUBBLEWRAP])
@pytest.mark.parametrize("answer", [NO, NO_KEPT], ids=["this session", "every session"])
def test_after_a_no_secret_files_are_hidden_and_commands_run(project: Project, sandbox: str, answer: Answer) -> None:
    project.person.secrets = answer
    with project.session(sandbox) as session:
        told = session.told(_run("sh show.sh"))
        assert "ran" in told
        assert _SECRET not in told
        for disguised in ("mv .env x; cat x", "ln .env y; cat y", "cp -a . ../copy; cat ../copy/.env", "tac .env"):
            project.write("try.sh", disguised)
            assert _SECRET not in session.told(_run("sh try.sh"))
        assert _SECRET not in session.told(delegates("run sh show.sh"))
        assert _SECRET not in session.told('call execute_code {"code": "import os\\nos.system(\'sh show.sh\')"}')
    assert len(project.person.questions) == 1
    assert (project.root / ".env").read_text() == f"KEY={_SECRET}\n"
    with project.session(sandbox) as later:
        assert _SECRET not in later.told(_run("sh show.sh"))
    assert len(project.person.questions) == (1 if answer.always else 2)


@pytest.mark.parametrize("sandbox", [_LANDLOCK])
@pytest.mark.parametrize("command", ["sh show.sh", "python3 show.py", "make show", "mkdir new"])
def test_where_secret_files_cannot_be_hidden_each_command_is_asked_about_after_a_no(
    project: Project, sandbox: str, command: str
) -> None:
    project.write("show.py", "print(open('.env').read())")
    project.person.secrets, project.person.commands = NO_KEPT, Answer(allowed=False)
    for number in range(2):
        with project.session(sandbox) as session:
            assert _SECRET not in session.told(_run(command), _run(command), _run("ls -a"), _run("grep -r KEY ."))
        [*wishes, first, second] = project.person.questions
        assert [type(one.action) for one in wishes] == ([] if number else [ReadSecretFiles])
        assert isinstance(first.action, RunCommand)
        assert first.action == second.action
        assert first.reason == "could read .env, which the sandbox cannot hide from it"
        project.person.questions.clear()


@pytest.mark.parametrize("sandbox", [_LANDLOCK])
def test_a_command_that_is_allowed_though_secret_files_cannot_be_hidden_runs(project: Project, sandbox: str) -> None:
    project.person.secrets, project.person.commands = NO, Answer(allowed=True, scope="session")
    with project.session(sandbox) as session:
        assert _SECRET in session.told(_run("sh show.sh"))
        assert _SECRET in session.told(_run("sh show.sh"))
        assert "deleted" in session.told(_run("rm -rf build; echo deleted"))
    assert [one.reason for one in project.person.questions] == [
        "could read files with credentials",
        "could read .env, which the sandbox cannot hide from it",
        "deletes directories with all that is in them, and could read .env, which the sandbox cannot hide from it",
    ]


@pytest.mark.parametrize("sandbox", _SANDBOXES)
def test_a_yes_to_a_card_that_names_a_secret_file_is_one_for_that_command_alone_after_a_no(
    project: Project, sandbox: str
) -> None:
    project.person.secrets = NO_KEPT
    with project.session(sandbox) as session:
        session.told(_run("true; sh -c 'echo ran'"))
    project.person.questions.clear()
    with project.session(sandbox) as session:
        assert _SECRET in session.told(_run("cat .env"))
        assert _SECRET in session.told(_run("python3 -c 'print(open(\".env\").read())'"))
        assert _SECRET in session.told(_run("cat .env && sh show.sh"))
    project.person.commands = Answer(allowed=False)
    with project.session(sandbox) as session:
        assert _SECRET not in session.told(_run("sh show.sh"), _run("cat .env"), _run("ls -a"))
    assert project.person.wishes == []
    *_, told = reasons = [one.reason for one in project.person.questions]
    assert told.endswith("/.env, which may hold credentials")
    # Where the sandbox cannot hide it, the command that does not name it is asked about too.
    assert reasons[2:] == [
        told,
        *(["could read .env, which the sandbox cannot hide from it"] * (sandbox == "landlock")),
        told,
    ]


@pytest.mark.parametrize("sandbox", [_BUBBLEWRAP])
def test_after_a_no_what_a_person_lets_a_command_do_with_a_secret_file_is_done(
    project: Project, sandbox: str
) -> None:
    project.person.secrets = NO_KEPT
    with project.session(sandbox) as session:
        session.told(_run("sh show.sh"), _run("cat .env"))
        assert [type(action) for action in project.person.asked] == [ReadSecretFiles, RunCommand]
        session.told(_run("cp .env copy"), _run("echo KEY=2 > .env"))
        assert (project.root / "copy").read_text() == f"KEY={_SECRET}\n"
        assert (project.root / ".env").read_text() == "KEY=2\n"
        session.told(_run("mv .env moved.env"))
        assert (project.root / "moved.env").read_text() == "KEY=2\n"
        session.told(_run("rm moved.env"))
    assert not (project.root / "moved.env").exists()
    assert len(project.person.wishes) == 1


@pytest.mark.parametrize("sandbox", [_BUBBLEWRAP])
@pytest.mark.parametrize(
    "command",
    [
        "cat .env*",
        "rm -rf build; . ./.env; echo $KEY",
        "cat server.key; sh show.sh",
        "cat link",
        "cat .envrc; cat < other.env",
    ],
)
def test_after_a_no_a_secret_file_that_no_card_names_stays_hidden(
    project: Project, sandbox: str, command: str
) -> None:
    for name in ("server.key", ".envrc"):
        project.write(name, "x")
    (project.root / "link").symlink_to(".env")
    (project.root / "other.env").symlink_to("server.key")
    project.person.secrets = NO_KEPT
    with project.session(sandbox) as session:
        session.told(_run("sh show.sh"))
        assert _SECRET not in session.told(_run(command))


@pytest.mark.parametrize("sandbox", [_BUBBLEWRAP])
def test_a_directory_with_a_hidden_secret_file_is_not_deleted_half(project: Project, sandbox: str) -> None:
    for name in ("config/a", "config/secrets.yml", "config/z"):
        project.write(name, "1")
    project.person.secrets = NO_KEPT
    with project.session(sandbox) as session:
        session.told(_run("sh show.sh"), _run("rm -rf ./config"))
    assert not (project.root / "config").exists()
    [_, card] = project.person.questions
    assert card.risks[0] == "deletes directories with all that is in them"
    assert card.risks[1].startswith("could read .env, secrets.yml")


@pytest.mark.parametrize("sandbox", _SANDBOXES)
def test_every_secret_file_that_a_command_names_is_on_its_one_card(project: Project, sandbox: str) -> None:
    project.write("server.key", "kEy2\n")
    project.person.secrets = NO_KEPT
    with project.session(sandbox) as session:
        told = session.told(_run("cat .env server.key; rm -rf build"))
    assert _SECRET in told
    assert "kEy2" in told
    [card] = project.person.questions
    assert [reason.rpartition("/")[2] for reason in card.risks] == [
        ".env, which may hold credentials",
        "server.key, which may hold credentials",
        "deletes directories with all that is in them",
    ]


@pytest.mark.parametrize("sandbox", [_LANDLOCK])
def test_a_command_has_one_card_with_every_reason_besides_the_question_about_the_project(
    project: Project, sandbox: str
) -> None:
    project.person.secrets = NO_KEPT
    with project.session(sandbox) as session:
        session.told(_run("rm -rf build; echo over"))
    assert [one.reason for one in project.person.questions] == [
        "could read files with credentials",
        "deletes directories with all that is in them, and could read .env, which the sandbox cannot hide from it",
    ]


@pytest.mark.parametrize("sandbox", _SANDBOXES)
def test_a_lasting_yes_to_a_command_that_names_a_secret_file_holds_after_a_no_for_the_project(
    project: Project, sandbox: str
) -> None:
    project.person.secrets, project.person.commands = NO_KEPT, YES_KEPT
    with project.session(sandbox) as session:
        session.told(_run("sh show.sh"), _run("cat .env"))
        number = len(project.person.questions)
        assert _SECRET in session.told(_run("cat .env"))
        assert len(project.person.questions) == number
    project.person.secrets = NO_KEPT
    with project.session(sandbox, mode="dont_ask") as session:
        # In this mode nobody says yes to it.
        assert _SECRET not in session.told(_run("cat ./.env"))


@pytest.mark.parametrize("sandbox", _SANDBOXES)
def test_a_rule_that_denies_a_secret_file_is_stronger_than_a_yes_to_a_command_that_names_it(
    project: Project, sandbox: str
) -> None:
    with project.session(sandbox, permissions=_rules(deny=".env")) as session:
        for command in ("cat .env", "rm .env", "cp .env x; cat x", "cat .en?"):
            assert _SECRET not in session.told(_run(command))
    assert (project.root / ".env").read_text() == f"KEY={_SECRET}\n"


@pytest.mark.parametrize("sandbox", _SANDBOXES)
@pytest.mark.parametrize(
    ("name", "text"),
    [
        (".env.example", "KEY=1"),
        (".env.sample", "KEY=1"),
        (".env.template", "KEY=1"),
        ("example.env", "KEY=1"),
        (".git", "gitdir: /srv/repository/.git/worktrees/x"),
        (".npmrc", "save-exact=true"),
        (".yarnrc.yml", "nodeLinker: node-modules"),
        ("ca.pem", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----"),
        ("credentials.py", "def load(): ..."),
        ("node_modules/x/test.pem", "-----BEGIN PRIVATE KEY-----"),
    ],
)
def test_a_project_without_secret_files_is_not_asked_about_them(
    project: Project, sandbox: str, name: str, text: str
) -> None:
    (project.root / ".env").unlink()
    project.write(name, text)
    with project.session(sandbox) as session:
        assert "ran" in session.told(_run("sh show.sh"), _run("make", background=True))
    assert project.person.questions == []


@pytest.mark.parametrize("sandbox", [_LANDLOCK])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        (".env.local", "A=1"),
        ("apps/api/.env", "A=1"),
        (".npmrc", "//registry.npmjs.org/:_authToken=npm_x"),
        ("certs/server.key", "x"),
        ("server.pem", "-----BEGIN CERTIFICATE-----\n-----BEGIN RSA PRIVATE KEY-----"),
        ("config/secrets.yml", "a: 1"),
    ],
)
def test_secret_files_are_named_wherever_a_project_has_them(
    project: Project, sandbox: str, name: str, text: str
) -> None:
    (project.root / ".env").unlink()
    project.write(name, text)
    with project.session(sandbox) as session:
        session.told(_run("sh show.sh"))
    assert [wish.paths for wish in project.person.wishes] == [(project.root / name,)]


@pytest.mark.parametrize("sandbox", [_LANDLOCK])
@pytest.mark.parametrize(
    "command",
    [
        "sh show.sh --env-file=a/b/c/d/.env",
        ". a/b/c/d/.env && true",
        "cd a/b/c/d && sh show.sh",
        "node --env-file a/b/c/d/.env x.js",
    ],
)
def test_secret_files_that_a_command_names_or_runs_next_to_are_found_however_deep(
    project: Project, sandbox: str, command: str
) -> None:
    (project.root / ".env").rename(project.root / "notes")
    project.write("a/b/c/d/.env", "KEY=1")
    with project.session(sandbox) as session:
        session.told(_run("sh show.sh"))
        assert project.person.questions == []
        session.told(_run(command))
    assert [wish.paths for wish in project.person.wishes] == [(project.root / "a/b/c/d/.env",)]


@pytest.mark.parametrize("sandbox", _SANDBOXES)
def test_where_nobody_is_asked_commands_read_secret_files_unless_the_user_has_said_no(
    project: Project, sandbox: str
) -> None:
    with project.session(sandbox, mode="dont_ask") as session:
        assert _SECRET in session.told(_run("sh show.sh"))
    assert project.person.questions == []
    project.person.secrets, project.person.commands = NO_KEPT, Answer(allowed=False)
    with project.session(sandbox) as session:
        session.told(_run("sh show.sh"))
    project.person.questions.clear()
    with project.session(sandbox, mode="dont_ask") as session:
        told = session.told(_run("sh show.sh"))
        assert _SECRET not in told
        assert ("Refused" if sandbox == "landlock" else "ran") in told
        assert "show.sh" in session.told(_run("ls"))
    assert project.person.questions == []


@pytest.mark.parametrize("sandbox", _SANDBOXES)
def test_with_nobody_to_ask_secret_files_are_hidden_or_the_command_is_refused(project: Project, sandbox: str) -> None:
    with project.session(sandbox, approver=NobodyToAsk()) as session:
        told = session.told(_run("sh show.sh"))
    assert _SECRET not in told
    assert ("there is nobody to ask" if sandbox == "landlock" else "ran") in told
    assert ("approvals.allow: [read: .env]" in told) == (sandbox == "landlock")


@pytest.mark.parametrize("sandbox", [_LANDLOCK])
def test_a_question_about_secret_files_that_nobody_answers_is_a_no_for_that_command_alone(
    project: Project, sandbox: str
) -> None:
    project.person.secrets = TIME_IS_UP
    with project.session(sandbox) as session:
        assert "nobody answered in time" in session.told(_run("sh show.sh"))
        project.person.secrets = YES_KEPT
        assert _SECRET in session.told(_run("sh show.sh"))
    assert [type(action) for action in project.person.asked] == [ReadSecretFiles] * 2


@pytest.mark.parametrize("sandbox", _SANDBOXES)
def test_in_plan_mode_nobody_is_asked_about_secret_files_and_nothing_shows_them(
    project: Project, sandbox: str
) -> None:
    with project.session(sandbox, mode="plan") as session:
        assert _SECRET not in session.told(_run("sh show.sh"), _run("ls -a"), _run("grep -r KEY ."))
    assert project.person.questions == []
    assert not (project.root / "made").exists()


@pytest.mark.parametrize("sandbox", _SANDBOXES)
def test_a_command_does_not_run_in_plan_mode_that_was_chosen_while_secret_files_were_asked_about(
    project: Project, sandbox: str
) -> None:
    for answer in (YES, NO):
        with project.session(sandbox) as session:
            approvals = session.agent.workspace.approvals
            project.person.secrets = answer

            def plan(chosen: Any = approvals) -> None:
                chosen.mode = "plan"

            project.person.meanwhile = plan
            session.told(_run("sh show.sh"))
    assert not (project.root / "made").exists()


def _rules(**rules: str) -> PermissionSettings:
    return PermissionSettings(**{name: (parse_rule({"read": pattern}),) for name, pattern in rules.items()})  # type: ignore[arg-type]


@pytest.mark.parametrize("sandbox", _SANDBOXES)
@pytest.mark.parametrize("mode", ["default", "accept_edits", "dont_ask"])
def test_a_rule_about_secret_files_decides_without_a_question(project: Project, sandbox: str, mode: Mode) -> None:
    with project.session(sandbox, mode=mode, permissions=_rules(allow=".env")) as session:
        assert _SECRET in session.told(_run("sh show.sh"))
    for pattern in (".env", "*.env", str(project.root / ".env")):
        with project.session(sandbox, mode=mode, permissions=_rules(deny=pattern)) as session:
            assert _SECRET not in session.told(_run("sh show.sh"))
    assert project.person.wishes == []


@pytest.mark.parametrize("sandbox", _SANDBOXES)
def test_where_nothing_can_be_changed_secret_files_are_hidden_by_every_sandbox(
    project: Project, sandbox: str
) -> None:
    project.person.secrets = NO
    with project.session(sandbox, level="read-only") as session:
        told = session.told(_run("sh show.sh; echo over"))
        assert "over" in told
        assert _SECRET not in told
    assert [type(action) for action in project.person.asked] == [ReadSecretFiles]


@pytest.mark.parametrize("sandbox", [_LANDLOCK])
def test_what_was_answered_about_secret_files_is_listed_and_taken_back(project: Project, sandbox: str) -> None:
    for answer, allowed in ((YES_KEPT, True), (NO_KEPT, False)):
        project.person.questions.clear()
        project.person.secrets = answer
        for _ in range(2):
            with project.session(sandbox) as session:
                session.told(_run("sh show.sh"))
                grants = session.agent.workspace.approvals.grants
                [listed] = [one for one in grants.listed() if one.record is not None]
                assert listed.allowed == allowed
                assert listed.words == f"let commands read the secret files of {project.root}"
        assert len(project.person.wishes) == 1
        grants.revoke(listed)
        with project.session(sandbox) as session:
            session.told(_run("sh show.sh"))
        assert len(project.person.wishes) == 2
        [entry] = project.kept.all()
        project.kept.remove(entry.record)


@pytest.mark.parametrize("sandbox", [_LANDLOCK])
def test_a_yes_for_the_secret_files_of_one_project_is_none_for_another(project: Project, sandbox: str) -> None:
    with project.session(sandbox) as session:
        session.told(_run("sh show.sh"))
    other = _other(project)
    with other.session(sandbox) as session:
        session.told(_run("sh x"))
    with other.session(sandbox) as session:
        session.told(_run("sh x"))
    assert len(other.person.wishes) == 1
    assert len(project.kept.all()) == 2


def _other(project: Project) -> Project:
    other = replace(project, root=project.root.parent / "other", person=Person())
    other.write(".env", "KEY=2\n")
    return other


@pytest.mark.parametrize("sandbox", [_LANDLOCK])
def test_each_project_of_a_session_is_asked_about_by_itself_and_keeps_its_own_answer(
    project: Project, sandbox: str
) -> None:
    other = _other(project)
    with project.session(sandbox, extra=(other.root,)) as session:
        session.told(_run("sh show.sh"))
        session.told(_run("sh show.sh"))
    assert [(wish.project, wish.paths) for wish in project.person.wishes] == [
        (project.root, (project.root / ".env",)),
        (other.root, (other.root / ".env",)),
    ]
    with other.session(sandbox, extra=(project.root,)) as session:
        session.told(_run("sh x"))
    assert other.person.questions == []


@pytest.mark.parametrize("sandbox", _SANDBOXES)
def test_a_no_to_one_project_of_a_session_is_none_to_the_other(project: Project, sandbox: str) -> None:
    other = _other(project)
    other.person.secrets = NO_KEPT
    with other.session(sandbox) as session:
        session.told(_run("sh x"))
    project.person.commands = Answer(allowed=False)
    project.write("both.sh", "cat .env ../other/.env")
    with project.session(sandbox, extra=(other.root,)) as session:
        told = session.told(_run("sh both.sh"))
    assert "KEY=2" not in told
    assert (_SECRET in told) == (sandbox == "bubblewrap")


_COMMIT = ("-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-qam", "x")


def _git(project: Project, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=project.root, check=True)


def _commit(project: Project, *, ignored: str = "") -> None:
    project.write(".gitignore", ignored)
    _git(project, "init", "-q", "-b", "main")
    _git(project, "add", ".")
    _git(project, *_COMMIT)


@pytest.mark.parametrize("sandbox", [_BUBBLEWRAP])
@pytest.mark.parametrize(
    ("command", "is_foreseen"),
    [("git checkout -q other", True), ("git merge -q other", True), ("git pull -q . other", False)],
)
def test_git_is_asked_about_where_it_could_not_replace_hidden_secret_files(
    project: Project, sandbox: str, command: str, is_foreseen: bool
) -> None:
    _commit(project)
    _git(project, "checkout", "-qb", "other")
    project.write(".env", "KEY=other\n")
    project.write("show.sh", "echo other\n")
    _git(project, *_COMMIT)
    _git(project, "checkout", "-q", "main")
    project.person.secrets = NO_KEPT
    with project.session(sandbox) as session:
        session.told(_run("sh show.sh"))
        session.told(_run(command))
    # Others read such a file later: what git would write there is on its card, or shown afterwards if nobody knew.
    afterwards = [] if is_foreseen else [WritePath]
    assert [type(action) for action in project.person.asked] == [ReadSecretFiles, RunCommand, *afterwards]
    assert [change.path.name for change in project.person.asked[1].changes] == [".env"] * is_foreseen
    assert "could read .env" in project.person.questions[1].reason
    assert (project.root / ".env").read_text() == "KEY=other\n"
    assert (project.root / "show.sh").read_text() == "echo other\n"


_ANYWHERE = [*_SANDBOXES, "none"]


@pytest.mark.parametrize("sandbox", ["none"])
def test_what_nothing_contains_is_asked_about_with_the_tracked_secret_file_on_its_card(
    project: Project, sandbox: str
) -> None:
    _commit(project)
    _git(project, "config", "filter.x.clean", "cat")  # a program that git would run
    project.person.secrets, project.person.commands = NO, Answer(allowed=False)
    with project.session(sandbox) as session:
        assert _SECRET not in session.told(_run("git log -p"), _run("git archive HEAD"))
    [_, log, archive] = project.person.questions
    assert "filter.x.clean" in log.reason
    assert log.reason.endswith("; may print .env, which git keeps and no sandbox hides from it")
    assert archive.reason.endswith(", and could read .env, which the sandbox cannot hide from it")
    with project.session(sandbox, permissions=_rules(deny=".env")) as session:
        assert "may print .env, which a rule denies to read" in session.told(_run("git log -p"))


_PRINTS = ("git log -p", "git show", "git diff", "git -C sub diff HEAD", "git stash show -p", "git grep --cached KEY")


@pytest.mark.parametrize("sandbox", _ANYWHERE)
def test_git_is_asked_about_once_a_project_before_it_prints_a_tracked_secret_file(
    project: Project, sandbox: str
) -> None:
    project.write("sub/x", "1")
    _commit(project)
    project.write(".env", "KEY=changed\n")
    with project.session(sandbox) as session:
        for command in ("git status", "git log --oneline -5", "git show --stat", "git diff --name-only"):
            assert _SECRET not in session.told(_run(command))
        assert project.person.questions == []
        assert f"-KEY={_SECRET}\n+KEY=changed" in session.told(_run("git diff"))
        assert _SECRET in session.told(_run("git log -p -1"))
    with project.session(sandbox) as session:
        assert f"-KEY={_SECRET}\n+KEY=changed" in session.told(_run("git diff -- . && git status"))
    [wish] = project.person.wishes
    assert wish.paths == (project.root / ".env",)
    assert len(project.person.questions) == 1


@pytest.mark.parametrize("sandbox", _ANYWHERE)
def test_after_a_no_git_is_asked_about_each_time_it_could_print_a_tracked_secret_file(
    project: Project, sandbox: str
) -> None:
    project.write("sub/x", "1")
    _commit(project)
    project.write(".env", "KEY=changed\n")
    _git(project, *_COMMIT)
    project.write(".env", "KEY=again\n")
    _git(project, "stash", "-q")
    project.person.secrets, project.person.commands = NO_KEPT, Answer(allowed=False)
    with project.session(sandbox) as session:
        assert _SECRET not in session.told(*map(_run, _PRINTS), _run("git log -2"), _run("git diff HEAD~1 -- sub"))
        [wish, *cards] = project.person.questions
        assert wish.action == ReadSecretFiles(project.root, (project.root / ".env",))
        assert [card.action.command for card in cards if isinstance(card.action, RunCommand)] == list(_PRINTS)
        assert {card.reason for card in cards[:3]} == {"may print .env, which git keeps and no sandbox hides from it"}
        project.person.commands = YES
        assert "+KEY=changed" in session.told(_run("git show"))
    project.person.questions.clear()
    for mode in ("plan", "dont_ask"):
        with project.session(sandbox, mode=mode) as session:
            assert _SECRET not in session.told(_run("git log -p"))
    assert project.person.questions == []


@pytest.mark.parametrize("sandbox", _ANYWHERE)
def test_git_needs_no_question_where_no_secret_file_is_tracked(project: Project, sandbox: str) -> None:
    _commit(project, ignored=".env\n")
    with project.session(sandbox) as session:
        told = session.told(_run("git log -p"), _run("git show"), _run("git diff"), _run("git status -v"))
    assert "+KEY=\n" in told  # of the template
    assert _SECRET not in told
    assert project.person.questions == []


@pytest.mark.parametrize("sandbox", _ANYWHERE)
def test_git_prints_no_tracked_secret_file_that_a_rule_denies_and_every_one_that_a_rule_allows(
    project: Project, sandbox: str
) -> None:
    _commit(project)
    with project.session(sandbox, permissions=_rules(deny=".env")) as session:
        told = session.told(_run("git log -p"))
        assert "may print .env, which a rule denies to read" in told
        assert _SECRET not in told
        assert "echo ran" in session.told(_run("git log -p -- show.sh"))
    for mode in ("default", "plan"):
        with project.session(sandbox, mode=mode, permissions=_rules(allow=".env")) as session:
            assert _SECRET in session.told(_run("git log -p"))
    assert project.person.questions == []
