"""The tables for people, and where a run was made."""

from __future__ import annotations

import datetime as dt
import os
import platform
import subprocess
from collections.abc import Sequence
from pathlib import Path

from acp_adapter import __version__
from benchmarks.comparing import Comparison, Measure
from benchmarks.figures import HERMES, PERCENT, RAW, SDK, Figure, Section

_HEADER = ("", HERMES, "min–max", "target", RAW, "×", SDK, "×")


def table(sections: Sequence[Section]) -> str:
    """All figures, aligned; medians, with the ratio of hermes-acp to each floor."""
    rows: list[tuple[str, ...]] = [_HEADER]
    for section in sections:
        rows += [(section.title, *[""] * (len(_HEADER) - 1)), *map(_row, section.figures)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(_line(row, widths) for row in rows)


def machine() -> dict[str, str | int | float]:
    """Where it is measured, as far as it matters; ask before the measurement, which is a load of its own."""
    return {
        "date": dt.datetime.now(tz=dt.UTC).date().isoformat(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": _cpu(),
        "cores": _cores(),
        "commit": _commit(),
        "version": __version__,
        "load": round(os.getloadavg()[0], 2),
    }


def comparison(found: Sequence[Comparison]) -> str:
    """Each figure then and now, how it changed, and what is thought of it."""
    rows: list[tuple[str, ...]] = [("", "then", "now", "change", "band", "")]
    section = ""
    for one in found:
        if one.section != section:
            section = one.section
            rows.append((section, *[""] * 5))
        rows.append(_compared(one))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(_line(row, widths) for row in rows)


def _row(figure: Figure) -> tuple[str, ...]:
    name = f"  {figure.quantity.title}" + (f", {figure.quantity.unit}" if figure.quantity.unit else "")
    own = figure.series[HERMES]
    low, high = min(own.values), max(own.values)
    spread = f"{_number(low)}–{_number(high)}" if len(own.values) > 1 else ""
    cells = [name, _number(own.median), spread, _target(figure)]
    for floor in (RAW, SDK):
        series, ratio = figure.series.get(floor), figure.ratio(floor)
        cells += [_number(series.median) if series else "–", _number(ratio) if ratio is not None else ""]
    return tuple(cells)


def _target(figure: Figure) -> str:
    most = figure.quantity.at_most
    if most is None:
        return ""
    missed = figure.series[HERMES].median > most
    return f"≤ {_number(most)}" + (" ✗" if missed else "  ")


def _compared(one: Comparison) -> tuple[str, ...]:
    name = f"  {one.title}" + (f", {one.unit}" if one.unit else "")
    growth = _growth(one, one.change), _growth(one, one.band)
    return name, _measured(one.then), _measured(one.now), *growth, one.verdict


def _measured(measure: Measure | None) -> str:
    if measure is None:
        return "–"
    return f"{_number(measure.value)} × {measure.to}" if measure.to else _number(measure.value)


def _growth(one: Comparison, share: float | None) -> str:
    if share is None:
        return ""
    sign = "±" if share is one.band else ("+" if share > 0 else "")
    return f"{sign}{share:.2f} points" if one.unit == PERCENT else f"{sign}{100 * share:.0f} %"


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
    return "  ".join(cells).rstrip()


def _number(value: float) -> str:
    if value >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _cpu() -> str:
    """The processor's name, where the system tells it."""
    try:
        facts = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in facts.splitlines() if line.startswith("model name")), "")


def _commit() -> str:
    """The commit that is measured, with a mark if files were changed since."""
    command = ["git", "describe", "--always", "--abbrev=12", "--dirty", "--exclude=*"]
    told = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    return told.stdout.strip()


def _cores() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1
