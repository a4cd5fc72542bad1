"""How a command of git is written: git's own options, then the command, then what is the command's."""

from __future__ import annotations

import re
from pathlib import Path

from tools.bash.reading import Argument, Invocation
from tools.light_dataclass import dataclass

_TAKES_NEXT = frozenset({
    "-c", "-C", "--git-dir", "--work-tree", "--namespace", "--config-env", "--super-prefix", "--attr-source",
})  # fmt: skip
_OF_ANOTHER = frozenset({"--git-dir", "--work-tree", "--namespace", "--bare"})
_VARIABLES = re.compile(r"GIT_(?:DIR|WORK_TREE|COMMON_DIR|INDEX_FILE|NAMESPACE|\w+_PATHSPECS)")


@dataclass(frozen=True, slots=True)
class GitWords:
    """The words of a command of git.

    Attributes:
        options: of git itself, each with its value, which is an empty text for those without.
        command: None where there is none.
        rest: the command's arguments.
        folder: where it runs; None where nobody knows, or where it is told to use another repository than that there.
    """

    options: tuple[tuple[str, Argument], ...]
    command: Argument | None
    rest: tuple[Argument, ...]
    folder: Path | None


def git_words(call: Invocation) -> GitWords:
    """The words of `call`, a command of git."""
    options: list[tuple[str, Argument]] = []
    folder = None if call.cwd is None else Path(call.cwd)
    command, rest = None, iter(call.arguments)
    for argument in rest:
        if not argument.text.startswith("-"):
            command = argument
            break
        name, equals, value = argument.text.partition("=")
        given = next(rest, argument) if name in _TAKES_NEXT and not equals else Argument(value)
        options.append((name, given))
        if name == "-C" and folder is not None:
            folder = folder / given.text if given.is_known else None
        elif name in _OF_ANOTHER or not argument.is_known:
            folder = None
    return GitWords(tuple(options), command, tuple(rest), folder)


def sets_git_up(command: str) -> bool:
    """Whether the text of a command sets variables that lead git to another repository or change what paths mean."""
    return _VARIABLES.search(command) is not None
