"""Tells the model what its edit broke: what is wrong now and was not before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tools.context import ToolContext
from tools.diagnostics.port import Problem

_MOST = 5
_MAX_MESSAGE = 200


def new_problems(path: Path, before: str | None, after: str, ctx: ToolContext) -> str:
    """What is wrong with `after` that was not with `before` (None: no file), a line each; '' when nothing is.

    The syntax is looked at here; a language server is asked only about what can be parsed.

    Raises:
        ToolInterrupted: the turn was cancelled.
    """
    from tools.diagnostics.syntax import syntax_problems  # noqa: PLC0415 - parsers are for those who edit

    # Also before an edit that breaks the syntax: the one that mends it is compared with what was there before both.
    baseline = None if ctx.diagnostics is None else ctx.diagnostics.before(path, before)
    found = syntax_problems(path, after)
    if found:
        return told(new_of(found, after, syntax_problems(path, before or ""), before or ""))
    if ctx.diagnostics is None:
        return ""
    return told(ctx.diagnostics.after(path, after, baseline, ctx.interrupt))


def new_of(now: Sequence[Problem], text: str, earlier: Sequence[Problem], earlier_text: str) -> Sequence[Problem]:
    """The problems of `now` that `earlier` did not have; one that only moved to another line is not new."""
    known = Counter(_key(problem, earlier_text) for problem in earlier)
    new: list[Problem] = []
    for problem in now:
        key = _key(problem, text)
        if known[key]:
            known[key] -= 1
        else:
            new.append(problem)
    return new


def told(problems: Sequence[Problem]) -> str:
    """The problems for the model: errors first, a line each, the rest counted."""
    ordered = sorted(problems, key=lambda problem: (problem.severity != "error", problem.line, problem.column))
    lines = [
        f"line {problem.line}: {' '.join(problem.message.split())[:_MAX_MESSAGE]} ({problem.source})"
        for problem in ordered[:_MOST]
    ]
    if len(ordered) > _MOST:
        lines.append(f"and {len(ordered) - _MOST} more")
    return "\n".join(lines)


def _key(problem: Problem, text: str) -> tuple[str, str, str]:
    lines = text.split("\n")
    line = lines[problem.line - 1].strip() if problem.line <= len(lines) else ""
    return problem.source, problem.message, line
