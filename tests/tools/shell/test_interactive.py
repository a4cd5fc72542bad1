"""Programs that would wait for somebody to type are refused before they run, with what to use; no others are."""

from __future__ import annotations

from pathlib import Path

import pytest

import tools.terminal  # noqa: F401 - registers the tool
from tests.support import command_corpus
from tests.support.each import each
from tests.support.tool_context import call, error_of, make_context
from tools.shell.interactive import waits_for_input

WORK = Path("/work")

WAIT = [
    ("vim a.py", "patch"), ("vi", "patch"), ("cd src && vim a.py", "patch"), ("sudo nano /etc/hosts", "patch"),
    ("env TERM_PROGRAM=x vim a.py", "patch"), ("/usr/bin/vim a.py", "patch"), ("'vim' 'a b.py'", "patch"),
    ("emacs a.el", "patch"), ("nvim a.py", "patch"), ("bash -c 'vim a.py'", "patch"), ("vim -R a.py", "patch"),
    ("vim x", "patch"), ("less README.md", "read_file"), ("more a.txt", "read_file"),
    ("ls && less a.txt", "read_file"),
    ("top", "ps aux"), ("htop", "ps aux"), ("timeout 5 top", "ps aux"), ("tig", "git log"), ("lazygit", "git log"),
    ("python", "python -c"), ("python3", "python -c"), ("python3.12 -q", "python -c"),
    ("python -i a.py", "python -c"),
    ("cd app; python3", "python -c"), ("ipython", "ipython -c"), ("node", "node -e"), ("irb", "ruby -e"),
    ("uv run python", "python -c"), ("poetry run ipython", "ipython -c"), ("R", "Rscript"), ("iex", "elixir"),
    ("git rebase -i HEAD~3", "GIT_SEQUENCE_EDITOR"),
    ("git -C sub rebase --interactive main", "GIT_SEQUENCE_EDITOR"),
    ("git add -p", "git apply --cached"), ("git add --patch a.py", "git apply --cached"),
    ("git checkout -p", "git apply"), ("git stash -p", "git apply"), ("git commit", "git commit -m"),
    ("git commit -a", "git commit -m"), ("git commit --amend", "--no-edit"), ("git add . && git commit", "-m"),
    ("git tag -a v1", "git tag -a NAME -m"), ("git clean -i", "git clean -f"), ("git config --edit", "KEY VALUE"),
    ("git mergetool", "patch"), ("npm init", "-y"), ("yarn init", "-y"), ("poetry init", "-n"),
    ("npm login", "sign in"),
    ("ssh host", "ssh HOST 'command'"), ("ssh -p 22 me@host", "ssh HOST 'command'"), ("sftp host", "scp"),
    ("psql", "psql -c"), ("psql -U me shop", "psql -c"), ("mysql -u me shop", "mysql -e"),
    ("sqlite3 a.db", "sqlite3"),
    ("redis-cli", "redis-cli GET"), ("redis-cli -p 6380", "redis-cli GET"), ("mongosh", "--eval"),
    ("crontab -e", "crontab FILE"), ("kubectl edit pod a", "kubectl patch"), ("make menuconfig", "olddefconfig"),
    ("gh auth login", "sign in"), ("php -a", "php -r"), ("tmux attach", "capture-pane"),
    ("sudo visudo", "the user"),
]  # fmt: skip
RUN = [
    "mc ls s3/b", "hx --health", "k9s info", "node --v8-options", "git mergetool --tool-help", "atop -r f",
    "echo vim", "which vim", "command -v vim", "apt-get install -y vim", "git config core.editor vim",
    "vim --version",
    "vim -es -c '%s/a/b/' -c wq a.py", "vim -c wq a.py", "vim +qall", "emacs --batch -l a.el",
    "emacsclient -e '(x)'",
    "grep -rn less src", "less --version", "cat a.txt | less", "git log | less", "less a.txt | head -3", "man ls",
    "less a.txt > b.txt", "top -b -n 1", "top -bn1 | head", "python a.py", "python -c 'print(1)'",
    "python -m pytest",
    "python <<'E'\nprint(1)\nE", "echo 'print(1)' | python", "python - <<'E'\nx = 1\nE", "python3 < a.py",
    "python --version", "python -V", "python3 -m http.server", "python -uc 'print(1)'", "find . | xargs python",
    "node -e 'x'", "node app.js", "node --version", "echo x | node", "node <<< 'x'", "irb --version", "irb < a.rb",
    "GIT_SEQUENCE_EDITOR=true git rebase -i HEAD~2", "git rebase main", "git rebase --continue",
    "git rebase --abort",
    "GIT_EDITOR='sed -i 1d' git rebase -i HEAD~2", "export GIT_EDITOR=true; git commit --amend", "git add -A",
    "git -c core.editor=true commit --amend", "git commit -m x", "git commit -am 'a -p b'",
    "git commit --amend --no-edit",
    "git commit -F msg.txt", "git commit --message=x", "git commit --fixup=HEAD", "git commit -qm x",
    "git commit --help",
    "git add -- -p", "git tag", "git tag v1", "git tag -a v1 -m x", "git stash", "git checkout main",
    "git reset HEAD",
    "npm init -y", "npm install", "npm init vite@latest app", "yes | npm init", "npm run init", "cargo init",
    "git init",
    "ssh host ls", "ssh host 'vim a'", "ssh -T git@github.com", "ssh -N -L 1:h:2 host", "ssh -V",
    "psql -c 'select 1'",
    "psql -lqt", "psql shop < a.sql", "psql -tAc 'select 1' shop", "mysql -e 'select 1'", "mysql shop < dump.sql",
    "sqlite3 a.db 'select 1'", "sqlite3 a.db .dump", "echo .tables | sqlite3 a.db", "redis-cli -p 1 PING",
    "crontab -l", "crontab a.txt", "kubectl get pods", "make test", "make", "php a.php", "gh auth status",
    "aws s3 ls",
    "aws configure set a b", "docker exec -it c vim", "alias v=vim", "trap 'vim' EXIT", "f() { vim; }; ls",
    "cat > a.sh <<'E'\nvim x\nE", "vim $FILE", "$EDITOR a.py", "xargs vim < list", "tmux new -d", "tail -f a.log",
    'python "$SCRIPT"', "sed -i s/vim/vi/ a", "ls node", "brew info vim", "if [ -t 0 ]; then ls; fi",
]  # fmt: skip


@each(("command", "advice"), WAIT)
def test_a_program_that_would_wait_for_input_is_refused_with_what_to_use(command: str, advice: str) -> None:
    told = waits_for_input(command, WORK)
    assert "nobody can type here. Nothing was run." in told
    assert advice in told


@each("command", RUN)
def test_a_command_that_does_not_wait_for_input_runs(command: str) -> None:
    assert not waits_for_input(command, WORK)


def test_of_the_everyday_commands_of_the_corpus_only_a_pager_on_a_file_is_interactive() -> None:
    entries = (entry for entry in command_corpus.load() if entry.label in {"safe", "ordinary"})
    refused = {entry.command for entry in entries if waits_for_input(entry.command, WORK)}
    assert refused == {"less docs/rm-rf.md"}


@each(
    ("command", "background", "pty", "waits"),
    [
        ("vim a.py", True, True, False),
        ("vim a.py", True, False, True),
        ("vim a.py", False, True, True),
        ("python", True, True, False),
        ("python", True, False, False),
        ("python", False, True, True),
        ("git commit", True, True, False),
        ("git commit", True, False, True),
        ("man ls", False, True, True),
    ],
)
def test_what_the_model_itself_can_type_into_is_not_refused(
    command: str, background: bool, pty: bool, waits: bool
) -> None:
    assert bool(waits_for_input(command, WORK, background=background, pty=pty)) is waits


@pytest.mark.parametrize("mode", ["default", "dont_ask"])
def test_the_terminal_answers_at_once_and_asks_nobody(tmp_path: Path, mode: str) -> None:
    context = make_context(tmp_path, mode)  # type: ignore[arg-type]
    result = call(context, "terminal", command="cd src && vim a.py")
    assert result.failed
    assert error_of(result).startswith("terminal: `vim` waits for keys at a screen, and nobody can type here.")


def test_an_editor_that_the_shell_was_told_earlier_is_used():
    assert waits_for_input("git rebase -i HEAD~2", Path("/srv"), variables={"HOME"})
    assert waits_for_input("git rebase -i HEAD~2", Path("/srv"), variables={"GIT_EDITOR"}) == ""
