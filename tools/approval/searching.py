"""Commands that print what is in files which they do not name: searches below directories, and git."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import TYPE_CHECKING

from tools.light_dataclass import dataclass

if TYPE_CHECKING:
    from tools.bash.git_words import GitWords
    from tools.bash.reading import Invocation

_SEARCHERS = frozenset({"rg", "ag", "ack", "ugrep", "rgrep"})
_GREPS = frozenset({"grep", "egrep", "fgrep", "zgrep", "bzgrep", "xzgrep"})
# In a cluster of short options; long ones may be abbreviated.
_GOES_DOWN = re.compile(r"-[A-Za-z0-9]*[rR].*|--(?:r|de).*|-d.*|--di.*", re.DOTALL)
_SHOWS = frozenset({
    "diff", "show", "diff-tree", "diff-index", "diff-files", "range-diff", "grep", "cat-file", "archive",
    "format-patch", "difftool", "fast-export", "merge-tree",
})  # fmt: skip
_SHOWS_IF_ASKED = frozenset({"log", "whatchanged", "reflog", "stash", "request-pull"})
_ASKS_PIECE_BY_PIECE = frozenset({"add", "stage", "checkout", "commit", "reset", "restore"})
_PIECES = frozenset({"-p", "--patch", "-i", "--interactive"})
_SUMMARY = re.compile(
    r"-s|-q|--(?:no-patch|quiet|stat|shortstat|numstat|dirstat|summary|raw|name-only|name-status)(?:=.*)?"
)
_PATCH = re.compile(
    r"-[A-Za-z0-9]*[pucmWUL].*|--(?:pat|uni|cc|dd|rem|diff-m|fun|bin|word-d|color-w|che).*", re.DOTALL
)
_NAMED = re.compile(r"[\w./~^-]+:[^:/][^:]*")
_STAGED = re.compile(r"-\w*v\w*|--verb.*")
# A blob that is named by its id is printed whatever paths are named.
_PRINTS_BLOBS = frozenset({"show", "grep", "cat-file"})
_ID = re.compile(r"[0-9a-f]{4,64}")


@dataclass(frozen=True, slots=True)
class GitLook:
    """A command of git that looks at what it has.

    Attributes:
        directory: where it runs; None: that is not known.
        only: the paths that it is held to, as git reads them; none: all of the repository.
        shows: it may print what is in files that it does not name.
    """

    directory: Path | None
    only: tuple[str, ...]
    shows: bool


@functools.lru_cache(maxsize=256)
def looks_of_git(command: str, cwd: Path) -> tuple[GitLook, ...]:
    """What git is made to look at by `command`."""
    if "git" not in command:
        return ()
    from tools.bash.git_words import git_words, sets_git_up  # noqa: PLC0415 - as below
    from tools.bash.read import read_command  # noqa: PLC0415

    try:
        invocations = read_command(command, cwd).invocations
    except RecursionError:
        return (GitLook(None, (), shows=True),)
    is_elsewhere = sets_git_up(command)
    return tuple(_look(git_words(each), each, is_elsewhere) for each in invocations if each.program == "git")


def _look(words: GitWords, call: Invocation, is_elsewhere: bool) -> GitLook:
    if words.command is None:
        return GitLook(words.folder, (), shows=False)
    if not words.command.is_known:
        return GitLook(None, (), shows=True)
    texts = [argument.text if argument.is_known else None for argument in words.rest]
    given = ["-p" if text is None else text for text in texts]  # it may be that
    begin = given.index("--") if "--" in given else len(given)
    before, only = given[:begin], given[begin + 1 :]
    is_whole = (
        None in texts
        or call.adds_unknown
        or "--full-diff" in before
        or (words.command.text in _PRINTS_BLOBS and any(map(_ID.fullmatch, before)))
        or any(name.endswith("-pathspecs") for name, _ in words.options)
    )
    shows = _shows([words.command.text, *before])
    return GitLook(None if is_elsewhere else words.folder, () if is_whole else tuple(only), shows)


def _shows(words: list[str]) -> bool:
    """Whether these words after `git` may make it print what is in files that they do not name."""
    subcommand, *rest = words
    asks = any(map(_PATCH.fullmatch, rest))
    if subcommand in _SHOWS_IF_ASKED:
        return asks
    if subcommand == "status" or (subcommand == "commit" and "--dry-run" in rest):
        return any(map(_STAGED.fullmatch, rest))
    if subcommand in _ASKS_PIECE_BY_PIECE:
        return not _PIECES.isdisjoint(rest)
    operands = [word for word in rest if not word.startswith("-")]
    is_named = subcommand in {"show", "cat-file"} and bool(operands) and all(map(_NAMED.fullmatch, operands))
    is_plain = is_named or "--no-index" in rest or (not asks and any(map(_SUMMARY.fullmatch, rest)))
    return subcommand in _SHOWS and not is_plain


@functools.lru_cache(maxsize=256)
def searches_below(command: str, cwd: Path) -> bool:
    """Whether one of the programs that `command` runs prints lines of files that the command does not name.

    True as well where it is not sure which options a program gets.
    """
    from tools.bash.read import read_command  # noqa: PLC0415 - much to load, and a start needs none of it

    for each in read_command(command, cwd).invocations:
        texts = [argument.text if argument.is_known else "-r" for argument in each.arguments]
        if each.program in _SEARCHERS or (each.program == "git" and "grep" in texts):
            return True
        may_go_down = each.adds_unknown or any(map(_GOES_DOWN.fullmatch, texts))
        if (each.program in _GREPS or each.program == "diff") and may_go_down:
            return True
    return False
