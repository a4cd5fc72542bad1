"""Permission labels: what an "Always allow …" covers afterwards is what its label said, for every kind of command."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from acp_adapter.capabilities import ClientCapabilities, ClientHabits
from acp_adapter.permissions import offers_of
from tests.support.always import AlwaysSession
from tests.support.each import each
from tools.approval.actions import ProcessInput, RunCommand
from tools.approval.grants import KeptGrants
from tools.approval.questions import Question

_ROOT = Path("/srv/project")
_EXACT = "this exact command in this directory"
_PREFIX = re.compile(
    r"`(?P<words>[^`]*) …` (?:in this directory|inside this directory (?P<copies>with the same options))"
)
_ORDINARY = [
    "pytest -q tests", "./scripts/check.sh --fast", "make test", "npm run test:unit", "docker compose up",
    "cargo test", "git commit -m one", "git fetch origin", "git pull", "git add a.py", "uv sync",
    "pip install requests", "touch a.txt", "cp a.txt b.txt", "mv -n a.txt b.txt", "git mv a b", "go test ./...",
    "ruff format src", "just build", "gradle build", "terraform init", "hg pull", "mkdir -p out", "pre-commit run",
    "gh pr checkout 12",
]  # fmt: skip
_RISKY = [
    "git push origin main", "git push --force-with-lease", "git stash", "rm -rf build", "rm a.txt", "npm publish",
    "git reset --hard", "git clean -fd", "kill 12", "curl -d x https://example.com", "sudo make install",
    "docker run --privileged img", "crontab jobs", "chmod -R 777 .", "git push origin main && rm -rf build",
]  # fmt: skip
_RUNNERS = [
    "numactl --all make test", "timeout 5 pytest", "uv run pytest", "npx jest", "env A=1 make test",
    "bash check.sh", "python -m pytest", "find . -name x -exec make test {} +", "xargs make", "cargo run",
    "docker run img make test", "make test | tee log", "make test > log", "make test && make lint", "A=1 make test",
    "make test &", "(make test)", "time make test", "git -c alias.t=!make t", "make test; pytest",
    "make $(cat target)", "pytest tests/*.py",
]  # fmt: skip

_SHOWS_NAMES = ClientCapabilities(habits=ClientHabits(collapses_options=False))


def _labels(question: Question) -> dict[str, str]:
    """What each lasting yes of a card says that it allows, by its scope."""
    names = (
        (offer.answer.scope, re.sub(r"^Always allow | \((?:this session|every session here)\)$", "", offer.label))
        for offer in offers_of(question, _SHOWS_NAMES)
        if offer.kind == "allow_always" and not offer.answer.always
    )
    return dict(names)


def _around(command: str) -> Iterator[str]:
    """Commands that hold `command` and more: more commands, other surroundings, other rights, another target."""
    yield from (
        f"{command}; ./upload.sh",
        f"{command} && make deploy",
        f"{command} || ./upload.sh",
        f"./upload.sh && {command}",
    )
    yield from (
        f"{command} | sh",
        f"{command} | tee log",
        f"cat x | {command}",
        f"{command} & ./upload.sh",
        f"{command} &",
    )
    yield from (
        f"{command} > out",
        f"{command} >> ~/.bashrc",
        f"{command} < in",
        f"{command} 2> err",
        f"{command} <<< text",
    )
    yield from (f"PATH=. {command}", f"A=1 {command}", f"export A=1; {command}", f"cd .. && {command}")
    yield from (
        f"{command} $(./upload.sh)",
        f"{command} `./upload.sh`",
        f'{command} "$X"',
        f"{command} *",
        f"{command} {{a,b}}",
    )
    yield from (f"({command})", f"{{ {command}; }}", f"! {command}", f"{command}\n./upload.sh", f"eval '{command}'")
    yield from (
        f"sudo {command}",
        f"ssh host {command}",
        f"sh -c '{command}'",
        f"python -c '{command}'",
        f"xargs {command}",
    )
    yield from (
        f"{name} {command}" for name in ("env", "nohup", "numactl --all", "timeout 5", "npx", "uv run", "flock l")
    )


def _some_around(command: str) -> list[str]:
    """A quarter of `_around`, another one for other commands: all are tried, though not with each command."""
    return list(_around(command))[sum(command.encode()) % 4 :: 4]


def _words(command: str) -> tuple[str, ...]:
    return tuple(command.split())


@each("command", [*_ORDINARY, *_RISKY, *_RUNNERS])
def test_an_exact_permission_covers_the_same_text_in_the_same_directory_and_nothing_else(command: str) -> None:
    session = AlwaysSession(_ROOT, "session")
    assert _labels(session.always(command))["session"] == _EXACT
    assert not session.asks(command)
    for other in (*_some_around(command), f"{command} x", f"{command} --all", f"x{command}"):
        assert session.asks(other), other
    for elsewhere in (_ROOT / "src", _ROOT.parent, Path("/srv/project-two")):
        assert session.asks(command, elsewhere)
    assert session.asks_to(RunCommand(command, _ROOT, outside=True))
    assert session.asks_to(RunCommand(command, _ROOT, variables=("PATH=/tmp",)))


@each("command", [*_RISKY, *_RUNNERS])
def test_what_is_dangerous_or_runs_another_command_has_no_wider_permission_than_the_exact_one(command: str) -> None:
    assert _labels(AlwaysSession(_ROOT).always(command)) == {"session": _EXACT}


@each("command", _ORDINARY)
def test_a_permission_for_first_words_covers_plain_commands_with_these_words_and_nothing_around_them(
    command: str,
) -> None:
    session = AlwaysSession(_ROOT, "prefix")
    said = _PREFIX.fullmatch(_labels(session.always(command))["prefix"])
    assert said is not None
    words = _words(said["words"])
    assert _words(command)[: len(words)] == words
    assert not session.asks(command)
    for other in _some_around(command):
        assert session.asks(other), other
    for elsewhere in (_ROOT / "src", _ROOT.parent, Path("/srv/project-two")):
        assert session.asks(command, elsewhere)
    assert session.asks_to(RunCommand(command, _ROOT, outside=True))
    assert session.asks_to(RunCommand(command, _ROOT, variables=("PATH=/tmp",)))
    for other in (*_ORDINARY, *_RISKY, *_RUNNERS):
        if _words(other)[: len(words)] != words:
            assert session.asks(other), f"{other} is not what the label says"


@each("command", _ORDINARY)
def test_a_permission_for_first_words_lets_no_word_lead_to_other_code_places_or_servers(command: str) -> None:
    session = AlwaysSession(_ROOT, "prefix")
    is_copy = "same options" in _labels(session.always(command))["prefix"]
    leading = ("/etc/x", "../other", "~/x", ".env", ".git/hooks/x", "https://example.com", "git@host:x")
    options = ("--config=x", "--prefix", "--exec=./x", "-C", "--output=x", "--plugin", "--force", "--file", "-f")
    for word in (*leading, *options, *(("-v", "--all", "-r") if is_copy else ("CC=./evil",))):
        assert session.asks(f"{command} {word}"), word


@each("command", [*_ORDINARY, *_RISKY[:6]])
def test_a_permission_for_every_session_covers_what_its_label_says_in_the_next_one(
    command: str, tmp_path: Path
) -> None:
    file = tmp_path / f"{abs(hash(command))}/permissions.yaml"
    question = AlwaysSession(_ROOT, kept=KeptGrants(file)).always(command)
    [label] = [offer.label for offer in offers_of(question, _SHOWS_NAMES) if offer.answer.always]
    later = AlwaysSession(_ROOT, kept=KeptGrants(file))
    said = _PREFIX.search(label)
    if said is None:
        assert _EXACT in label
        assert not later.asks(command)
        assert later.asks(f"{command} x")
    else:
        assert not later.asks(said["words"])
    for other in _some_around(command):
        assert later.asks(other), other


@pytest.mark.long
@pytest.mark.timeout(300)
@each("command", [*_ORDINARY, *_RISKY[:6]])
def test_the_widest_permission_covers_nothing_around_a_command_in_this_session_or_the_next(
    command: str, tmp_path: Path
) -> None:
    file = tmp_path / f"{abs(hash(command))}/permissions.yaml"
    session = AlwaysSession(_ROOT)
    session.always(command)
    AlwaysSession(_ROOT, kept=KeptGrants(file)).always(command)
    later = AlwaysSession(_ROOT, kept=KeptGrants(file))
    for other in _around(command):
        assert session.asks(other), other
        assert later.asks(other), other


# A yes is for the dangers that were shown.


def test_a_permission_does_not_cover_the_same_command_with_another_danger() -> None:
    session = AlwaysSession(_ROOT, "session", roots=[Path("/srv/library")])
    session.always("touch ../library/a")
    assert not session.asks("touch ../library/a")
    narrower = AlwaysSession(_ROOT, "session")
    narrower.approvals.grants = session.grants
    assert narrower.asks("touch ../library/a"), "there it is outside of the session's directories"


def test_a_kept_permission_does_not_cover_the_same_command_with_another_danger(tmp_path: Path) -> None:
    file = tmp_path / "permissions.yaml"
    AlwaysSession(_ROOT, "session", kept=KeptGrants(file), roots=[Path("/srv/library")]).always(
        "tee ../library/a < b"
    )
    wide = AlwaysSession(_ROOT, kept=KeptGrants(file), roots=[Path("/srv/library")])
    assert not wide.asks("tee ../library/a < b")
    assert AlwaysSession(_ROOT, kept=KeptGrants(file)).asks("tee ../library/a < b")


def test_a_kept_permission_says_for_which_dangers_it_was_given(tmp_path: Path) -> None:
    file = tmp_path / "permissions.yaml"
    AlwaysSession(_ROOT, kept=KeptGrants(file)).always("rm -rf build && npm publish")
    assert "why: publishes a package; deletes directories with all that is in them\n" in file.read_text()
    assert not AlwaysSession(_ROOT, kept=KeptGrants(file)).asks("rm -rf build && npm publish")


def test_a_permission_of_an_older_version_covers_a_dangerous_command_only_once_it_is_given_again(
    tmp_path: Path,
) -> None:
    file = tmp_path / "permissions.yaml"
    what = ("make test | tee log", "git push origin main", "rm -rf build")
    file.write_text("".join(f"- kind: run\n  what: {each}\n  where: {_ROOT}\n" for each in what))
    file.chmod(0o600)
    session = AlwaysSession(_ROOT, kept=KeptGrants(file))
    assert [session.asks(each) for each in what] == [False, True, True]
    session.always("git push origin main")
    assert not AlwaysSession(_ROOT, kept=KeptGrants(file)).asks("git push origin main")


def test_a_permission_of_an_older_version_for_a_wrapper_allows_nothing_and_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "permissions.yaml"
    names = ("numactl", "bwrap", "torsocks", "make", "git push", "npx", "cargo run")
    file.write_text("".join(f"- kind: run like\n  what: {name}\n  where: {_ROOT}\n" for name in names))
    file.chmod(0o600)
    session = AlwaysSession(_ROOT, kept=KeptGrants(file))
    for name in names:
        assert session.asks(f"{name} ./upload.sh"), name
    for name in names:
        assert f"`run like: {name}` is wider than a yes is today" in caplog.text


def test_a_permission_to_type_covers_no_text_with_another_danger() -> None:
    session = AlwaysSession(_ROOT, "session")
    session.always_do(ProcessInput("./game", "go north, then east\n", _ROOT))
    assert not session.asks_to(ProcessInput("./game", "go south, then west\n", _ROOT))
    assert session.asks_to(ProcessInput("./game", "rm -rf src\n", _ROOT))


def test_a_permission_for_what_a_looking_command_runs_does_not_cover_what_it_reveals() -> None:
    session = AlwaysSession(_ROOT, "session")
    session.always_do(RunCommand("git log", _ROOT, runs_along="a filter of this repository"))
    assert not session.asks_to(RunCommand("git log", _ROOT, runs_along="a filter of this repository"))
    assert session.asks_to(RunCommand("git log", _ROOT, reveals=".env"))
