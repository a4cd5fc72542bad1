"""The first words of a command, as what a person may allow: "always for `pytest …`".

Only a command that is surely a single one has such words, and only one that is not dangerous. What runs what its
arguments name has none: `numactl …` would be everything. A grant covers later commands that begin with the same words
in the same directory, are read as a single plain one again, and have nothing new that leads elsewhere.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from pathlib import Path

from tools.approval.command_operands import Operands, real_path
from tools.approval.commands import classify_command
from tools.light_dataclass import dataclass

Words = tuple[str, ...]

_MAX_CHARS = 1_000
# Outside of quotes: no operator, no variable, no glob, no brace, no tilde, no line break.
_PLAIN = re.compile(r"[\w@%+=:,./ \t-]+")
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
    from tools.approval.command_reading import outside_quotes  # noqa: PLC0415 - loaded with the first command
    from tools.bash.read import read_command  # noqa: PLC0415 - as above

    text = command.strip()
    blanked = outside_quotes(text) if len(text) <= _MAX_CHARS else None
    if blanked is None or not _NEVER_PLAIN.isdisjoint(text) or not _PLAIN.fullmatch(blanked):
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
    from tools.approval.dangers.inline import language_of  # noqa: PLC0415 - loaded with the first command
    from tools.bash.calls import runs_what_follows  # noqa: PLC0415 - as above
    from tools.bash.wrappers import WRAPPERS  # noqa: PLC0415 - as above

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
