"""The findings for people: a line each, with what to do below it, and one that sums them up."""

from __future__ import annotations

from collections.abc import Sequence

from acp_adapter.cli.doctor.finding import Finding, State
from acp_adapter.cli.terminal.columns import wrapped
from acp_adapter.cli.terminal.safe_text import safe_text
from acp_adapter.cli.terminal.style import Colour, Sign, Style

_NAMES = 12
_LEAST_WIDTH = 40
_ASCII = str.maketrans({"«": '"', "»": '"', "…": "...", "→": "->", "–": "-"})
_SIGNS: dict[State, Sign] = {"ok": "completed", "fail": "failed"}
_COLOURS: dict[State, Colour] = {"ok": "green", "warn": "yellow", "fail": "red"}


def finding_lines(finding: Finding, style: Style) -> list[str]:
    """A finding as it is shown."""
    sign = style.sign(_SIGNS[finding.state]) if finding.state in _SIGNS else "!"
    head = f"{sign} {finding.check:<{_NAMES}} "
    indent = " " * len(head)
    first, *rest = _wrapped(finding.text, style, head, indent)
    painted = style.paint(sign, _COLOURS[finding.state], "bold") + first[len(sign) :]
    lines = [painted, *rest]
    if finding.fix:
        arrow = f"{indent}{style.sign('answer')} "
        # The sign is painted, too: what is to be done is what one looks for.
        lines += [style.paint(line, "cyan") for line in _wrapped(finding.fix, style, arrow, " " * len(arrow))]
    return lines


def summary_lines(findings: Sequence[Finding], left_out: Sequence[str], style: Style) -> list[str]:
    """What all of them come to."""
    failed, warned = (sum(1 for each in findings if each.state == state) for state in ("fail", "warn"))
    if not failed and not warned:
        text, colour = "All is well.", _COLOURS["ok"]
    else:
        parts = [_counted(failed, "problem"), _counted(warned, "warning")]
        text, colour = f"{', '.join(part for part in parts if part)}.", _COLOURS["fail" if failed else "warn"]
    lines = [style.paint(text, colour, "bold")]
    mended = sum(1 for each in findings if each.mends and each.state != "ok")
    if mended:
        lines += _wrapped(f"`hermes-acp doctor --fix` mends {mended} of them.", style, "", "")
    if left_out:
        lines += [style.paint(line, "dim") for line in _wrapped(f"Left out: {', '.join(left_out)}.", style, "", "")]
    return lines


def _wrapped(text: str, style: Style, first: str, rest: str) -> list[str]:
    """`text` within the terminal; where there is none, on one line, for programs that read lines."""
    words = " ".join(safe_text(text).split())
    if not style.signs:
        words = words.translate(_ASCII)
    if not style.width:
        return [f"{first}{words}"]
    return wrapped(words, max(style.width, _LEAST_WIDTH), first, rest) or [first.rstrip()]


def _counted(number: int, noun: str) -> str:
    return "" if not number else f"{number} {noun}" if number == 1 else f"{number} {noun}s"
