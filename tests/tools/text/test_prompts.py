"""What asks for input, and what only looks a little like it."""

import pytest

from tests.support.each import each
from tools.text.terminal_output import open_line, question, takes_the_screen


@each(
    "tail",
    [
        "Proceed? [y/N] ",
        "Do you want to continue? [Y/n]",
        "Are you sure (yes/no)? ",
        "Are you sure you want to continue connecting (yes/no/[fingerprint])? ",
        "Is this OK? (yes) ",
        "Need to install the following packages:\nOk to proceed? (y) ",
        "replace a.txt? [y]es, [n]o, [A]ll, [N]one, [r]ename: ",
        "overwrite 'b'? ",
        "rm: remove regular file 'x'? ",
        "Password: ",
        "[sudo] password for ann: ",
        "ann@host's password: ",
        "Enter passphrase for key '/home/ann/.ssh/id_ed25519': ",
        "Username for 'https://git.example': ",
        "Press any key to continue . . . ",
        "Press RETURN to continue or any other key to abort",
        ">>> ",
        "... ",
        "(Pdb) ",
        "ipdb> ",
        "In [1]: ",
        "mysql> ",
        "shop=# ",
        "log line\n:",
        "last line (END)",
        "--More--(12%)",
        "? Pick one › - Use arrow-keys. Return to submit.",
        "\x1b[1mContinue?\x1b[0m [y/N] ",
    ],
)
def test_a_question_is_one(tail):
    assert question(f"earlier output\n{tail}")


@each(
    "tail",
    [
        "",
        "Proceed? [y/N]\n",
        "Password:\n",
        "Downloading 50%",
        "Compiling foo:",
        "Loading...",
        "tests/test_a.py ....",
        "password: hunter2",
        "Continue reading the manual",
        "[1/20] Building",
        "what is this?",
        "$ ",
        "> ",
        "error: expected one of",
    ],
)
def test_other_text_is_none(tail):
    assert question(f"earlier output\n{tail}") == ""


def test_the_line_is_told_as_a_person_sees_it():
    assert open_line("a\n\x1b[1m  Sure?\x1b[0m ") == "Sure?"
    assert open_line("a\n") == ""
    assert len(open_line("x" * 5000)) == 200


def test_the_screen_is_taken_and_given_back():
    assert takes_the_screen("\x1b[?1049h", was=False)
    assert not takes_the_screen("\x1b[?1049hmenu\x1b[?1049l", was=False)
    assert takes_the_screen("more", was=True)
    assert not takes_the_screen("more", was=False)


@pytest.mark.timeout(5)
@pytest.mark.parametrize("piece", ["(y", "? ", "password ", "continue ", "[", "press any key ", "x"])
def test_hostile_output_takes_no_unreasonable_time(piece):
    question((piece * 1000)[-1000:])
