"""How a check came out: by its exit status, by that of each part of a pipe, and by what test runners print."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from agent_core.verifying.commands import is_check
from tools.light_dataclass import dataclass
from tools.result import ShownOutput, ShownText, ToolResult

_TAIL = 20_000
_LONGEST = 160
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_FINE = frozenset({0, 141})
"""141: the next part of the pipe wanted no more, as `head` does."""
_NOTHING_COLLECTED = 5
_PIPE = re.compile(r"(?<!\|)\|&?(?!\|)")

# Lines by which the well-known runners say that something failed, whatever the exit status is.
_FAILURES = re.compile(
    r"""^[ \t]*(?:
      =+[ ](?:[^=\n]*,[ ])?\d+[ ](?:failed|errors?)\b[^=\n]*=+[ \t]*$                # pytest
    | \d+[ ](?:failed|errors?)(?:,[ ]\d+[ ]\w+)*[ ]in[ ][\d.]+\ ?m?s\b.*$              # pytest -q
    | (?:FAILED|ERROR)[ ]\S+\.py(?:::\S+|\b).*$                                      # pytest's short summary
    | FAILED[ ]\((?:failures|errors)=.*$                                             # unittest
    | Tests?:?[ \t]+(?:[^\n]*\D)??[1-9]\d*[ ]failed\b.*$                             # jest, vitest
    | [1-9]\d*[ ]failing$                                                            # mocha
    | (?:[#ℹ][ ])fail[ ][1-9]\d*$                                                    # node --test, TAP
    | not[ ]ok[ ]\d+\b.*$                                                            # TAP
    | test[ ]result:[ ]FAILED.*$                                                      # cargo test
    | error(?:\[E\d+\])?:[ ].*$                                                      # rustc, cargo
    | ---[ ]FAIL:.*$ | FAIL(?:[ \t]+\S.*)?$                                          # go test
    | \S+:\d+:\d+:[ ](?:fatal[ ])?error:[ ].*$                                        # gcc, clang
    | \S+\(\d+,\d+\):[ ]error[ ]\w+\d+:.*$ | \S+[ ]-[ ]error[ ]TS\d+:.*$             # tsc, msbuild
    | \S+\.pyi?:\d+:(?:\d+:)?[ ]error:[ ].*$                                         # mypy
    | Found[ ][1-9]\d*[ ]errors?(?:[ ]in[ ].*|\.?)$                                   # mypy, ruff, tsc
    | ✖[ ]\d+[ ]problems?[ ]\([1-9]\d*[ ]errors?\b.*$                                # eslint
    | g?make(?:\[\d+\])?:[ ]\*\*\*[ ].*$                                              # make
    | \d+[ ](?:examples?|runs|tests),[ ](?:.*[ ])?[1-9]\d*[ ](?:failures?|errors?)\b.*$ # rspec, minitest
    | FAILURES!$ | BUILD[ ](?:FAILURE|FAILED)\b.*$                                    # phpunit, maven, gradle
    | Failed![ ]+-[ ]Failed:.*$                                                       # dotnet
    | \d+%[ ]tests[ ]passed,[ ][1-9]\d*[ ]tests?[ ]failed.*$                          # ctest
    | npm[ ](?:ERR!|error)[ ].*$
    )""",
    re.MULTILINE | re.VERBOSE,
)


_EXPECTED = re.compile(r"\(ignored\)$|#\s*(?:TODO|SKIP)\b", re.IGNORECASE)
# Lines by which they say that all is well.
_PASSES = re.compile(
    r"""^[ \t]*(?:
      =+[ ](?:[^=\n]*,[ ])?\d+[ ]passed\b[^=\n]*=+[ \t]*$
    | \d+[ ]passed(?:,[ ]\d+[ ]\w+)*[ ]in[ ][\d.]+.*$                                # pytest
    | OK(?:[ ]\(.*\))?$ | Tests?:?[ \t]+[^\n]*\d+[ ]passed\b.*$                          # unittest, jest
    | (?:[#ℹ][ ])fail[ ]0$                                                            # TAP
    | test[ ]result:[ ]ok\b.*$ | (?:ok|PASS)(?:[ \t]+\S.*)?$ | \d+[ ]passing\b.*$        # cargo, go, mocha
    )""",
    re.MULTILINE | re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """Whether a check passed, and by what its failure is seen, '' for none. Neither: nothing was checked."""

    passed: bool
    failure: str = ""


def outcome_of(result: ToolResult) -> CheckOutcome:
    """How the check came out whose call, or a later look at it, has this result.

    What still runs, or was ended because it took long, has shown that it runs: that counts as passed.
    """
    facts, output = result.facts, _output(result)
    command, code = str(facts.get("command", "")), facts.get("exit_code")
    if facts.get("timed_out") or (code is None and not _signal(result)):
        return CheckOutcome(passed=True)
    if code == _NOTHING_COLLECTED and "pytest" in command:
        return CheckOutcome(passed=False)
    if seen := _seen_in(output, fine=code == 0):
        return CheckOutcome(passed=False, failure=f"its output says `{seen}`")
    if code is None:
        return CheckOutcome(passed=False, failure=f"it was ended by {_signal(result)}")
    if code != 0 and _is_failure(result, command, code):
        return CheckOutcome(passed=False, failure=f"it ended with exit code {code}")
    status = _failing_part(command, facts.get("pipe_statuses"))
    if status:
        return CheckOutcome(passed=False, failure=f"it ended with exit code {status} before the pipe")
    return CheckOutcome(passed=True)


def _output(result: ToolResult) -> str:
    parts = (
        shown.output if isinstance(shown, ShownOutput) else shown.text
        for shown in result.shown
        if isinstance(shown, ShownOutput | ShownText)
    )
    return "\n".join(parts)[-_TAIL:].replace("\r\n", "\n")


def _signal(result: ToolResult) -> str:
    return next((shown.signal or "" for shown in result.shown if isinstance(shown, ShownOutput)), "")


def _seen_in(output: str, *, fine: bool) -> str:
    """The last line of the output that says that something failed; '' for none.

    Args:
        fine: the exit code says that all is well: then the last summary counts, not a text before it.
    """
    text = _COLOURS.sub("", output)
    passed = max((match.start() for match in _PASSES.finditer(text)), default=-1) if fine else -1
    found = ""
    for match in _FAILURES.finditer(text):
        if match.start() >= passed and not (fine and _EXPECTED.search(match[0].strip())):
            found = match[0].strip()
    return found if len(found) <= _LONGEST else f"{found[:_LONGEST]}…"


def _is_failure(result: ToolResult, command: str, code: int) -> bool:
    """Whether the exit code tells of a failure: `grep` behind a pipe has an answer of its own."""
    from tools.shell.exit_codes import explain_exit  # noqa: PLC0415 - most checks pass

    return result.failed or explain_exit(command, code).failed


def _failing_part(command: str, statuses: object) -> int:
    """The status of the check in a pipe, where it is one of failure; 0 otherwise."""
    if not isinstance(statuses, Sequence) or not all(isinstance(each, int) for each in statuses):
        return 0
    parts = _PIPE.split(_without_quotes(command))[-len(statuses) :]
    checks = [
        status
        for part, status in zip(parts, statuses, strict=False)
        if len(parts) == len(statuses) and is_check(part.strip())
    ]
    return next((status for status in checks or statuses[:1] if status not in _FINE), 0)


def _without_quotes(command: str) -> str:
    """The command with its quoted texts emptied, so that a `|` in them is none."""
    try:
        lexer = shlex.shlex(command, posix=False, punctuation_chars="|&;\n")
        lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t\r", True, ""
        return " ".join("''" if word[:1] in {"'", '"'} else word for word in lexer)
    except ValueError:
        return command
