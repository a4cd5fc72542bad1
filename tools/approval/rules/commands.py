"""Rules about commands: each program that a command may run is looked at, as the shell would start it.

A rule that allows covers a command only if each of its programs is covered, or is proven to be harmless, and nothing
is left that cannot be read. A rule that denies hits if a single one fits, also behind `sudo`, `env` or `sh -c`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from tools.approval.commands import classify_command
from tools.approval.harmless.proof import is_harmless
from tools.approval.rules.named import INTERPRETER, scripts_of
from tools.approval.rules.patterns import fits, may_fit
from tools.approval.rules.rule import PermissionRule
from tools.bash.reading import UNKNOWN, Argument, Invocation, Reading, Redirection

# They change nothing about what the program behind them does.
_SEE_THROUGH = frozenset({
    "env", "timeout", "time", "nice", "ionice", "stdbuf", "command", "builtin", "exec", "eval", "sh", "bash", "dash",
    "zsh", "xargs", "find",
})  # fmt: skip
_ALIAS = re.compile(r"(?:--config(?:-env)?=)?alias\.")
_NOWHERE = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "-"})
_MOST_SKIPPED = 200


def covers_command(rules: Sequence[PermissionRule], command: str, reading: Reading, roots: tuple[Path, ...]) -> bool:
    """Whether allowing rules of the kind `run` mean `command`.

    Args:
        reading: what the command was read as.
        roots: the session's directories with symbolic links resolved; elsewhere only the whole text of a rule counts.
    """
    text = command.strip()
    if any(rule.pattern == text for rule in rules):
        return True
    patterns = [rule.pattern for rule in rules if not rule.is_exact]
    if not patterns or reading.doubts or not reading.invocations:
        return False
    covered = [_is_covered(each, patterns, roots) for each in reading.invocations]
    return any(covered) and all(
        is_covered or is_harmless(each, classify_command, tuple(map(str, roots)))
        for is_covered, each in zip(covered, reading.invocations, strict=True)
    )


def denies_command(rule: PermissionRule, command: str, reading: Reading) -> bool:
    """Whether a denying rule of the kind `run` means `command`, or may mean it as far as can be known."""
    if may_fit(rule.pattern, " ".join(command.split())):
        return True
    if any(may_fit(rule.pattern, text) for each in reading.invocations for text in _spellings(each)):
        return True
    # A script may run what it spells out. Elsewhere such a text is only said or searched for.
    words = re.compile(r"\W+".join(map(re.escape, re.findall(r"\w+", rule.pattern))), re.IGNORECASE)
    return any(words.search(text) for each in reading.invocations for text in scripts_of(each) if words.pattern)


def may_rename(rule: PermissionRule, invocation: Invocation) -> bool:
    """Whether a program that `rule` denies is given a name of its own for something else: `git -c alias.p=push p`."""
    if not invocation.program or not may_fit(rule.pattern.split()[0], invocation.program):
        return False
    return any(_ALIAS.match(word) for word in _words(invocation))


def _is_covered(invocation: Invocation, patterns: Sequence[str], roots: tuple[Path, ...]) -> bool:
    if invocation.elsewhere or invocation.assignments or not _SEE_THROUGH.issuperset(invocation.via):
        return False
    if not all(map(_goes_nowhere, invocation.redirections)) or _is_fed(invocation):
        return False
    if not _is_inside(invocation.cwd, roots):
        return False
    # A program of another directory may be called like one that was meant.
    text = _joined(invocation.written, invocation)
    return any(fits(pattern, text) for pattern in patterns)


def _goes_nowhere(redirection: Redirection) -> bool:
    target = redirection.target
    return target.is_known and (
        target.text in _NOWHERE or (redirection.operator.endswith("&") and target.text.isdigit())
    )


def _is_fed(invocation: Invocation) -> bool:
    """Whether it runs what another program prints."""
    return invocation.input.kind in {"command", "unknown"} and INTERPRETER.fullmatch(invocation.program) is not None


def _is_inside(cwd: str | None, roots: tuple[Path, ...]) -> bool:
    if cwd is None:
        return False
    real = Path(os.path.realpath(cwd))
    return any(real == root or root in real.parents for root in roots)


def _spellings(invocation: Invocation) -> Iterator[str]:
    """The ways in which a person may have meant this program: by name or path, with its wrappers, without options."""
    if not invocation.written and not invocation.program:
        return
    for name in dict.fromkeys((invocation.program or UNKNOWN, invocation.written)):
        text = _joined(name, invocation)
        yield text
        for start in range(len(invocation.via)):
            yield " ".join((*invocation.via[start:], text))
        words = _words(invocation)
        # `git -C x push` is a push. How many words belong to the options before it nobody knows.
        for end in range(min(len(words), _MOST_SKIPPED)):
            skipped = words[:end]
            options = sum(word.startswith("-") for word in skipped)
            if words[0].startswith("-") and end - options <= options:
                yield " ".join((name, *words[end:]))
        if len(words) > _MOST_SKIPPED and words[0].startswith("-"):
            yield f"{name} {UNKNOWN}"


def _joined(name: str, invocation: Invocation) -> str:
    return " ".join((name, *_words(invocation), *([UNKNOWN] if invocation.adds_unknown else ())))


def _words(invocation: Invocation) -> list[str]:
    return [_word(argument) for argument in invocation.arguments]


def _word(argument: Argument) -> str:
    return UNKNOWN if argument.expands or argument.splits else argument.text
