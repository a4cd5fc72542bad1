"""Permissions of wrappers: a yes to what a wrapper runs is no yes to the wrapper with something else."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.always import AlwaysSession
from tests.support.each import each
from tools.approval.commands.bash.wrappers import WRAPPERS, Wrapper

_OTHERS = ("make deploy", "./upload.sh")
_RUNNERS = [
    "bash", "sh -e", "zsh", "fish", "python", "python3.12 -X dev", "node", "ruby", "perl", "php", "lua", "Rscript",
    "java", "tclsh", "npx", "npx --yes", "pnpx", "bunx", "uvx", "uv run", "uv tool run", "pipx run", "poetry run",
    "hatch run", "npm exec --", "pnpm exec", "pnpm dlx", "yarn exec", "yarn dlx", "bundle exec", "docker run img",
    "docker exec web", "docker compose exec web", "podman run --rm img", "kubectl exec pod --", "ssh host",
    "ssh -p 22 host", "mosh host", "find . -exec", "find . -name x -execdir", "xargs", "xargs -n 1", "parallel",
    "fd -x", "env -S", "env A=1", "sudo -u me", "tmux new -d", "screen -dm", "watch -n 1", "flock lock",
    "gdb --args", "go run", "cargo run --", "coverage run", "eval", "exec", "command", "nohup", "time -p", "wine",
    "systemd-cat", "git -c alias.x=!", "git bisect run", "git submodule foreach", "rustup run stable", "dotenv run",
    "entr", "nodemon", "strace -f", "timeout 5",
]  # fmt: skip


def _forms(name: str, wrapper: Wrapper) -> Iterator[str]:
    """The ways to write a wrapper before what it runs."""
    subcommands = sorted(wrapper.subcommand) or [""]
    operands = " ".join(["5", "x"][: wrapper.operands])
    options = ["", "--all", "-x --some=thing", *(f"-{letter} 1" for letter in wrapper.letters[:1])]
    for parts in itertools.product(subcommands, options, [operands], ["", "--"]):
        yield " ".join(filter(None, (name, *parts)))
    yield " ".join(filter(None, (name, "--all", subcommands[0], operands)))


@each("name", sorted(WRAPPERS))
def test_a_permission_for_what_a_wrapper_runs_covers_nothing_else_that_it_may_run(name: str) -> None:
    *_, last = forms = tuple(_forms(name, WRAPPERS[name]))
    for form in (forms[0], last):
        _check(form)


@pytest.mark.long
@pytest.mark.timeout(300)
@each("name", sorted(WRAPPERS))
def test_a_permission_for_what_a_wrapper_runs_covers_nothing_else_however_the_wrapper_is_written(name: str) -> None:
    for form in _forms(name, WRAPPERS[name]):
        _check(form)


@each("form", _RUNNERS)
def test_a_permission_for_a_runner_of_code_covers_nothing_else_that_it_may_run(form: str) -> None:
    _check(form)


def _check(form: str) -> None:
    session = AlwaysSession(Path("/srv/project"))
    granted = f"{form} make test"
    session.always(granted)
    for other in _OTHERS:
        assert session.asks(f"{form} {other}"), f"{form} {other} ran unasked after {granted}"
    assert not session.asks(granted), f"{granted} is asked about again"


@each(
    ("granted", "other"),
    [
        ("make test", "make test deploy"),
        ("make test", "make deploy"),
        ("just test", "just test deploy"),
        ("rake test", "rake test deploy"),
        ("gradle test", "gradle test publish"),
        ("mvn test", "mvn test deploy"),
        ("npm run test", "npm run deploy"),
        ("gulp test", "gulp deploy"),
        ("cargo test", "cargo run"),
        ("make test", "numactl --all make deploy"),
    ],
)
def test_a_permission_for_a_task_covers_no_other_task(granted: str, other: str) -> None:
    session = AlwaysSession(Path("/srv/project"))
    session.always(granted)
    assert session.asks(other)
    assert not session.asks(granted)


@each(
    ("granted", "later"),
    [
        ("uv sync", "uv sync --frozen"),
        ("npm run test", "npm run test -- --watch"),
        ("make test", "make test VERBOSE=1"),
        ("poetry install", "poetry install -v"),
        ("docker compose ps", "docker compose ps --all"),
    ],
)
def test_a_program_that_wraps_only_with_some_subcommands_keeps_permissions_for_the_others(
    granted: str, later: str
) -> None:
    session = AlwaysSession(Path("/srv/project"))
    session.always(granted)
    assert not session.asks(later)
