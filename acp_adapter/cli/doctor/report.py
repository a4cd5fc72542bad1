"""What the doctor has found and mended, on the screen and as JSON.

It loads nothing but the standard library and its neighbours: it must also run where another `tools` is found.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Literal

from acp_adapter import __version__
from acp_adapter.cli.console import Colour, Sign, Style, wrapped
from acp_adapter.format import safe_text

# What a check has found.

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
        facts: the same for programs.
    """

    check: str
    state: State
    text: str
    fix: str = ""
    mends: bool = False
    facts: Mapping[str, object] = field(default_factory=dict)


def well(check: str, text: str, **facts: object) -> Finding:
    """Nothing has to be done."""
    return Finding(check, "ok", text, facts=facts)


def warning(check: str, text: str, fix: str = "", *, mends: bool = False, **facts: object) -> Finding:
    """It works, but less well than it could."""
    return Finding(check, "warn", text, fix, mends, facts)


def failing(check: str, text: str, fix: str = "", *, mends: bool = False, **facts: object) -> Finding:
    """Something does not work."""
    return Finding(check, "fail", text, fix, mends, facts)


# What was mended, and what was left as it is.


@dataclass(frozen=True, slots=True)
class Mended:
    """One thing that `--fix` did, or did not do.

    Attributes:
        check: the check that tells of it.
        done: it was mended; else the text says why not.
        harm: that it was not is a failure, and no decision of the person's.
    """

    check: str
    done: bool
    text: str
    harm: bool = False


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


# The findings for programs: one JSON object, whose form `docs/doctor.md` promises.

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


# Whether Python finds our packages where they are. This is checked before anything else of ours is loaded.

NAME = "imports"
_PACKAGES = ("acp_adapter", "agent_core", "tools")
_LIBRARIES = {"acp": "agent-client-protocol", "mcp": "mcp"}
_OWN = "hermes-editor-agent"
_ROOT = Path(__file__).resolve().parents[3]


def foreign_packages() -> Iterator[Finding]:
    """Packages of ours that Python would load from elsewhere: nothing works with them."""
    for name in _PACKAGES:
        place = _place(importlib.util.find_spec(name))
        if place is None:
            yield failing(NAME, f"{name} is not there: the installation is not whole", _INSTALL)
        elif place != _ROOT:
            text = f"«import {name}» finds {place / name}, which is not this program's ({_ROOT / name})"
            yield failing(NAME, text, _step(place), package=name, found=str(place / name))


def check_imports(_: object) -> Iterator[Finding]:
    """The same once it is known to be well, and whether other distributions brought files under these names."""
    yield from foreign_packages()
    from importlib.metadata import packages_distributions  # noqa: PLC0415 - reads every distribution

    by_name, shared = packages_distributions(), False
    for name in (*_PACKAGES, *_LIBRARIES):
        owner = _LIBRARIES.get(name, _OWN)
        others = sorted({other for other in by_name.get(name, ()) if other.lower() != owner})
        if others:
            shared = True
            text = f"{', '.join(others)} put files into {name}/, too, and one may have written over the other"
            yield failing(NAME, text, _INSTALL, package=name, distributions=others)
    if not shared:
        yield well(NAME, f"{', '.join(_PACKAGES)} are this program's own ({_ROOT})", place=str(_ROOT))


def _place(spec: ModuleSpec | None) -> Path | None:
    """The directory that holds the package."""
    if spec is None:
        return None
    if spec.origin:
        origin = Path(spec.origin).resolve()
        return origin.parent.parent if origin.name == "__init__.py" else origin.parent
    places = list(spec.submodule_search_locations or ())
    return Path(places[0]).resolve().parent if places else None


def _step(place: Path) -> str:
    listed = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if any(entry and Path(entry).resolve() == place for entry in listed):
        return f"Take {place} out of PYTHONPATH for hermes-acp."
    return _INSTALL


_INSTALL = (
    f"Install hermes-acp into an environment of its own, with «uv tool install» or «pipx install» ({sys.prefix} is "
    "the one that runs now)."
)
