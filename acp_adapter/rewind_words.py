"""A rewind in words for the person, and as data for programs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from agent_core.sessions.files.paths import shown_path
from agent_core.sessions.records import COMPACTED, RESET
from agent_core.sessions.rewind.rewinder import FileOutcome, RewindPlan, RewindReport

_MOST_TOLD = 30
_DONE = {
    "restore": "changed back",
    "create": "brought back",
    "delete": "removed",
    "chmod": "permissions changed back",
}


def told_of(report: RewindReport, plan: RewindPlan, cwd: Path) -> str:
    """How a rewind went, as Markdown: the turns first, then what became of each file."""
    count = len(plan.turns)
    turns = "The last turn was" if count == 1 else f"The last {count} turns were"
    lines = [f"{turns} {'taken back' if plan.kind == 'undo' else 'brought back'}."]
    if report.trouble:
        lines = [f"The files below were handled, but the conversation is as it was: {report.trouble}"]
    lines += [f"- «{turn.prompt}»" for turn in plan.turns if turn.prompt]
    for title, outcomes in (
        ("Files:", report.done),
        ("Left as they are:", report.kept),
        ("Not brought back:", report.failed),
    ):
        lines += _listed(title, outcomes, cwd)
    if plan.kind == "undo" and not report.trouble:
        lines += ["", f"{_what_is_seen(plan)} `/redo` brings it back."]
    return "\n".join(lines)


def _what_is_seen(plan: RewindPlan) -> str:
    outcomes = [turn.record.outcome for turn in plan.turns]
    if all(outcome == COMPACTED for outcome in outcomes):
        return "The model sees again what `/compact` had replaced by a summary."
    resets = [outcome for outcome in outcomes if outcome == RESET]
    if not resets:
        return "The model does not see it any more, and the editor only until it loads the session again."
    again = "The model sees again what was said before `/reset`"
    return f"{again}." if len(resets) == len(plan.turns) else f"{again}, and nothing of the other turns."


def plan_result(plan: RewindPlan) -> dict[str, Any]:
    """What a rewind would change."""
    return {
        "kind": plan.kind,
        "turns": [{"number": turn.record.number, "prompt": turn.prompt} for turn in plan.turns],
        "files": [
            {
                "path": str(step.path),
                "action": step.action,
                "state": step.state,
                "detail": step.reason,
                "diff": step.preview,
                "sizeNow": step.size_now,
                "sizeThen": step.size_then,
            }
            for step in plan.steps
        ],
    }


def report_result(report: RewindReport) -> dict[str, Any]:
    """What a rewind has changed."""
    return {
        "done": _outcomes(report.done),
        "already": _outcomes(report.already),
        "kept": _outcomes(report.kept),
        "failed": _outcomes(report.failed),
        "trouble": report.trouble,
    }


def _outcomes(outcomes: Sequence[FileOutcome]) -> list[dict[str, Any]]:
    return [{"path": str(each.path), "action": each.action, "detail": each.reason} for each in outcomes]


def _listed(title: str, outcomes: Sequence[FileOutcome], cwd: Path) -> Iterator[str]:
    if not outcomes:
        return
    yield from ("", title)
    for each in outcomes[:_MOST_TOLD]:
        path = os.path.relpath(each.path, cwd)
        what = each.reason or _DONE.get(each.action, "")
        yield f"- {_as_code(each.path if path.startswith('..') else Path(path))}{f': {what}' if what else ''}"
    if len(outcomes) > _MOST_TOLD:
        yield f"- … and {len(outcomes) - _MOST_TOLD} more"


def _as_code(path: Path) -> str:
    """A path in one line of Markdown, whatever its name holds."""
    name = shown_path(path)
    return f"`` {name.replace('``', '`')} ``" if "`" in name else f"`{name}`"
