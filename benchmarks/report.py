"""The table for people and the file for programs."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.figures import HERMES, RAW, SDK, Figure, Section

_HEADER = ("", HERMES, "min–max", RAW, "×", SDK, "×")


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
        "cores": _cores(),
        "load": round(os.getloadavg()[0], 2),
    }


def save(path: Path, sections: Sequence[Section], circumstances: Mapping[str, Any]) -> None:
    """Write everything, samples too, as JSON."""
    found = {
        **circumstances,
        "sections": [
            {"title": section.title, "figures": [_as_json(figure) for figure in section.figures]}
            for section in sections
        ],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _row(figure: Figure) -> tuple[str, ...]:
    name = f"  {figure.quantity.title}" + (f", {figure.quantity.unit}" if figure.quantity.unit else "")
    own = figure.series[HERMES]
    low, high = min(own.values), max(own.values)
    spread = f"{_number(low)}–{_number(high)}" if len(own.values) > 1 else ""
    cells = [name, _number(own.median), spread]
    for floor in (RAW, SDK):
        series, ratio = figure.series.get(floor), figure.ratio(floor)
        cells += [_number(series.median) if series else "–", _number(ratio) if ratio is not None else ""]
    return tuple(cells)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
    return "  ".join(cells).rstrip()


def _number(value: float) -> str:
    if value >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _as_json(figure: Figure) -> dict[str, Any]:
    samples = {name: [round(value, 4) for value in series.values] for name, series in figure.series.items()}
    medians = {name: round(series.median, 4) for name, series in figure.series.items()}
    return {**dataclasses.asdict(figure.quantity), "median": medians, "samples": samples}


def _cores() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1
