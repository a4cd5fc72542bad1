"""The findings for programs: one JSON object, whose form `docs/doctor.md` promises."""

from __future__ import annotations

import json
from collections.abc import Sequence

from acp_adapter import __version__
from acp_adapter.cli.doctor.finding import Finding, State
from acp_adapter.cli.doctor.mending.mended import Mended

FORMAT = 1
_STATES: tuple[State, ...] = ("ok", "warn", "fail")


def as_json(
    home: str, findings: Sequence[Finding], left_out: Sequence[str] = (), mended: Sequence[Mended] = ()
) -> str:
    """All of it, indented."""
    counts = {state: sum(1 for each in findings if each.state == state) for state in _STATES}
    value = {
        "format": FORMAT,
        "version": __version__,
        "home": home,
        "state": next((state for state in reversed(_STATES) if counts[state]), "ok"),
        "counts": counts,
        "left_out": list(left_out),
        "mended": [{"check": each.check, "done": each.done, "text": each.text} for each in mended],
        "findings": [
            {
                "check": each.check,
                "state": each.state,
                "text": each.text,
                "fix": each.fix,
                "mends": each.mends,
                "facts": dict(each.facts),
            }
            for each in findings
        ],
    }
    return json.dumps(value, indent=2, ensure_ascii=False)
