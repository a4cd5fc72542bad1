"""`hermes-acp usage`: three tables that fit the terminal, and the same as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from acp_adapter.cli.console import columns
from acp_adapter.cli.usage import usage_lines
from agent_core.sessions.archive import Spending
from tests.support.subcommands import main_of

main = main_of("usage")

LONG = "/srv/projects/customers/a-very-long-name-of-a-company/and-its-newest-web-shop"
FOUND = {
    "day": (
        Spending("2026-11-21", 3, 1_200, 800, 90, 0.5, 0),
        Spending("2026-11-22", 12, 1_250_000, 1_100_000, 9_800, 3.25, 2),
    ),
    "model": (
        Spending("openai:gpt-5", 13, 1_250_500, 1_100_800, 9_000, 3.75, 0),
        Spending("ollama:qwen", 2, 700, 0, 890, 0.0, 2),
    ),
    "project": (Spending(LONG, 14, 1_251_000, 1_100_800, 9_880, 3.75, 2), Spending("", 1, 200, 0, 10, 0.0, 0)),
}  # fmt: skip
AT_80 = """\
day         requests         in     cached    out    cost
2026-11-21         3      1,200        800     90   $0.50
2026-11-22        12  1,250,000  1,100,000  9,800  $3.25+

model         requests         in     cached    out     cost
openai:gpt-5        13  1,250,500  1,100,800  9,000    $3.75
ollama:qwen          2        700          0    890  unknown

project                           requests         in     cached    out    cost
...mpany/and-its-newest-web-shop        14  1,251,000  1,100,800  9,880  $3.75+
(deleted sessions)                       1        200          0     10   $0.00

In 30 days: 15 requests, $3.75+."""


def test_at_eighty_columns_long_paths_keep_their_end() -> None:
    lines = list(usage_lines(FOUND, 30, 80))  # type: ignore[arg-type]
    assert max(map(len, lines)) <= 80
    assert "\n".join(lines) == AT_80


def test_at_a_hundred_and_twenty_columns_there_is_room_for_more_of_them() -> None:
    lines = list(usage_lines(FOUND, 30, 120))  # type: ignore[arg-type]
    assert max(map(len, lines)) <= 120
    assert any(line.startswith(("...", LONG[:20])) and "customers" in line for line in lines)


def test_names_in_wide_signs_take_their_columns() -> None:
    wide = {"project": (Spending("/srv/" + "日本語" * 20, 1, 2, 0, 1, 0.5, 0),)}
    head, row, *_ = usage_lines(wide, 30, 60)  # type: ignore[arg-type]
    assert columns(head) == columns(row) <= 60
    assert row.startswith("...")
    assert "日本語  " in row


def test_a_cost_that_nobody_knows_is_told_as_one() -> None:
    unpriced = {"model": (Spending("ollama:qwen", 2, 700, 0, 890, 0.0, 2),)}
    lines = list(usage_lines(unpriced, 30, 80))  # type: ignore[arg-type]
    assert lines[-1] == "In 30 days: 2 requests, at a cost that is unknown."


def test_where_nothing_was_used_it_says_so_and_makes_no_database(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([]) == 0
    assert capsys.readouterr().out == "Nothing was used in the last 30 days.\n"
    assert main(["--json", "--by", "model"]) == 0
    assert json.loads(capsys.readouterr().out) == {"model": []}
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("days", ["0", "-1", "x", "1.5", "999999"])
def test_a_wrong_number_of_days_is_refused(days: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--days", days])
    assert "number of days" in capsys.readouterr().err
