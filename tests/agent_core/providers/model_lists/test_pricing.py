"""What requests cost, and what is not known of it."""

import pytest

from agent_core.providers.base import Usage
from agent_core.providers.choice import ModelFacts
from agent_core.providers.pricing import Spent, cost_of
from tests.support.each import each

FACTS = ModelFacts(input_price=2.0, output_price=10.0, cached_price=0.2, written_price=2.5, source="test")
PLAIN = ModelFacts(input_price=2.0, output_price=10.0, source="test")


@each(
    ("usage", "facts", "dollars"),
    [
        (Usage(1_000_000, 0, 0, 0, 0), FACTS, 2.0),
        (Usage(0, 1_000_000, 0, 0, 0), FACTS, 10.0),
        (Usage(1_000_000, 0, 1_000_000, 0, 0), FACTS, 0.2),
        (Usage(1_000_000, 0, 0, 0, 1_000_000), FACTS, 2.5),
        # 100 plain, 600 cached, 300 written, 50 out
        (Usage(1000, 50, 600, 20, 300), FACTS, (100 * 2 + 600 * 0.2 + 300 * 2.5 + 50 * 10) / 1e6),
        # Reasoning is part of the output, whether it is counted apart or not.
        (Usage(1000, 50, 0, None, 0), FACTS, (1000 * 2 + 50 * 10) / 1e6),
        # Without a price there is nothing to count apart.
        (Usage(1000, 50), PLAIN, (1000 * 2 + 50 * 10) / 1e6),
        (Usage(1000, 50, 0, 0, 0), PLAIN, (1000 * 2 + 50 * 10) / 1e6),
        (Usage(0, 0, 0, 0, 0), ModelFacts(), 0.0),
        (Usage(500, 50, 500), ModelFacts(cached_price=1.0, output_price=0.0), 500 / 1e6),
    ],
)
def test_the_cost_is_the_sum_of_the_parts_at_their_prices(usage, facts, dollars):
    assert cost_of(usage, facts) == pytest.approx(dollars)


@each(
    ("usage", "facts"),
    [
        pytest.param(Usage(), FACTS, id="nothing was counted"),
        pytest.param(Usage(None, 50, 0, 0, 0), FACTS, id="no input count"),
        pytest.param(Usage(1000, None, 0, 0, 0), FACTS, id="no output count"),
        pytest.param(Usage(1000, 50, None, 0, 0), FACTS, id="no count of what the cache gave, which has a price"),
        pytest.param(Usage(1000, 50, 0, 0, None), FACTS, id="no count of what was written, which has a price"),
        pytest.param(Usage(1000, 50, 0, 0, 0), ModelFacts(), id="no prices"),
        pytest.param(Usage(1000, 50, 0, 0, 0), ModelFacts(output_price=1.0), id="no input price"),
        pytest.param(Usage(1000, 50, 0, 0, 0), ModelFacts(input_price=1.0), id="no output price"),
        pytest.param(Usage(1000, 50, 1, 0, 0), PLAIN, id="cached tokens, no price for them"),
        pytest.param(Usage(1000, 50, 0, 0, 1), PLAIN, id="written tokens, no price for them"),
        pytest.param(Usage(1000, 50, 900, 0, 200), FACTS, id="more parts than the whole"),
    ],
)
def test_a_cost_with_an_unknown_part_is_unknown(usage, facts):
    assert cost_of(usage, facts) is None


@pytest.mark.parametrize(("prompt", "dollars"), [(200_000, 0.4), (200_001, None)])
def test_prices_hold_only_up_to_the_prompt_they_are_known_for(prompt, dollars):
    facts = ModelFacts(input_price=2.0, output_price=10.0, priced_up_to=200_000, source="test")
    assert cost_of(Usage(prompt, 0, 0, 0, 0), facts) == dollars


@pytest.mark.parametrize(
    ("hour_price", "ttl", "dollars"), [(4.0, "1h", 4.0), (4.0, "5m", 2.5), (None, "1h", None), (None, "5m", 2.5)]
)
def test_writing_to_the_cache_for_an_hour_has_its_own_price(hour_price, ttl, dollars):
    facts = ModelFacts(
        input_price=2.0, output_price=10.0, written_price=2.5, hour_written_price=hour_price, source="test"
    )
    assert cost_of(Usage(1_000_000, 0, 0, 0, 1_000_000), facts, ttl) == dollars


def test_an_hour_that_nobody_counted_is_unknown():
    assert cost_of(Usage(1000, 50, 0, 0, None), FACTS, "1h") is None


def test_what_was_spent_adds_up():
    spent = Spent().add(Usage(10, 5, 4, 2, 1), 0.25).add(Usage(20, 6, 8, 3, 0), 0.5)
    assert spent == Spent(2, Usage(30, 11, 12, 5, 1), 0.75)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_one_unknown_figure_makes_its_sum_unknown_and_no_other(order):
    requests = [(Usage(10, 5, None, 2, 0), 0.25), (Usage(20, 6, 8, None, 0), None)]
    spent = Spent()
    for index in order:
        spent = spent.add(*requests[index])
    assert spent == Spent(2, Usage(30, 11, None, None, 0), None)
