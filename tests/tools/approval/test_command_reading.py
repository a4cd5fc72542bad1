"""The texts that patterns are searched in: what a command would run stands at the beginning of one."""

from __future__ import annotations

from tests.support.each import each
from tools.approval.commands.bash.interpreter import read_command
from tools.approval.commands.classification import first_match, lines_of, outside_quotes, readings

REMOVING = "rm -rf x"


@each(
    "command",
    [
        "rm -rf x",
        "  rm -rf x  ",
        "ls; rm -rf x",
        "ls | rm -rf x",
        "ls && rm -rf x",
        "ls\nrm -rf x",
        "echo $(rm -rf x)",
        "(rm -rf x",
        "echo `rm -rf x",
        "{ rm -rf x",
        "if true; then rm -rf x",
        "/bin/rm -rf x",
        "./tools/rm -rf x",
        "A=1 rm -rf x",
        "A='b c' D=\"e f\" rm -rf x",
        # Disguised.
        "r\\\nm -rf x",
        "rm${IFS}-rf$IFS$9x",
        "\\rm -rf x",
        "r'm' -\"rf\" x",
        # Behind what only introduces it.
        "sudo rm -rf x",
        "sudo -n rm -rf x",
        "sudo -u name rm -rf x",
        "sudo -u rm -rf x",
        "sudo -- rm -rf x",
        "sudo env A=1 nice rm -rf x",
        "timeout 5 rm -rf x",
        "timeout -s 9 5 rm -rf x",
        "env --chdir=/tmp rm -rf x",
        "direnv exec . rm -rf x",
        "direnv exec --a=b . rm -rf x",
        "nix develop . with more words -- rm -rf x",
        "uv run --project other rm -rf x",
    ],
)
def test_what_a_command_may_run_begins_a_text(command):
    assert REMOVING in readings(command)


@each(
    "command",
    [
        "echo rm -rf x",
        "sudo echo rm -rf x",
        "sudo -u name echo say rm -rf x",
        "sudo -- echo rm -rf x",
        "env --chdir=/tmp echo rm -rf x",
        "direnv exec . echo rm -rf x",
        "command -v rm -rf x",
    ],
)
def test_what_is_only_said_begins_none(command):
    assert REMOVING not in readings(command)


def test_a_wrapper_without_a_command_hides_nothing_beside_it():
    texts = readings("sudo -u rm --")
    assert "rm --" in texts
    assert "eval" not in texts


@each(("words", "is_too_much"), [(39, False), (40, False), (41, True)])
def test_more_words_behind_a_wrapper_than_anybody_writes_ask_like_hidden_code(words, is_too_much):
    assert ("eval" in readings("sudo " + " ".join(["-x"] * words))) == is_too_much


def test_more_wrappers_than_anybody_writes_ask_like_hidden_code():
    assert "eval" in readings("sudo " * 60 + "ls")
    assert "eval" not in readings("sudo " * 20 + "ls")


def test_the_whole_text_begins_with_no_program_where_it_is_certain_what_is_quoted():
    assert readings("grep 'a|b'  c\nls") == ("; grep 'a|b'  c\n; ls", "; grep a|b  c\n; ls", "grep 'a", "b'  c", "ls",
                                             "grep a", "b  c", "grep Q  c")  # fmt: skip
    assert readings("grep 'a")[:2] == ("grep 'a", "grep a")


def test_quoted_text_is_blanked():
    assert outside_quotes("""echo 'a; rm' "b" c""") == "echo Q Q c"


@each("command", ["cat <<E", "ls # x", "echo $'a'", "echo `ls`", "echo $(ls)", "echo a\\ b", "it's", 'say "x'])
def test_what_is_quoted_is_not_always_certain(command):
    assert outside_quotes(command) is None


def test_a_command_that_was_read_is_searched_as_a_whole_and_program_by_program():
    command = "git commit -m 'one\n two  three' && ls"
    lines = lines_of(command, read_command(command, None))
    assert lines == ("; git commit -m 'one\n;  two  three' && ls", "git commit -m one  two  three", "ls")


def test_the_first_pattern_that_is_found_tells_why():
    patterns = (("^nothing", "no"), ("^RM ", "deletes"), ("^ls", "lists"))
    assert first_match(patterns, ("ls", "rm x")) == ("deletes",)
    assert first_match(patterns, ("echo",)) == ()
