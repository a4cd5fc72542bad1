"""Which commands count as a check of code."""

from __future__ import annotations

import pytest

from agent_core.check_commands import is_check, only_brings
from tests.support.each import each

CHECKS = [
    "pytest", "pytest -q tests/test_a.py", "python -m pytest", "python3.12 -m unittest discover", "python app.py",
    "cd src && pytest", "FOO=1 pytest", "env FOO=1 pytest", "uv run pytest -x", "poetry run mypy .", "uvx ruff check",
    "timeout 60 pytest", "sudo make test", "time -p cargo test", "cargo build --release", "cargo clippy",
    "go vet ./...",
    "cargo +nightly test", "go test ./...", "npm test", "npm run build", "npm run test:unit", "pnpm lint",
    "yarn typecheck", "npx tsc --noEmit",
    "npx jest", "make", "make check", "mvn -q verify", "mvn", "./gradlew test", "gradle build", "dotnet test",
    "ruff check .",
    "ruff format --check", "eslint src", "mypy --strict pkg", "node index.js", "ruby x.rb", "bash run.sh",
    "./run-tests.sh",
    "../build/main --x", "gcc -Wall a.c -o a", "rustc main.rs", "shellcheck x.sh", "bundle exec rspec",
    "tox -e py312",
    "terraform validate", "echo hi; pytest | tail -5", "mkdir -p b\ncmake ..\nninja", "python -c 'import app'",
    "pytest \\\n  -q", "(cd web && npm test)", "deno check main.ts", "git stash && pytest; git stash pop",
    "node --test",
    "coverage run -m pytest", "flutter analyze",
    "git commit -m 'one\n\ntwo'; pytest", "ls # all\npytest", "cat > a.txt <<E\ndon't\nE\npytest", "pytest -k 'a\nb",
]  # fmt: skip
NO_CHECKS = [
    "", "ls -la", "cat test_a.py", "grep -rn pytest .", "git commit -m 'run pytest'", "git diff",
    "echo pytest", "pip install pytest",
    "python -m pip install mypy", "python -m venv .venv", "npm install", "npm ci --ignore-scripts=true x",
    "pytest --version", "python --version", "python",
    "cargo add serde", "cargo --version", "go mod tidy", "ruff format .", "sed -i s/a/b/ test.py",
    "mkdir tests", "touch build.py",
    "uv pip install x", "uv sync", "rm -rf build", "cd tests", "/bin/ls", "/usr/bin/env", "yarn add jest",
    "poetry add pytest", "docker ps",
    "git commit -m 'one\npytest\n'", "ls # all; pytest",
    "which pytest", "find . -name 'test_*'", "FOO=1", "timeout 5", "echo 'pytest", "# pytest",
]  # fmt: skip


@each("command", CHECKS)
def test_a_command_that_shows_whether_code_works_is_a_check(command):
    assert is_check(command)


@each("command", NO_CHECKS)
def test_what_only_looks_or_installs_is_none(command):
    assert not is_check(command)


@each(
    ("command", "checks"),
    [
        ("python -c 'open(1)'", False),
        ("python - <<E\nx\nE", False),
        ("perl -pi -e s/a/b/ x.py", False),
        ("python app.py", True),
        ("ruff check --fix .", True),
    ],
)
def test_a_program_in_the_command_that_changed_code_is_no_check_of_it(command, checks):
    assert is_check(command)
    assert is_check(command, edited=True) == checks


@pytest.mark.parametrize(
    ("command", "brings"),
    [
        ("git checkout main", True),
        ("cd a && git pull", True),
        ("git apply a.diff", False),
        ("sed -i s/a/b/ x", False),
    ],
)
def test_what_version_control_brings_is_told_apart(command, brings):
    assert only_brings(command) == brings
