"""What exit codes mean."""

from tests.support.each import each
from tools.shell.exit_codes import explain_exit


@each(
    "command",
    [
        "grep foo file",
        "cd src && grep -rn 'a && b' .",
        "cat file | grep -i 'x;y'",
        "make; rg pattern",
        "echo start\ngrep x y",
        "LC_ALL=C /usr/bin/grep x y",
        "git grep thing",
        "diff a b",
        "git diff --exit-code",
        "test -f missing",
        "[ -f missing ]",
        "[[ a == b ]]",
        "time cmp a b",
    ],
)
def test_an_answer_of_no_is_not_a_failure(command):
    meaning = explain_exit(command, 1)

    assert not meaning.failed
    assert meaning.note.startswith("1 means")


@each(
    "command",
    [
        "make",
        "pytest && grep x y",
        "false || grep x y",
        "! grep x y",
        "grep x y; make",
        "grep x y | python count.py",
        "echo grep",
        "grep 'unbalanced",
        "",
        "FOO=1",
    ],
)
def test_where_another_program_may_have_failed_it_is_a_failure(command):
    assert explain_exit(command, 1).failed


@each(
    ("command", "code"),
    [
        ("terraform plan -detailed-exitcode", 2),
        ("git --no-pager -C sub diff --exit-code", 1),
        ("which nothing", 1),
        ("command -v nothing", 1),
        ("systemctl is-active x", 3),
        ("jq -e .a file", 1),
        ("command grep x y", 1),
    ],
)
def test_other_codes_are_answers_too(command, code):
    assert not explain_exit(command, code).failed


def test_two_of_grep_is_a_failure():
    assert explain_exit("grep x missing", 2).failed


def test_zero_is_success_without_a_note():
    assert explain_exit("anything", 0) == explain_exit("grep", 0)
    assert not explain_exit("anything", 0).note


@each(
    ("command", "code", "words"),
    [
        ("timeout 5 make", 124, "`timeout`"),
        ("./script", 126, "cannot be executed"),
        ("nosuch", 127, "not found"),
        ("x", 130, "SIGINT"),
        ("x", 137, "out of memory"),
        ("x", 139, "crashed"),
        ("x", 143, "SIGTERM"),
        ("curl -sS https://example.org", 6, "could not be resolved"),
        ("pytest tests", 5, "No tests"),
        ("uv run python3 -m pytest -q", 5, "No tests"),
        ("ssh host true", 255, "no connection"),
        ("x", 129, "SIGHUP"),
        ("x", 136, "division"),
    ],
)
def test_a_telling_code_gets_a_note(command, code, words):
    meaning = explain_exit(command, code)

    assert meaning.failed
    assert words in meaning.note
