"""What the doctor has found and fixed, on the screen and as JSON.

It loads nothing but the standard library and its neighbours: it must also run where another `tools` is found.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

from acp_adapter import __version__
from acp_adapter.cli.console import Colour, Sign, Style, wrapped
from acp_adapter.format import safe_text

State = Literal["ok", "warn", "fail"]
"""Nothing has to be done; it works, but less well; something does not work."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One line on the screen, one entry in the JSON.

    Attributes:
        check: what was looked at, in a word or two.
        text: what is there, or what is wrong.
        fix: what to do; '' where nothing is, or the text says it.
        mends: `--fix` does something about it.
    """

    check: str
    state: State
    text: str
    fix: str = ""
    mends: bool = False


def well(check: str, text: str) -> Finding:
    """Nothing has to be done."""
    return Finding(check, "ok", text)


def warning(check: str, text: str, fix: str = "", *, mends: bool = False) -> Finding:
    """It works, but less well than it could."""
    return Finding(check, "warn", text, fix, mends)


def failing(check: str, text: str, fix: str = "", *, mends: bool = False) -> Finding:
    """Something does not work."""
    return Finding(check, "fail", text, fix, mends)


@dataclass(frozen=True, slots=True)
class Mended:
    """One thing that `--fix` did, or could not do: the text says why."""

    check: str
    done: bool
    text: str


# The findings for people: a line each, with what to do below it, and one that sums them up.

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
    lines = [style.paint(sign, _COLOURS[finding.state], "bold") + first[len(sign) :], *rest]
    if finding.fix:
        arrow = f"{indent}{style.sign('answer')} "
        # The sign is painted, too: what is to be done is what one looks for.
        lines += [style.paint(line, "cyan") for line in _wrapped(finding.fix, style, arrow, " " * len(arrow))]
    return lines


def summary_lines(findings: Sequence[Finding], left_out: Sequence[str], style: Style) -> list[str]:
    """What all of them come to."""
    failed, warned = (sum(1 for each in findings if each.state == state) for state in ("fail", "warn"))
    parts = [
        f"{number} {noun}{'s' * (number != 1)}"
        for number, noun in ((failed, "problem"), (warned, "warning"))
        if number
    ]
    text = f"{', '.join(parts)}." if parts else "All is well."
    lines = [style.paint(text, _COLOURS["fail" if failed else "warn" if warned else "ok"], "bold")]
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


# The findings for programs: one JSON object, whose form `docs/doctor.md` promises.

FORMAT = 2
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
        "mended": [asdict(each) for each in mended],
        "findings": [asdict(each) for each in findings],
    }
    return json.dumps(value, indent=2, ensure_ascii=False)


# Whether Python finds our packages where they are. This is checked before anything else of ours is loaded.

_PACKAGES = ("acp_adapter", "agent_core", "tools")
_OWN = "hermes-editor-agent"
_ROOT = Path(__file__).resolve().parents[3]
_INSTALL = (
    f"Install hermes-acp into an environment of its own, with «uv tool install» or «pipx install» ({sys.prefix} is "
    "the one that runs now)."
)


def foreign_packages() -> Iterator[Finding]:
    """Packages of ours that Python would load from elsewhere: nothing works with them."""
    for name in _PACKAGES:
        spec = importlib.util.find_spec(name)
        places = list(spec.submodule_search_locations or ()) if spec else []
        if not places:
            yield failing("imports", f"{name} is not there: the installation is not whole", _INSTALL)
            continue
        found = Path(places[0]).resolve()
        if found == _ROOT / name:
            continue
        listed = [Path(entry).resolve() for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
        step = f"Take {found.parent} out of PYTHONPATH for hermes-acp." if found.parent in listed else _INSTALL
        yield failing("imports", f"«import {name}» finds {found}, which is not this program's ({_ROOT / name})", step)


def check_imports(_: object) -> Iterator[Finding]:
    """Whether other distributions have put files under our names."""
    by_name = metadata.packages_distributions()
    others = {name: sorted({other for other in by_name.get(name, ()) if other.lower() != _OWN}) for name in _PACKAGES}
    for name in filter(others.get, others):
        text = f"{', '.join(others[name])} put files into {name}/, too, and one may have written over the other"
        yield failing("imports", text, _INSTALL)
    if not any(others.values()):
        yield well("imports", f"{', '.join(_PACKAGES)} are this program's own ({_ROOT})")
