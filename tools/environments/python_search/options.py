"""The options of `rg` that are used here, read as `rg` reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
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


@dataclass(slots=True)
class Options:
    """What is to be done, and where."""

    task: Task = "--files"
    pattern: str = ""
    switches: set[str] = field(default_factory=set)
    globs: list[str] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    context: int = 0
    max_bytes: int = 64 << 20
    paths: list[str] = field(default_factory=list)


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
