"""Figures and times in words."""

from dataclasses import replace
from datetime import UTC, timedelta, timezone

import pytest

from acp_adapter.export.transcript import Turn, ending, token_totals, turn_figures
from acp_adapter.format import count, dollars, duration, moment
from agent_core.providers.base import Usage
from agent_core.providers.pricing import Spent
from tests.support.each import each
from tests.support.sample_transcript import sample_transcript

TURN = Turn(1, 0.0, "end_turn", "", (), 72.4, 3_400, cost=None)


@each(
    ("seconds", "words"),
    [(0, "0.0 s"), (0.44, "0.4 s"), (9.94, "9.9 s"), (42.3, "42 s"), (59.7, "1 min"), (72, "1 min 12 s"),
     (3_600, "1 h"), (7_500, "2 h 5 min"), (90_000, "1 d 1 h")],
)  # fmt: skip
def test_durations_have_two_units_at_most(seconds, words):
    assert duration(seconds) == words


@each(
    ("number", "words"),
    [(0, "0"), (999, "999"), (1_000, "1k"), (3_449, "3.4k"), (120_900, "120k"), (1_234_567, "1.2M")],
)
def test_large_counts_are_rounded(number, words):
    assert count(number) == words


@pytest.mark.parametrize(("cost", "words"), [(0.0, "$0.00"), (0.0042, "$0.0042"), (0.432, "$0.43"), (12.0, "$12.00")])
def test_small_costs_keep_their_digits(cost, words):
    assert dollars(cost) == words


def test_a_moment_is_told_in_the_readers_zone():
    assert moment(1_790_000_000, UTC) == "2026-09-21 14:13"
    assert moment(1_790_000_000, timezone(timedelta(hours=9))) == "2026-09-21 23:13"


def test_unknown_figures_are_left_out():
    assert turn_figures(TURN) == ["1 min 12 s", "3.4k tokens"]
    assert turn_figures(replace(TURN, tokens=0, cost=0.5)) == ["1 min 12 s", "$0.50"]


@each(
    ("outcome", "note", "words"),
    [
        ("end_turn", "", ""),
        ("cancelled", "", "Cancelled."),
        ("error", "No key.", "No key."),
        ("error", "", "It failed."),
        (None, "", "It did not end: it was interrupted, or still runs."),
        ("", "", "It did not end: it was interrupted, or still runs."),
        ("later_reason", "", "It ended with later_reason."),
    ],
)
def test_a_turn_that_did_not_simply_end_says_how(outcome, note, words):
    assert ending(replace(TURN, outcome=outcome, note=note)) == words


def test_unknown_token_counts_are_left_out():
    session = replace(sample_transcript().session, spent=Spent(1, Usage(1_500, None, 0), None))
    assert token_totals(session) == ["1.5k in"]
