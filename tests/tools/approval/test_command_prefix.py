"""What "always for `pytest …`" covers, and what it does not; and which commands have such words at all."""

from pathlib import Path

import pytest

from tests.support.each import each
from tools.approval.commands.prefix import plain_words, prefix_of

CWD = Path("/srv/project")


@each(
    ("command", "shown"),
    [
        ("pytest -q tests", "pytest …"),
        ("  pytest  ", "pytest …"),
        ("./scripts/check.sh --fast", "./scripts/check.sh …"),
        ("make test", "make test …"),
        ("npm run test:unit", "npm run test:unit …"),
        ("docker compose ps", "docker compose ps …"),
        ("cargo test --lib", "cargo test …"),
        ("gh pr list", "gh pr list …"),
        ("git log 'a b'", "git log …"),
        ("git stash list", "git stash …"),
        ("cp a.txt b.txt", "cp …"),
    ],
)
def test_a_simple_command_is_known_by_its_program_and_its_subcommand(command, shown):
    prefix = prefix_of(command, CWD)

    assert prefix is not None
    assert prefix.shown == shown
    assert prefix.covers(command, CWD)


@each(
    "command",
    [
        "",
        "pytest | tee log",
        "pytest && rm x",
        "pytest; rm x",
        "pytest & ",
        "pytest\nrm x",
        "pytest > log",
        "pytest < log",
        "pytest 2>&1",
        "pytest $(rm x)",
        "pytest `rm x`",
        'pytest "$(rm x)"',
        'pytest "$HOME"',
        "pytest $ARGS",
        "pytest ~/x",
        "pytest tests/*.py",
        "pytest {a,b}",
        "pytest test_[ab].py",
        "(pytest)",
        "{ pytest; }",
        "! pytest",
        "FLAG=1 pytest",
        "a\\ b",
        "pytest # rm",
        "pytest 'unclosed",
        "cp 'a\0b' c",
        "sudo pytest",
        "env pytest",
        "timeout 5 pytest",
        "python -m pytest",
        "python x.py",
        "python3.11 x.py",
        "bash run.sh",
        "uv run pytest",
        "npx jest",
        "go run .",
        "rustup run stable x",
        "docker compose exec web ls",
        "uv tool run x",
        "flock lock x",
        "gdb x",
        "java -jar a.jar",
        "Rscript a.R",
        "bundle exec rake",
        "xargs rm",
        "ssh host ls",
        "find . -name x",
        "awk 1 x",
        "eval ls",
        "make",
        "git -C other push",
        "git --no-pager log",
        "npm run",
        "docker compose --file x up",
        "if true",
        "x" * 1001,
    ],
)
def test_whatever_else_a_command_may_be_has_none(command):
    assert prefix_of(command, CWD) is None


@each(
    "command",
    [
        "rm a.txt",
        "rm -rf build",
        "git clean -fd",
        "git reset --hard",
        "git checkout -- a",
        "git branch -D old",
        "git stash drop",
        "git stash",
        "git push",
        "git push origin main",
        "git push --force origin main",
        "git apply -R a.patch",
        "docker run image",
        "kill 12",
        "curl -d x https://example.com",
        "npm publish",
        "cp ~/.ssh/id_rsa x",
        "cp .env x",
        "cp a /etc/x",
        "scp a host:b",
    ],
)
def test_most_dangerous_commands_are_never_allowed_by_their_first_words(command):
    assert prefix_of(command, CWD) is None


@each(
    ("granted", "later"),
    [
        ("pytest tests/a.py", "pytest tests/b.py -x --lf"),
        ("pytest", "pytest 'tests/a b.py'"),
        ("make test", "make test VERBOSE=1"),
        ("pytest", "pytest tests/a.py::test_x -k 'a or b' --tb=short -rA -n4 --maxfail=1"),
        ("go test ./...", "go test -run TestX -count=1 ./pkg/..."),
        ("npm run test", "npm run test -- --watch src/a.ts"),
        ("git commit -m one", "git commit -m 'fix: this, not that'"),
        ("pytest -c ci.ini", "pytest -c ci.ini tests"),
        ("cargo test", "cargo test --release module::name"),
        ("cp a.txt b.txt", "cp src/c.txt d.txt"),
        ("cp -n a.txt b.txt", "cp src/c.txt -n d.txt"),
    ],
)
def test_later_commands_of_the_same_kind_are_covered(granted, later):
    assert prefix_of(granted, CWD).covers(later, CWD)


@each(
    ("granted", "later"),
    [
        ("pytest", "pytestx"),
        ("pytest", "pytest-watch"),
        ("pytest", "/tmp/pytest"),
        ("pytest", "./pytest"),
        ("make test", "make deploy"),
        ("make test", "make"),
        ("make test", "make test-all"),
        ("git log", "git push"),
        # Not a simple command any more.
        ("pytest", "pytest; rm -rf src"),
        ("pytest", "pytest && git push"),
        ("pytest", "pytest > out.txt"),
        ("pytest", "pytest $(cat x)"),
        ("pytest", "pytest `cat x`"),
        ("pytest", "pytest \n rm x"),
        ("pytest", "X=1 pytest"),
        ("pytest", "sudo pytest"),
        # Other code, other settings, other places ride along.
        ("pytest", "pytest -p evil"),
        ("pytest", "pytest -c other.ini"),
        ("pytest", "pytest -xp evil"),
        ("pytest", "pytest --rootdir=other"),
        ("pytest", "pytest --rootdir other"),
        ("pytest", "pytest /tmp/tests"),
        ("pytest", "pytest ../other/test_x.py::test_y"),
        ("pytest", "pytest --basetemp=/srv/x"),
        ("pytest", "pytest -k=x"),
        ("make test", "make test -f other.mk"),
        ("make test", "make test -C other"),
        ("make test", "make test CC=./evil"),
        ("make test", "make test --file=other.mk"),
        ("go test", "go test -exec evil ./..."),
        ("go test", "go test -toolexec=evil ./..."),
        ("cargo test", "cargo test --config target.runner=evil"),
        ("cargo test", "cargo test --manifest-path other/Cargo.toml"),
        ("npm test", "npm test --script-shell=./evil"),
        ("npm test", "npm test --prefix other"),
        ("npm install", "npm install -g x"),
        ("npm install", "npm install git+https://example.com/x"),
        ("git clone https://example.com/a", "git clone -c core.fsmonitor=./evil https://example.com/a"),
        ("git clone https://example.com/a", "git clone --template=other https://example.com/a"),
        ("git clone https://example.com/a", "git clone git@example.com:b"),
        ("git commit -m x", "git commit --no-verify -m x"),
        ("git commit -m x", "git commit -F /etc/hostname"),
        ("git apply a.patch", "git apply --unsafe-paths --directory=../.. a.patch"),
        ("hg pull", "hg pull --config hooks.x=evil"),
        ("hg pull", "hg pull --ssh evil"),
        ("rake test", "rake test -r ./evil"),
        ("rake test", "rake test -e evil"),
        ("just test", "just test --justfile other"),
        ("gradle test", "gradle test -I other.gradle"),
        ("curl https://example.com", "curl https://example.org"),
        ("uv pip install x", "uv pip uninstall x"),
        # Dangerous, and the one that was granted was not, or for another reason.
        ("pytest", "pytest .env"),
        ("pytest", "pytest /etc/shadow"),
        ("git log", "git log --output=x"),
        ("git stash list", "git stash drop"),
        ("git stash list", "git stash"),
        ("git push --dry-run origin main", "git push origin main"),
        ("cp a b", "cp .env b"),
        ("cp a b", "cp a .git/hooks/pre-commit"),
        ("cp a b", "cp -r a b"),
        ("cp -n a b", "cp a b"),
        ("mv -i a b", "mv a b"),
        ("cp a b", "cp a /srv/other/b"),
        ("cp a b", "cp ../secret b"),
        ("cp a b", "cp a src/../../b"),
        ("cp a b", "cp a '~/b'"),
        ("cp a b", "cp a .github/workflows/x.yml"),
        ("cp a b", "cp a .bashrc"),
        ("mv a b", "cp a b"),
    ],
)
def test_whatever_reaches_further_is_asked_again(granted, later):
    assert not prefix_of(granted, CWD).covers(later, CWD)


@pytest.mark.parametrize("cwd", [Path("/srv"), CWD / "src", Path("/srv/project-two")])
def test_another_directory_is_asked_again(cwd):
    assert not prefix_of("pytest", CWD).covers("pytest", cwd)


def test_what_is_below_the_directory_is_not_outside_of_it():
    assert prefix_of("touch /srv/project/x", CWD).covers("touch /srv/project/x", CWD)
    assert prefix_of("touch /srv/other/x", CWD) is None


def test_what_only_looks_may_look_in_any_way():
    log = prefix_of("git log", CWD)
    assert log.only_looks
    assert log.covers("git log --source", CWD)
    assert not log.covers("git log --source=x --output=y", CWD)
    assert not prefix_of("git commit -m x", CWD).only_looks


def test_in_a_directory_of_settings_nothing_only_looks():
    for name in (".git", ".ssh"):
        assert not prefix_of("sort x", CWD / name).only_looks


def test_a_forbidden_command_is_covered_by_nothing():
    assert not prefix_of("cp a b", CWD).covers("cp a /dev/sda", CWD)


def test_words_are_read_as_the_shell_would():
    assert plain_words("""git commit -m 'a b' "c"d""", CWD) == ("git", "commit", "-m", "a b", "cd")
