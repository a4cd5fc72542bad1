"""The first words of a command, as what a person may allow: "always for `pytest …`".

Only a command that is surely a single one has such words, and only one that is not dangerous. What runs what its
arguments name has none: `numactl …` would be everything. A grant covers later commands that begin with the same words
in the same directory, are read as a single plain one again, and have nothing new that leads elsewhere.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from tools.approval.commands import classify_command
from tools.approval.sensitive import why_sensitive_to_write
from tools.light_dataclass import dataclass

# Further words that make another command of it. "Always `pytest …`" is a yes to the tests of a directory, not to
# `pytest -p evil`: what is known to change only how much is shown, or what is left out, may come along; what names
# code, settings, another place or another server asks.

_SHORT = re.compile(r"-[AGHJ-NQSU-Zahi-nqsu-z]+\d*|-[jn]?\d+")
# Long ones with one dash, as go has them; and what pytest is to sum up.
_SHORT_WORDS = re.compile(r"-(?:run|race|short|bench|benchmem|cover|failfast|json|parallel|timeout|count)|-r[a-zA-Z]")
_LONG = re.compile(r"--[A-Za-z][\w-]*|--")
_STEERS = re.compile(
    r"config|settings|option|override|(?<!max)fil[er]|exec|eval|shell|script|cmd|command|runner|tool|wrapper|interpreter"
    r"|python|node|plugin|require|import|load|init|prefix|root|dir|path|cwd|project|manifest|template|hook|ssh|rc$"
    r"|registry|index|url|host|remote|proxy|endpoint|server|global|force|verify|unsafe|insecure|trust|allow|output|^--out"
    r"|env|user|reporter|formatter|transform|resolver|preset|extension|package|justfile|makefile|amend|delete|hard|with$"
    r"|source|publish|upload|push|define|property|sandbox|preload|entry|main"
)
_SETTING = re.compile(r"\w+=(.*)", re.DOTALL)
_SWITCH = re.compile(r"[\d.]*|yes|no|true|false|on|off", re.IGNORECASE)
_ADDRESS = re.compile(r"[\w+.-]+://|[\w.@-]+:[^:\s]")


def is_mild_option(word: str) -> bool:
    """Whether `word`, which begins with `-`, is an option without a value that only changes how a program does it."""
    if word.startswith("--"):
        return _LONG.fullmatch(word) is not None and not _STEERS.search(word)
    return _SHORT.fullmatch(word) is not None or _SHORT_WORDS.fullmatch(word) is not None


def is_address(word: str) -> bool:
    """Whether `word` is a page's address, or a file's on another machine; `a.py::test` and `fix: it` are none."""
    return _ADDRESS.match(word) is not None


def sets_something(word: str) -> bool:
    """Whether `word` gives a variable a value that is more than a switch: `CC=x`, but not `VERBOSE=1`."""
    found = _SETTING.fullmatch(word)
    return found is not None and not _SWITCH.fullmatch(found[1])


def is_switch(word: str) -> bool:
    """Whether `word` gives a variable a value that is a switch: `VERBOSE=1`."""
    return _SETTING.fullmatch(word) is not None and not sets_something(word)


# Where the paths lead that follow: a link below the directory may lead anywhere, and `cp a d` writes to whatever
# `d/a` leads to. So each path is resolved when a later command is looked at.

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


# The first words.

Words = tuple[str, ...]

_MAX_CHARS = 1_000
# Outside of quotes: no operator, no variable, no glob, no brace, no tilde, no line break.
_PLAIN = re.compile(r"[\w@%+=:,./ \t-]+")
_QUOTED = re.compile(r"""'[^']*'|"[^"]*\"""")
_NEVER_PLAIN = frozenset("\0$")
_PROGRAM = re.compile(r"[\w.][\w./+-]*")
_SUBCOMMAND = re.compile(r"[A-Za-z][\w:.-]*")
_SUBCOMMANDS: Mapping[str, int] = {
    **dict.fromkeys(
        (
            "git", "docker", "podman", "nerdctl", "kubectl", "helm", "terraform", "tofu", "npm", "pnpm", "yarn",
            "bun", "cargo", "go", "uv", "pip", "pip3", "poetry", "pdm", "hatch", "conda", "bundle", "gem", "composer",
            "mix", "dotnet", "dart", "rustup", "make", "gmake", "just", "task", "rake", "gradle", "gradlew", "mvn",
            "mvnw", "ninja", "brew", "apt", "apt-get", "dnf", "systemctl", "rails", "hg", "svn", "jj", "ant", "sbt",
            "gulp", "grunt", "invoke", "inv", "fab", "doit", "mage", "scons", "bazel", "nx", "turbo", "coverage",
            "zig",
        ),
        1,
    ),
    **dict.fromkeys(("gh", "glab", "aws", "gcloud", "az"), 2),
}  # fmt: skip
_TWO_LEVELS = frozenset({
    ("brew", "services"), ("bun", "run"), ("docker", "compose"), ("docker", "container"), ("docker", "image"),
    ("docker", "network"), ("docker", "system"), ("docker", "volume"), ("git", "bisect"), ("git", "config"),
    ("git", "remote"), ("git", "submodule"), ("git", "worktree"), ("go", "mod"), ("helm", "repo"),
    ("kubectl", "config"), ("kubectl", "rollout"), ("nerdctl", "compose"), ("npm", "config"), ("npm", "pkg"),
    ("npm", "run"), ("pnpm", "run"), ("podman", "compose"), ("poetry", "config"), ("poetry", "env"),
    ("terraform", "state"), ("terraform", "workspace"), ("uv", "pip"), ("uv", "tool"), ("yarn", "run"),
})  # fmt: skip
_COPIES = frozenset({("cp",), ("mv",), ("git", "mv")})
# Each further word that is no option is one more task.
_RUN_TASKS = frozenset({
    "make", "gmake", "just", "task", "rake", "gradle", "gradlew", "mvn", "mvnw", "ninja", "ant", "sbt", "gulp",
    "grunt", "invoke", "inv", "fab", "doit", "mage", "scons",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class CommandPrefix:
    """Commands that begin with `words` in `cwd`.

    Attributes:
        operands: the other words of the command that was asked about. What in a later one may lead to other code,
            settings or places has to be among them.
        only_looks: it was proved to change nothing, and so has to be a later one.
    """

    words: Words
    cwd: Path
    operands: Operands
    only_looks: bool = False

    @property
    def shown(self) -> str:
        """As a person reads it: `git log …`."""
        return f"{' '.join(self.words)} …"

    @property
    def copies(self) -> bool:
        """Whether it copies or moves: such commands are covered only inside the directory, with the same options."""
        return self.words in _COPIES

    def covers(self, command: str, cwd: Path) -> bool:
        """Whether `command` is one of them. Where its paths lead is looked up on disk."""
        words = plain_words(command, cwd)
        if real_path(cwd) != self.cwd or words is None or _first_words(words) != self.words:
            return False
        level = classify_command(command, cwd).level
        if level not in {"safe", "ordinary"} or (self.only_looks and level != "safe"):
            return False
        rest = words[len(self.words) :]
        if self.copies:
            return self.operands.are_copied_like(rest)
        # What is proved to only look cannot be led astray by an option.
        return self.only_looks or self.operands.resemble(rest)


def prefix_of(command: str, cwd: Path) -> CommandPrefix | None:
    """What "always for commands like this" would mean for `command`; None where it is not offered."""
    words = plain_words(command, cwd)
    first = _first_words(words) if words is not None else None
    if words is None or first is None:
        return None
    level = classify_command(command, cwd).level
    operands = Operands.of(words[len(first) :], cwd, are_tasks=_name_of(first) in _RUN_TASKS)
    if level not in {"safe", "ordinary"} or (first in _COPIES and not operands.are_copied_like(operands.words)):
        return None
    return CommandPrefix(first, real_path(cwd), operands, level == "safe")


@functools.lru_cache(maxsize=64)
def plain_words(command: str, cwd: Path) -> Words | None:
    """The words of a command that is surely a single one, with nothing that the shell would still work out.

    None for pipes, lists, background jobs, redirections, substitutions, variables, globs, assignments, and for what
    is read as more than the program that it begins with: wrappers, and options that hold commands.
    """
    from tools.approval.commands.bash.interpreter import read_command  # noqa: PLC0415 - as above

    text = command.strip()
    if len(text) > _MAX_CHARS or not _NEVER_PLAIN.isdisjoint(text) or not _PLAIN.fullmatch(_QUOTED.sub("Q", text)):
        return None
    reading = read_command(text, cwd)
    if reading.doubts or len(reading.invocations) != 1:
        return None
    [call] = reading.invocations
    is_bare = not (call.via or call.elsewhere or call.assignments or call.redirections or call.background)
    if not is_bare or call.adds_unknown or call.input.kind != "inherited" or not text.startswith(call.written):
        return None
    return (
        (call.written, *(one.text for one in call.arguments)) if all(one.is_known for one in call.arguments) else None
    )


def _first_words(words: Words) -> Words | None:
    """The program, with its subcommands where it has some; None where what follows them is what really runs."""
    from tools.approval.commands.bash.calls import runs_what_follows  # noqa: PLC0415 - as above
    from tools.approval.commands.bash.wrappers import WRAPPERS  # noqa: PLC0415 - as above
    from tools.approval.commands.scripts.inline import language_of  # noqa: PLC0415 - loaded with the first command

    name = _name_of(words)
    if not _PROGRAM.fullmatch(words[0]) or language_of(name) is not None:
        return None
    depth = 1 + _SUBCOMMANDS.get(name, 1 if name in WRAPPERS else 0)
    if (name, *words[1:2]) in _TWO_LEVELS:
        depth = 3
    first = words[:depth]
    if runs_what_follows((name, *first[1:])):
        return None
    return first if len(first) == depth and all(_SUBCOMMAND.fullmatch(word) for word in first[1:]) else None


def _name_of(words: Words) -> str:
    return words[0].rpartition("/")[2]
