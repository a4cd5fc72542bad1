"""What follows a command's first words: where the paths among it lead, as the disk has them.

A name says little: a link below the directory may lead anywhere, and `cp a d` writes to whatever `d/a` leads to. So
each path is resolved when a later command is looked at, and what is not sure to stay where it seems to be is asked
about again.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Self

from tools.approval.command_steering import is_address, is_mild_option, is_switch, sets_something
from tools.approval.sensitive import why_sensitive_to_write
from tools.light_dataclass import dataclass

# None that may name the directory that files go to in the same word, as `-tD` and `--target-directory=D` do.
_PLAIN_OPTION = re.compile(r"-t|-[A-Za-su-z]+|--[a-z-]+|--(?!t)[a-z-]+=[\w,]+")


@dataclass(frozen=True, slots=True)
class Operands:
    """What follows the first words of a command that a person has allowed, in its directory.

    Attributes:
        words: as they were.
        seen: each with the path that it led to then.
        are_tasks: what is no option names a task to run.
    """

    cwd: Path
    words: tuple[str, ...]
    seen: frozenset[tuple[str, Path]]
    are_tasks: bool = False

    @classmethod
    def of(cls, words: tuple[str, ...], cwd: Path, *, are_tasks: bool = False) -> Self:
        """The operands of a command that is asked about."""
        return cls(cwd, words, frozenset((word, real_path(cwd / word)) for word in words), are_tasks)

    def resemble(self, words: tuple[str, ...]) -> bool:
        """Whether a later command with these operands is one like it: nothing in them names other code or places."""
        return all((word, real_path(self.cwd / word)) in self.seen or self._is_alike(word) for word in words)

    def are_copied_like(self, words: tuple[str, ...]) -> bool:
        """Whether a later command copies or moves in the same way, with nothing but other names in the directory."""
        operands = [word for word in words if not word.startswith("-")]
        is_same_way = _options_of(words) == _options_of(self.words)
        return is_same_way and all(map(self._is_inside, operands)) and self._lands_where_it_says(words)

    def _is_inside(self, word: str) -> bool:
        """True for a plain name: no option, no address, no refspec, and as a path below `cwd` and not sensitive."""
        if not word or word[0] in "-+/~" or ":" in word or ".." in word.split("/"):
            return False
        real, root = real_path(self.cwd / word), real_path(self.cwd)
        if real != root and root not in real.parents:
            return False
        return not (why_sensitive_to_write(self.cwd / word) or why_sensitive_to_write(real))

    def _is_alike(self, word: str) -> bool:
        name, has_value, value = word.partition("=")
        if word.startswith("-"):
            return is_mild_option(name) and (not has_value or (len(name) > len("-x") and self._is_alike(value)))
        if self.are_tasks and not is_switch(word):
            return False
        if not word or is_address(word) or sets_something(word):
            return False
        return self._is_inside(word.partition("::")[0].replace(":", ""))

    def _lands_where_it_says(self, words: tuple[str, ...]) -> bool:
        """Whether no link changes where files go that are copied or moved into a directory."""
        options = [word for word in words if word.startswith("-")]
        names = [word for word in words if not word.startswith("-")]
        if not names or not all(_PLAIN_OPTION.fullmatch(option) for option in options):
            return False
        *sources, last = names
        # What is in a directory that goes as a whole may meet links of the same names.
        if any(_is_directory(self.cwd / source) for source in sources):
            return False
        target = self.cwd / last
        return not _is_directory(target) or all(_stays_in(target, source) for source in sources)


def _stays_in(directory: Path, source: str) -> bool:
    """Whether `source` comes to lie in `directory` itself, under its own name or with its directories."""
    real = real_path(directory)
    landings = (Path(source).name, source)
    return all(
        real_path(directory / landing) == real / landing and not why_sensitive_to_write(real / landing)
        for landing in landings
    )


def _options_of(words: tuple[str, ...]) -> list[str]:
    return sorted(word for word in words if word.startswith("-"))


def _is_directory(path: Path) -> bool:
    return os.path.isdir(path)  # noqa: PTH112 - no name is an error


def real_path(path: Path) -> Path:
    """Where `path` is, with its links resolved."""
    return Path(os.path.realpath(path))
