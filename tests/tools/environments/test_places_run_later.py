"""Each place of the table, and of a repository: a confined command changes none of them in silence."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agent_core.cancel import CancelToken
from tests.support.each import each
from tests.support.tool_context import ScriptedApprover
from tests.tools.environments.test_gated_commands import Commands, NoSandbox
from tools.approval.actions import WritePath
from tools.approval.approvals import Approvals
from tools.approval.gate import Gate
from tools.approval.persistence_paths import TABLE, run_later
from tools.approval.policy import EditPolicy, Mode, Rules
from tools.approval.questions import Answer, Question
from tools.environments.containment import Containment, Grounds
from tools.environments.gated_commands import GatedEnvironment
from tools.environments.gated_ports import GatedFileSystem
from tools.environments.local_files import LocalFileSystem
from tools.environments.persistence_watch import KeptPlaces
from tools.errors import Denied
from tools.ports import CommandOutcome, FileHistory, Interrupt, NoHistory
from tools.shell.session import ShellCommand

PATTERNS = [pattern for row in TABLE for pattern in row.patterns if pattern[0] not in "~/"]
IN_REPOSITORIES = [
    ".git/hooks/pre-commit", ".git/info/attributes", ".git/info/grafts",
    ".git/objects/info/alternates", ".git/worktrees/a/config.worktree", ".git/worktrees/a/commondir",
    ".git/sequencer/todo", ".git/rebase-merge/git-rebase-todo", ".git/remotes/origin", ".git/branches/main",
    ".git/modules/a/b/hooks/post-checkout", ".git/config.worktree", ".git/commondir",
]  # fmt: skip
BARE = {"HEAD": "ref: refs/heads/main\n", "config": "[core]\n\tfsmonitor = ./evil\n", "objects/x": "", "refs/x": ""}


@dataclass
class Person:
    """Says yes to commands and no to what they have written."""

    asked: list[WritePath] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    allows: bool = False

    def ask(self, question: Question, interrupt: Interrupt) -> Answer:
        self.questions.append(question)
        if isinstance(question.action, WritePath):
            self.asked += (question.action, *question.also)
            return Answer(allowed=self.allows)
        return Answer(allowed=True)


@dataclass
class Session:
    """A session whose confined commands do what a test says."""

    root: Path
    mode: Mode = "default"
    edits: EditPolicy = "mode"
    person: Person = field(default_factory=Person)
    noted: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.containment = Containment(
            sandbox=NoSandbox(),  # type: ignore[arg-type]  # nothing is started
            why_not=lambda: "",
            grounds=lambda: Grounds((self.root,)),
            places=KeptPlaces((self.root,)),
        )
        self.rules = Rules(
            roots=(self.root,), confines=self.containment.confines, runs_later=self.containment.places.runs
        )

    def gate(self, history: Callable[[], FileHistory] = NoHistory) -> Gate:
        approvals = Approvals(self.rules, self.mode, self.person, edits=self.edits)
        return Gate(approvals, "call-1", CancelToken(), lambda _action: None, self.noted.append, history=history)

    def run(
        self, change: Callable[[], object], command: str = "make", history: Callable[[], FileHistory] = NoHistory
    ) -> CommandOutcome:
        commands = Commands(CommandOutcome("done", 0), change)
        environment = GatedEnvironment(commands, self.gate(history), self.containment)  # type: ignore[arg-type]
        return environment.run(ShellCommand(command, self.root, 60), lambda _text: None, CancelToken())

    def names(self) -> list[str]:
        return sorted(str(action.path.relative_to(self.root)) for action in self.person.asked)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "project"
    root.mkdir()
    return root


def write(path: Path, text: str = "evil\n") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def git(directory: Path, *arguments: str) -> None:
    words = ("git", "-c", "user.name=a", "-c", "user.email=a@example.com", *arguments)
    subprocess.run(words, cwd=directory, check=True, capture_output=True)


@pytest.mark.parametrize("below", ["", "/x"])
def test_a_new_file_at_each_place_is_asked_about_shown_and_put_back_after_a_no(root: Path, below: str) -> None:
    # Each in a directory of its own; together they are one question.
    names = [
        f"packages/{number}/{pattern.replace('*', 'x')}{below if pattern != '.git' else ''}"
        for number, pattern in enumerate(PATTERNS)
    ]
    session = Session(root)
    outcome = session.run(lambda: [write(root / name) for name in names])
    assert session.names() == sorted(names)
    assert {action.after for action in session.person.asked} == {b"evil\n"}
    assert sorted(outcome.put_back) == sorted(root / name for name in names)
    assert [name for name in names if (root / name).exists()] == []


def test_each_place_that_was_there_is_what_it_was_after_a_no_and_changed_after_a_yes(root: Path) -> None:
    names = [f"packages/{number}/{pattern.replace('*', 'x')}" for number, pattern in enumerate(PATTERNS)]
    for name in names:
        write(root / name, f"mine {name}\n")
    session = Session(root)
    session.run(lambda: [write(root / name) for name in names])
    assert session.names() == sorted(names)
    assert [name for name in names if (root / name).read_text() != f"mine {name}\n"] == []
    session.person.allows = True
    session.run(lambda: [write(root / name) for name in names])
    assert [name for name in names if (root / name).read_text() != "evil\n"] == []


@pytest.mark.parametrize("within", ["", "packages/a/"])
@pytest.mark.parametrize("name", IN_REPOSITORIES)
def test_what_git_runs_of_a_repository_is_what_it_was_after_a_no(root: Path, name: str, within: str) -> None:
    (root / within).mkdir(parents=True, exist_ok=True)
    git(root / within, "init")
    file = root / within / name
    write(file, "mine\n" if not name.endswith("todo") else "pick 1234567 mine\n")
    was, session = file.read_bytes(), Session(root)
    session.run(lambda: write(file, "[core]\n\tpager = evil\n"))
    assert [action.before for action in session.person.asked] == [was]
    assert file.read_bytes() == was


@pytest.mark.parametrize("edits", ["mode", "ask"])
@pytest.mark.parametrize("mode", ["default", "accept_edits"])
def test_write_file_asks_about_each_place_in_every_mode_that_asks(root: Path, mode: Mode, edits: EditPolicy) -> None:
    session = Session(root, mode, edits)
    for pattern in [*PATTERNS, *IN_REPOSITORIES]:
        files = GatedFileSystem(LocalFileSystem(), session.gate())
        with pytest.raises(Denied):
            files.write(root / "packages" / pattern.replace("*", "x"), b"evil\n", expected=None)
    silent = [question.action for question in session.person.questions if not question.is_risky]
    assert (len(session.person.questions), silent) == (len(PATTERNS) + len(IN_REPOSITORIES), [])


@pytest.mark.parametrize(
    "name",
    [
        "src/app.py", "Makefile", "package.json", "README.md", "docs/index.rst", "src/hooks/useUser.ts", "config",
        "a/config/settings.json", "tests/conftest.py", "Dockerfile", ".gitignore", ".editorconfig", "git/hooks/x",
        "vscode/tasks.json", "lib/env/bin.py", "heads/x", "src/agents.py", ".claude/worktrees/fix/src/app.py",
        "build/x.o", "node_modules/left-pad/index.js", ".env.example", "docs/refs/x",
    ],
)  # fmt: skip
def test_an_ordinary_file_is_not_asked_about(root: Path, name: str) -> None:
    write(root / "kept.txt")
    session = Session(root, "accept_edits")
    session.run(lambda: write(root / name))
    GatedFileSystem(LocalFileSystem(), session.gate()).write(root / name, b"new\n", expected=b"evil\n")
    assert (session.person.questions, (root / name).read_text()) == ([], "new\n")


def test_all_that_one_command_has_changed_is_one_question_and_one_answer(root: Path) -> None:
    write(root / ".envrc", "mine")
    names = [".envrc", ".vscode/tasks.json", "AGENTS.md", "packages/a/.husky/pre-push"]
    session = Session(root)
    outcome = session.run(lambda: [write(root / name) for name in names])
    assert (len(session.person.questions), session.names()) == (1, sorted(names))
    assert {path.name for path in outcome.put_back} == {Path(name).name for name in names}
    assert [name for name in names if (root / name).exists()] == [".envrc"]
    assert (root / ".envrc").read_text() == "mine"


def test_a_bare_repository_of_an_ordinary_name_is_a_place(root: Path) -> None:
    session = Session(root)
    session.run(lambda: [write(root / "docs" / name, text) for name, text in BARE.items()])
    assert session.names() == ["docs/HEAD", "docs/config"]
    assert sorted(path.name for path in (root / "docs").iterdir()) == ["objects", "refs"]


@pytest.mark.parametrize("last", ["HEAD", "objects/x", "refs/x"])
def test_a_bare_repository_that_several_commands_make_is_a_place_with_the_last(root: Path, last: str) -> None:
    session = Session(root)
    for name, text in BARE.items():
        if name != last:
            session.person.allows = True
            session.run(lambda name=name, text=text: write(root / "docs" / name, text))  # type: ignore[misc]
    session.person = Person()
    session.run(lambda: write(root / "docs" / last, BARE[last]))
    assert "docs/config" in session.names()


@pytest.mark.parametrize("name", ["config", "hooks/post-update", "commondir", "info/attributes"])
def test_a_file_tool_asks_in_a_bare_repository(root: Path, name: str) -> None:
    for each_name, text in BARE.items():
        write(root / "docs" / each_name, text)
    (root / "docs/config").unlink()
    session = Session(root, "accept_edits")
    with pytest.raises(Denied):
        GatedFileSystem(LocalFileSystem(), session.gate()).write(root / "docs" / name, b"x", expected=None)


@pytest.mark.parametrize("end", [" ", "\t", " \n", "  \r\n"])
def test_a_repository_whose_path_ends_in_blanks_is_found_where_git_finds_it(root: Path, end: str) -> None:
    place = root.parent / f"elsewhere{end.rstrip(chr(13) + chr(10))}"
    git(root, "init")
    (root / ".git").rename(place)
    (root / ".git").write_text(f"gitdir: {place.parent}/elsewhere{end}", newline="")
    git(root, "status")
    session = Session(root)
    session.run(lambda: git(root, "config", "core.fsmonitor", "evil"))
    assert [action.path for action in session.person.asked] == [place / "config"]
    assert b"evil" not in (place / "config").read_bytes()


def test_shared_settings_are_found_behind_a_path_that_ends_in_a_blank(root: Path) -> None:
    git(root, "init")
    shared = root.parent / "shared "
    (root / ".git").rename(shared)
    (root / ".git").mkdir()
    (root / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (root / ".git/commondir").write_text(f"{shared}\n")
    session = Session(root)
    session.run(lambda: git(root, "config", "core.pager", "evil"))
    assert [action.path for action in session.person.asked] == [shared / "config"]


def test_what_a_new_pointer_leads_to_is_shown_and_not_deleted(root: Path) -> None:
    git(root, "init")
    write(root / "scripts/pre-commit", "the person's")
    session = Session(root)
    session.run(lambda: git(root, "config", "core.hooksPath", "scripts"))
    assert session.names() == [".git/config", "scripts/pre-commit"]
    assert (root / "scripts/pre-commit").read_text() == "the person's"
    assert "hooksPath" not in (root / ".git/config").read_text()


@pytest.mark.parametrize("name", [".husky", ".claude", ".vscode"])
def test_a_new_link_to_a_directory_of_the_workspace_deletes_nothing_there(root: Path, name: str) -> None:
    write(root / "own/pre-commit", "the person's")
    session = Session(root)
    session.run(lambda: (root / name).symlink_to("own"))
    assert name in session.names()
    assert not (root / name).is_symlink()
    assert (root / "own/pre-commit").read_text() == "the person's"


def test_hooks_where_the_persons_settings_say_are_asked_about_though_edits_are_not(root: Path) -> None:
    git(root, "init")
    git(root, "config", "core.hooksPath", "scripts/git")
    session = Session(root, "accept_edits")
    session.run(lambda: write(root / "scripts/git/pre-commit"))
    assert session.names() == ["scripts/git/pre-commit"]
    assert not (root / "scripts/git/pre-commit").exists()


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ("core.hooksPath=scripts/git", "scripts/git/pre-push"),
        ("core.hooksPath=.", "commit-msg"),
        ("include.path=../team.gitconfig.txt", "team.gitconfig.txt"),
    ],
)
def test_a_file_tool_asks_about_what_gits_settings_name_and_not_about_its_neighbours(
    root: Path, settings: str, name: str
) -> None:
    git(root, "init")
    git(root, "config", *settings.split("="))
    session = Session(root, "accept_edits")
    files = GatedFileSystem(LocalFileSystem(), session.gate())
    with pytest.raises(Denied):
        files.write(root / name, b"evil", expected=None)
    files.write(root / "neighbour.txt", b"new", expected=None)
    assert session.names() == [name]


def test_a_workspace_that_is_its_own_directory_of_hooks_asks_about_hooks_alone(root: Path) -> None:
    git(root, "init")
    git(root, "config", "core.hooksPath", ".")
    session = Session(root)
    session.run(lambda: [write(root / name) for name in ("a.py", "pre-commit", "b.txt")])
    assert session.names() == ["pre-commit"]


def test_a_repository_within_the_workspace_counts_and_a_clone_of_one_does_not(root: Path) -> None:
    other = root.parent / "other"
    other.mkdir()
    git(other, "init")
    git(other, "commit", "--allow-empty", "-m", "x")
    session = Session(root)
    session.run(lambda: git(root, "clone", f"file://{other}", "vendor/other"))
    assert session.names() == []
    session.run(lambda: git(root / "vendor/other", "config", "core.pager", "evil"))
    assert session.names() == ["vendor/other/.git/config"]


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("npm install", "node_modules/.bin/eslint"),
        ("cd web && npm ci", "web/node_modules/.bin/eslint"),
        ("yarn", "node_modules/.bin/eslint"),
        ("pip install black", ".venv/bin/black"),
        ("python3 -m pip install -e .", ".venv/lib/python3.12/site-packages/_x.pth"),
        ("uv sync --frozen", ".venv/bin/pytest"),
        ("python -m venv .venv", ".venv/pyvenv.cfg"),
        ("composer install", "vendor/bin/phpunit"),
    ],
)
def test_programs_of_packages_that_a_command_installs_are_told_and_not_asked(
    root: Path, command: str, name: str
) -> None:
    session = Session(root)
    session.run(lambda: write(root / name), command)
    assert (session.names(), (root / name).exists()) == ([], True)
    assert any(Path(name).parent.name in note for note in session.noted)


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("npm run build", "node_modules/.bin/eslint"),
        ("npm install", ".venv/bin/black"),
        ("npm install", ".husky/pre-commit"),
        ("pip install black", ".venv/bin/activate"),
        ("pip install black", ".envrc"),
        ("make", "node_modules/.bin/eslint"),
        ("uv run pytest", ".venv/bin/pytest"),
    ],
)
def test_what_a_package_manager_is_not_there_to_change_is_asked_about(root: Path, command: str, name: str) -> None:
    write(root / name, "mine")
    session = Session(root)
    session.run(lambda: write(root / name), command)
    assert (session.names(), (root / name).read_text()) == ([name], "mine")


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        (".git/sequencer/todo", "pick 1234567 one\n", "pick 89abcde two\n"),
        (".git/rebase-merge/git-rebase-todo", "", "pick 1 a\nfixup -C 2 b\nupdate-ref refs/heads/x\n\n# c\n"),
        (
            ".idea/workspace.xml",
            '<p><component name="RunManager"/><component name="TaskManager"><a/></component></p>',
            '<p><component name="RunManager"/><component name="TaskManager"><b c="d"/></component></p>',
        ),
    ],
)
def test_what_programs_note_for_themselves_in_a_place_does_not_count(
    root: Path, name: str, before: str, after: str
) -> None:
    git(root, "init")
    write(root / name, before)
    session = Session(root)
    session.run(lambda: write(root / name, after))
    assert session.names() == []
    session.run(lambda: write(root / name, after.replace("RunManager", "Runner") + "exec evil\n"))
    assert session.names() == [name]


def test_everyday_git_asks_nothing(root: Path) -> None:
    git(root, "init", "-b", "main")
    write(root / "a.txt", "a")
    session = Session(root)

    def work() -> None:
        git(root, "add", ".")
        git(root, "commit", "-m", "one")
        git(root, "switch", "-c", "other")
        write(root / "a.txt", "b")
        git(root, "stash")
        git(root, "stash", "pop")
        git(root, "commit", "-am", "two")
        git(root, "switch", "main")
        git(root, "merge", "other")
        git(root, "worktree", "add", "trees/x")
        git(root, "gc")

    session.run(work)
    assert session.person.questions == []


def test_a_checkout_that_brings_places_is_one_question(root: Path) -> None:
    git(root, "init", "-b", "main")
    git(root, "commit", "--allow-empty", "-m", "one")
    git(root, "switch", "-c", "evil")
    for name in (".vscode/tasks.json", "AGENTS.md", "src/a.py"):
        write(root / name)
    git(root, "add", ".")
    git(root, "commit", "-m", "two")
    git(root, "switch", "main")
    session = Session(root)
    session.run(lambda: git(root, "switch", "evil"))
    assert (len(session.person.questions), session.names()) == (1, [".vscode/tasks.json", "AGENTS.md"])
    assert (root / "src/a.py").exists()


def test_a_place_deep_in_a_large_tree_counts(root: Path) -> None:
    for number in range(300):
        write(root / f"packages/p{number}/src/a.ts", "a")
    session = Session(root)
    session.run(lambda: write(root / "packages/p299/src/.envrc"))
    assert session.names() == ["packages/p299/src/.envrc"]


def test_a_place_among_very_many_names_counts(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.environments.persistence_scan.MOST_NAMES", 20)
    for number in range(50):
        write(root / f"many/{number}.txt")
    session = Session(root)
    session.run(lambda: write(root / "many/.envrc"))
    assert session.names() == ["many/.envrc"]


def test_a_command_that_can_change_nothing_is_not_framed_by_looks(root: Path) -> None:
    write(root / ".envrc", "mine")
    session = Session(root)
    session.run(lambda: write(root / ".envrc"), "ls -la")
    assert session.person.questions == []  # in the sandbox it would have been refused


def test_several_commands_at_once_see_each_change_once_and_no_other(root: Path) -> None:
    for number in range(40):
        write(root / f"p{number}/a.txt")
    session = Session(root)
    session.person.allows = True
    threads = [
        threading.Thread(target=session.run, args=(lambda number=number: write(root / f"p{number}/a.txt", "b"),))
        for number in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    session.run(lambda: write(root / "p3/.envrc"))
    assert session.names() == ["p3/.envrc"]


def test_places_beyond_the_bound_are_left_alone_and_never_taken_for_new(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.environments.persistence_scan.MOST_DIRECTORIES", 3)
    for name in ("a/x", "b/x", "c/x", "d/x"):
        write(root / name / ".envrc", "the person's")
    session = Session(root)

    def change() -> None:
        (root / "a/x/.envrc").unlink()
        (root / "a/x").rmdir()
        (root / "a").rmdir()
        (root / "b").rename(root.parent / "b")

    session.run(change)
    assert session.names() == []
    assert (root / "d/x/.envrc").read_text() == "the person's"


def test_a_file_that_is_moved_to_a_place_is_not_lost_after_a_no(root: Path) -> None:
    write(root / "examples/envrc", "the person's")
    os.utime(root / "examples/envrc", (0, 0))
    session = Session(root)
    session.run(lambda: (root / "examples/envrc").rename(root / ".envrc"))
    assert session.names() == [".envrc"]
    [kept] = root.glob(".envrc.refused-*")
    assert kept.read_text() == "the person's"


@each(
    ("path", "is_place"),
    [
        ("/home/u/go/bin/tool", True),
        ("/w/go/bin/tool", False),
        ("/root/.npmrc", True),
        ("/etc/cron.daily/x", True),
        ("/w/etc/cron.daily/x", False),
        ("/private/etc/profile.d/x.sh", True),
        ("/w/.claude/worktrees/a/src/x.py", False),
        ("/w/.claude/worktrees/a/.vscode/tasks.json", True),
        ("/w/APP.CODE-WORKSPACE", True),
        ("/w/.VsCode./tasks.json", True),
        ("/w/mise/config.local.toml", True),
        ("/w/.config/mise/conf.d/a.toml", True),
        ("/w/server.git/hooks/update", True),
        ("/w/server.git/README", False),
    ],
)
def test_patterns_mean_homes_the_root_and_every_directory(path, is_place):
    assert (run_later(Path(path)) is not None) == is_place


def test_each_row_says_who_runs_it_and_when_in_words_that_a_card_can_use() -> None:
    for row in TABLE:
        assert row.why == f"is {'read' if row.is_read else 'run'} by {row.who} {row.when}"
        assert row.who
        assert row.when


def test_no_pattern_stands_twice() -> None:
    seen: dict[str, str] = {}
    for row in TABLE:
        for pattern in row.patterns:
            assert seen.setdefault(pattern.casefold(), row.why) == row.why, pattern


def test_a_scripted_person_is_asked_with_no_answer_that_lasts_for_several(root: Path) -> None:
    session = Session(root)
    approver = ScriptedApprover()
    session.person = approver  # type: ignore[assignment]  # an approver all the same
    session.run(lambda: [write(root / name) for name in (".envrc", "AGENTS.md")])
    [question] = approver.questions
    assert (question.reaches, question.keeps, question.is_risky) == ((), (), True)
    assert len(question.also) == 1
