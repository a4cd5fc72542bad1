"""The first words of a command, as what a person may allow: «always for `pytest …`».

Only a command that is surely a single one has such words. A grant covers later commands that begin with the same
words in the same directory, and that are no more dangerous than the one that was asked about.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from tools.approval.command_operands import Operands, real_path
from tools.approval.commands import classify_command
from tools.approval.dangers.repeatable import REMOTE, STASHES
from tools.changes.wrappers import bare_name
from tools.light_dataclass import dataclass

Words = tuple[str, ...]

_PROGRAM = re.compile(r"[\w.][\w./+-]*")
_SUBCOMMAND = re.compile(r"[A-Za-z][\w:.-]*")
# What they run is in their arguments, whatever they begin with.
_RUNS_ANYTHING = re.compile(
    r"(?:ba|z|da|k|fi|c|tc)?sh|(?:python|pypy|perl|ruby|node|php|lua|deno)[\d.]*|[gmn]?awk|eval|exec|source|\.|xargs"
    r"|parallel|find|fd|sudo|doas|su|env|ssh|watch|tmux|screen|script|osascript|npx|pnpx|bunx|uvx|trap"
    r"|ltrace|gdb|lldb|valgrind|perf|flock|taskset|entr|hyperfine|unbuffer|rlwrap|fakeroot|firejail|proxychains\d?"
    r"|xvfb-run|caffeinate|direnv|doppler|dotenv|nodemon|watchexec|wine|expect"
    r"|java|jshell|Rscript|R|julia|swift|elixir|ghc|runghc|groovy|kotlin|scala|tclsh|guile|clojure|clj|sbcl|octave|raku"
    r"|tsx|ts-node|pwsh"
    r"|if|then|elif|else|do|while|until|for|case|select|function|time|coproc"
)
_STARTS_ANYTHING = frozenset(
    (engine, verb) for engine in ("docker", "podman", "nerdctl", "kubectl", "oc") for verb in ("run", "exec", "debug")
) | {
    ("rustup", "run"), ("composer", "exec"), ("gem", "exec"), ("rails", "runner"), ("dart", "run"), ("mix", "run"),
    ("dotnet", "exec"), ("dotnet", "script"), ("go", "run"), ("go", "tool"), ("yarn", "node"), ("yarn", "exec"),
}  # fmt: skip
_RUNS_WHAT_FOLLOWS = frozenset(
    {("uv", "tool", "run")}
    | {(engine, "compose", verb) for engine in ("docker", "podman", "nerdctl") for verb in ("run", "exec")}
)
_SUBCOMMANDS: Mapping[str, int] = {
    **dict.fromkeys(
        (
            "git", "docker", "podman", "nerdctl", "kubectl", "helm", "terraform", "tofu", "npm", "pnpm", "yarn",
            "bun", "cargo", "go", "uv", "pip", "pip3", "poetry", "pdm", "hatch", "conda", "bundle", "gem", "composer",
            "mix", "dotnet", "dart", "rustup", "make", "gmake", "just", "task", "rake", "gradle", "gradlew", "mvn",
            "mvnw", "ninja", "brew", "apt", "apt-get", "dnf", "systemctl", "rails", "hg", "svn", "jj",
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
_REPEATABLE: Mapping[Words, str] = {
    ("git", "push"): REMOTE,
    ("git", "stash"): STASHES,
}
"""The dangerous commands of which all alike may be allowed, each with the one danger that it may have."""
_COPIES = frozenset({("cp",), ("mv",), ("git", "mv")})


@dataclass(frozen=True, slots=True)
class CommandPrefix:
    """Commands that begin with `words` in `cwd`.

    Attributes:
        dangers: what the command that was asked about is dangerous for; a later one may be so for nothing else.
        operands: its other words. Options, addresses and refspecs of a later dangerous command have to be among them;
            of any other, what may lead to other code, settings or places.
        only_looks: it was proven to change nothing, and so has to be a later one.
    """

    words: Words
    cwd: Path
    dangers: frozenset[str]
    operands: Operands
    only_looks: bool = False

    @property
    def shown(self) -> str:
        """As a person reads it: `git push …`."""
        return f"{' '.join(self.words)} …"

    def covers(self, command: str, cwd: Path) -> bool:
        """Whether `command` is one of them. Where its paths lead is looked up on disk."""
        from tools.approval.plain_words import plain_words  # noqa: PLC0415 - loaded with the first command

        words = plain_words(command)
        if real_path(cwd) != self.cwd or words is None or _first_words(words) != self.words:
            return False
        dangers = dangers_of(command, cwd)
        if not dangers <= self.dangers or (self.only_looks and not _only_looks(command, cwd)):
            return False
        rest = words[len(self.words) :]
        if dangers or self.words in _COPIES:
            return self.operands.cover(rest)
        # What is proved to only look cannot be led astray by an option.
        return self.only_looks or self.operands.resemble(rest)


def prefix_of(command: str, cwd: Path) -> CommandPrefix | None:
    """What «always for commands like this» would mean for `command`; None where that is not safe to offer."""
    from tools.approval.plain_words import plain_words  # noqa: PLC0415 - as above

    words = plain_words(command)
    first = _first_words(words) if words is not None else None
    if words is None or first is None:
        return None
    dangers = dangers_of(command, cwd)
    if dangers and dangers != {_REPEATABLE.get(first)}:
        return None
    only_looks = _only_looks(command, cwd)
    return CommandPrefix(
        first, real_path(cwd), dangers, Operands.of(words[len(first) :], cwd, copies=first in _COPIES), only_looks
    )


def dangers_of(command: str, cwd: Path | None = None) -> frozenset[str]:
    """Everything that `command` is dangerous for, not only the first; empty for an ordinary one."""
    return frozenset(finding.why for finding in classify_command(command, cwd).findings)


def _only_looks(command: str, cwd: Path) -> bool:
    return classify_command(command, cwd).level == "safe"


def _first_words(words: Words) -> Words | None:
    """The program, with its subcommands where it has some."""
    program, name = words[0], bare_name(words[0])
    if not _PROGRAM.fullmatch(program) or _RUNS_ANYTHING.fullmatch(name) or (name, *words[1:2]) in _STARTS_ANYTHING:
        return None
    depth = 1 + _SUBCOMMANDS.get(name, 0)
    if (name, *words[1:2]) in _TWO_LEVELS:
        depth = 3
    first = words[:depth]
    if (name, *first[1:]) in _RUNS_WHAT_FOLLOWS:
        return None
    return first if len(first) == depth and all(_SUBCOMMAND.fullmatch(word) for word in first[1:]) else None
