"""Which commands print lines of files that they do not name."""

from pathlib import Path

from tests.support.each import each
from tools.approval.searching import searches_below

_CWD = Path("/srv/project")


@each(
    "command",
    [
        "grep -r '' .",
        "g'rep' -inR x",
        "cd src && grep --recursive x | head",
        "grep -d recurse x .",
        "rg x",
        "git grep ''",
        "git -C sub grep x",
        "diff -r a b",
        "find . -type f | xargs grep x",
        "find . -exec grep x {} +",
        'sh -c "grep -r x ."',
        "grep $OPTIONS x .",
    ],
)
def test_it_searches_below_directories(command: str) -> None:
    assert searches_below(command, _CWD)


@each(
    "command",
    [
        "ls -R",
        "grep -n x main.py",
        "git log --grep=x",
        "cat main.py | grep x",
        "echo grep -r",
        "diff -u a b",
        "find .",
    ],
)
def test_it_reads_what_it_names(command: str) -> None:
    assert not searches_below(command, _CWD)
