"""Which commands print what is in files that they do not name."""

from pathlib import Path

from tests.support.each import each
from tools.approval.sensitive import looks_of_git, searches_below

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


@each(
    "command",
    [
        "git diff",
        "git -C sub --no-pager diff --cached",
        "git log -p",
        "git log -1u",
        "git log --stat --patch",
        "git log -L1,5:main.py",
        "git log -U3",
        "git log --unif=3",
        "git log $OPTIONS",
        "git reflog -p",
        "git stash show -p",
        "git stash list --cc",
        "git show",
        "git show --stat -p",
        "git show :/message",
        "git show 'HEAD@{10:00}'",
        "git show HEAD:main.py HEAD",
        "git cat-file -p 1a2b3c4",
        "git status -v",
        "git grep -n x HEAD",
        "git diff-tree -p HEAD",
        "git -c x.y=1 range-diff a b c",
        "sh -c 'cd sub && git diff'",
        "ls | xargs git diff",
        "git --attr-source HEAD log -p",
        "git --no-pager --namespace x log -p",
        "git fast-export HEAD",
        "git merge-tree a b c",
        "git request-pull -p a .",
        "git log --check",
        "git commit --dry-run -v",
        "git reset -p",
        "git add --patch",
        "git checkout -p main",
        "git $X",
    ],
)
def test_git_may_print_what_is_in_files_that_are_not_named(command: str) -> None:
    assert any(look.shows for look in looks_of_git(command, _CWD))


@each(
    "command",
    [
        "git status -sb",
        "git log --oneline --graph --all -n 5",
        "git log --stat --since=1.week --author=me --pretty=format:%h",
        "git diff --stat",
        "git show --name-only HEAD",
        "git show HEAD:main.py",
        "git cat-file -p HEAD~2:src/main.py",
        "git stash list",
        "git diff --no-index a b",
        "git branch -v",
        "git blame main.py",
        "git ls-files",
        "echo git diff",
        "ls",
        "git commit -v -m x",
        "git commit -m update",
        "git commit --dry-run",
        "git add -u",
        "git checkout -q main",
        "git request-pull a .",
        "git --attr-source HEAD log",
    ],
)
def test_git_prints_nothing_of_files_that_are_not_named(command: str) -> None:
    assert not any(look.shows for look in looks_of_git(command, _CWD))


@each(
    ("command", "directory", "only"),
    [
        ("git diff", _CWD, ()),
        ("git diff HEAD -- src ':!x'", _CWD, ("src", ":!x")),
        ("git -C a -C b diff", _CWD / "a/b", ()),
        ("cd sub; git diff -- .", _CWD / "sub", (".",)),
        ("git diff -- $X", _CWD, ()),
        ("git diff --", _CWD, ()),
        ("git -C $X diff", None, ()),
        ("git --git-dir=../x/.git diff", None, ()),
        ("git --work-tree .. diff", None, ()),
        ("GIT_DIR=../x/.git git diff", None, ()),
        ("export GIT_DIR=../x/.git; git diff", None, ()),
        ("git --attr-source HEAD diff -- src", _CWD, ("src",)),
        ("git --icase-pathspecs diff -- SRC", _CWD, ()),
        ("git log -p --full-diff -- src", _CWD, ()),
        ("git show 14f057524f -- src", _CWD, ()),
        ("git grep KEY 14f0 -- src", _CWD, ()),
        ("git log -p -n 1000 -- src", _CWD, ("src",)),
        ("ls | xargs git diff -- a", _CWD, ()),
    ],
)
def test_where_git_looks_and_at_which_paths(command: str, directory: Path | None, only: tuple[str, ...]) -> None:
    [look] = looks_of_git(command, _CWD)
    assert (look.directory, look.only) == (directory, only)
