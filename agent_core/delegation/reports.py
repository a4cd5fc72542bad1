"""What a parent's model is told of its sub-agents: no more than its share, with all of it in a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tools.context import AgentReport, ToolContext
from tools.environments.output import save_text

_LONGEST = 24_000
_LEAST = 1_000
_SHARE = 0.8
"""Of the room for one result, what the reports may take together: the rest is for what stands around them."""

_HEAD = 0.7

FileOf = Callable[[str], Path | None]


def bounded(report: AgentReport, reports: int, call: ToolContext, file_of: FileOf) -> AgentReport:
    """The report with as much of its summary as its share of the room allows.

    Args:
        reports: how many share the room of one result.
        file_of: where all of a summary may be saved, by the sub-agent's id.
    """
    room = min(_LONGEST, max(_LEAST, int(call.settings.max_result_chars * _SHARE) // reports))
    text = report.summary
    if len(text) <= room:
        return report
    file = file_of(report.agent)
    saved = None if file is None else save_text(text, file)
    head, tail = text[: int(room * _HEAD)], text[-int(room * (1 - _HEAD)) :]
    left_out = len(text) - len(head) - len(tail)
    where = "" if saved is None else f"; all of it is in {saved.path}"
    cut = f"{head}\n[… {left_out} characters left out here{where} …]\n{tail}"
    return replace(report, summary=cut, full=None if saved is None else saved.path)
