"""The options of `rg` that are used here, read as `rg` reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

Task = Literal["--files", "--count", "--count-matches", "--files-with-matches", "--json"]
_TASKS: tuple[Task, ...] = ("--files", "--count", "--count-matches", "--files-with-matches", "--json")
_SWITCHES = frozenset({"--no-ignore", "--crlf", "--fixed-strings", "--ignore-case", "--text"}) | {
    "--multiline",
    "--multiline-dotall",
}
# They are so here in any case.
_GIVEN = frozenset(
    {"--no-config", "--no-ignore-messages", "--hidden", "--no-require-git", "--color=never", "--null"}
) | {"--with-filename", "--threads=1", "--engine=auto"}


class Options:
    """What is to be done, and where."""

    def __init__(self) -> None:
        self.task: Task = "--files"
        self.pattern = ""
        self.switches: set[str] = set()
        self.globs: list[str] = []
        self.kinds: list[str] = []
        self.context = 0
        self.max_bytes = 64 << 20
        self.paths: list[str] = []


def read(arguments: Sequence[str]) -> Options:
    """The options.

    Raises:
        ValueError: one of them is not known.
    """
    options = Options()
    rest = list(arguments)
    while rest and (word := rest.pop(0)) != "--":
        name, _, value = word.partition("=")
        if word in _SWITCHES:
            options.switches.add(word)
        elif word in _TASKS:
            options.task = word
        elif word == "--regexp":
            options.pattern = rest.pop(0)
        elif word == "--glob":
            options.globs.append(rest.pop(0))
        elif word == "--type":
            options.kinds.append(rest.pop(0))
        elif name == "--context":
            options.context = int(value)
        elif name == "--max-filesize":
            options.max_bytes = int(value.removesuffix("M")) << 20
        elif word not in _GIVEN:
            raise ValueError(f"unrecognized flag {word}")
    options.paths = rest
    return options
