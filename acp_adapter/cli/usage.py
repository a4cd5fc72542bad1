"""`hermes-acp usage`: what was used and what it cost, over days, models and projects."""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import get_args

from acp_adapter.cli.console import columns as columns_of
from acp_adapter.cli.console import in_columns
from acp_adapter.cli.main import add_profile, command_parser, home_of
from acp_adapter.format import one_line
from agent_core.home import Home
from agent_core.sessions.archive import By, Spending, spending
from agent_core.sessions.database import Database

_DAYS = 30
_MOST_DAYS = 36_500
_HEADINGS = ("requests", "in", "cached", "out", "cost")
_LEAST_NAME = 12
_UNKNOWN = "unknown"
_EPILOG = """\
Tokens and dollars are those that the servers told and that are known; a cost with a + is at least that much, because
some requests have no known price. What deleted sessions used stays in the sums, without their project.

exit codes:
  0    it was shown; also where nothing was used
  1    it could not be read; stderr says why
  2    the command line was wrong

examples:
  hermes-acp usage
  hermes-acp usage --by project --days 7
  hermes-acp usage --json
"""


def main(argv: list[str]) -> int:
    """Run `hermes-acp usage` with the arguments `argv`; the result is the exit code."""
    options = _parsed(argv)
    found = _spent(home_of(options), options.by, options.days)
    if options.json:
        print(json.dumps({by: [asdict(each) for each in rows] for by, rows in found.items()}, indent=2))
        return 0
    for line in usage_lines(found, options.days, shutil.get_terminal_size().columns):
        print(line)
    return 0


def usage_lines(found: dict[By, Sequence[Spending]], days: int, columns: int) -> Iterator[str]:
    """The tables, in no more than `columns` columns as far as that is possible."""
    if not any(found.values()):
        yield f"Nothing was used in the last {days} days."
        return
    for place, (by, rows) in enumerate(found.items()):
        if place:
            yield ""
        yield from _table(by, rows, columns)
    totals = next(iter(found.values()))
    yield ""
    period = "one day" if days == 1 else f"{days} days"
    cost = _cost(totals)
    told = cost if cost != _UNKNOWN else f"at a cost that is {_UNKNOWN}"
    yield f"In {period}: {sum(each.requests for each in totals)} requests, {told}."


def _spent(home: Home, by: By | None, days: int) -> dict[By, Sequence[Spending]]:
    wanted: tuple[By, ...] = get_args(By) if by is None else (by,)
    if not home.database.exists():  # looking does not make a database
        return dict.fromkeys(wanted, ())
    database = Database(home.database)
    try:
        return {each: spending(database, each, days) for each in wanted}
    finally:
        database.close()


def _table(by: By, rows: Sequence[Spending], columns: int) -> Iterator[str]:
    cells = [_cells(row) for row in rows]
    widths = [max(len(line[place]) for line in (_HEADINGS, *cells)) for place in range(len(_HEADINGS))]
    room = max(_LEAST_NAME, columns - sum(widths) - 2 * len(widths) - 1)
    names = [_cut(one_line(row.name) or "(deleted sessions)", room) for row in rows]
    rows_of_cells = [(name, *line) for name, line in zip((by, *names), (_HEADINGS, *cells), strict=True)]
    yield from in_columns(rows_of_cells, right=range(1, len(_HEADINGS) + 1))


def _cells(row: Spending) -> tuple[str, ...]:
    tokens = (row.input_tokens, row.cached_tokens, row.output_tokens)
    return str(row.requests), *(f"{count:,}" for count in tokens), _cost((row,))


def _cost(rows: Sequence[Spending]) -> str:
    """`$0.12`; `$0.12+` where it is more by what is not known; `unknown` where nothing is known."""
    unpriced = sum(row.unpriced for row in rows)
    if unpriced and unpriced == sum(row.requests for row in rows):
        return _UNKNOWN
    return f"${sum(row.cost for row in rows):.2f}{'+' if unpriced else ''}"


def _cut(name: str, room: int) -> str:
    """A long path or name by its end, which tells more."""
    if columns_of(name) <= room:
        return name
    from wcwidth import clip  # noqa: PLC0415 - most names have room

    return f"...{clip(name, columns_of(name) - (room - 3), columns_of(name))}"


def _parsed(argv: list[str]) -> argparse.Namespace:
    parser = command_parser("usage", "Show what was used and what it cost, over days, models and projects.", _EPILOG)
    parser.add_argument("--by", choices=get_args(By), help="one table (default: all three)")
    parser.add_argument("--days", type=_days, default=_DAYS, metavar="N", help=f"the last N days (default: {_DAYS})")
    parser.add_argument("--json", action="store_true", help="everything as JSON")
    add_profile(parser, "to look at")
    return parser.parse_args(argv)


def _days(value: str) -> int:
    if not value.isascii() or not value.isdigit() or not 0 < int(value) <= _MOST_DAYS:
        raise argparse.ArgumentTypeError(f"not a number of days from 1 to {_MOST_DAYS}: {value!r}")
    return int(value)
