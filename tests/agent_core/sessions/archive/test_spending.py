"""What was used is counted once, under its day, model and project, and stays when a session is deleted."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_core.providers.base import Usage
from agent_core.providers.pricing import Spent
from agent_core.sessions.archive import SessionArchive, Spending, spending
from agent_core.sessions.records import KeptState
from agent_core.sessions.schema import known_migrations, statements
from tests.support.session_database import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path / "hermes-acp.db")
    desk.store.create("s", "/srv/one")
    yield desk
    desk.close()


def keep(desk: Desk, session: str, spent: Spent, model: str = "openai:gpt") -> None:
    desk.store.keep(session, KeptState(plan=(), system=None, tools=None, program="x", model=model, spent=spent))
    desk.store.tick()


def one(cost: float | None = 0.25) -> Spent:
    return Spent().add(Usage(input_tokens=100, output_tokens=10, cached_tokens=60), cost)


def figures(found: tuple[Spending, ...]) -> list[tuple[str, int, int, float, int]]:
    return [(each.name, each.requests, each.input_tokens, each.cost, each.unpriced) for each in found]


def test_what_is_new_is_added_and_what_is_stored_again_is_not(desk: Desk) -> None:
    keep(desk, "s", one())
    keep(desk, "s", one())
    keep(desk, "s", one().add(Usage(input_tokens=50, output_tokens=5, cached_tokens=0), 0.5))
    ((day, *rest),) = figures(spending(desk.database, "day", 1))
    assert rest == [2, 150, 0.75, 0]
    assert day == desk.rows("SELECT date('now', 'localtime')")[0][0]


def test_models_and_projects_are_told_apart_the_dearest_first(desk: Desk) -> None:
    desk.store.create("t", "/srv/two")
    keep(desk, "s", one(0.1))
    keep(desk, "t", one(0.1), "other:model")
    keep(desk, "t", one(0.1).add(Usage(input_tokens=1, output_tokens=1, cached_tokens=0), 1.0), "openai:gpt")
    assert figures(spending(desk.database, "model", 30)) == [
        ("openai:gpt", 2, 101, pytest.approx(1.1), 0),
        ("other:model", 1, 100, 0.1, 0),
    ]
    assert [each.name for each in spending(desk.database, "project", 30)] == ["/srv/two", "/srv/one"]


def test_requests_without_a_known_price_are_counted_as_such(desk: Desk) -> None:
    keep(desk, "s", one(None))
    assert figures(spending(desk.database, "project", 30)) == [("/srv/one", 1, 100, 0.0, 1)]


def test_one_request_of_which_nothing_is_known_leaves_what_is_known_of_the_others(desk: Desk) -> None:
    """An answer that broke off has no figures; a server of one's own has no price. The next ones have both again."""
    spent = one(0.5).add(Usage(), None)
    keep(desk, "s", spent)
    desk.store.close()
    kept = desk.store.kept("s")
    assert kept is not None
    keep(desk, "s", kept.spent.add(Usage(input_tokens=40, output_tokens=4, cached_tokens=None), 0.25))
    assert figures(spending(desk.database, "project", 30)) == [("/srv/one", 3, 140, 0.75, 1)]


def test_a_session_of_an_earlier_version_whose_sums_are_unknown_goes_on_being_counted(desk: Desk) -> None:
    keep(desk, "s", Spent(3, Usage(), None))
    with desk.database.write() as connection:
        connection.execute("UPDATE sessions SET usage = json_remove(usage, '$.certain')")
        connection.execute("DELETE FROM spending")
    kept = desk.store.kept("s")
    assert kept is not None
    keep(desk, "s", kept.spent.add(Usage(input_tokens=40, output_tokens=4, cached_tokens=0), 0.25))
    assert figures(spending(desk.database, "project", 30)) == [("/srv/one", 1, 40, 0.25, 0)]


def test_days_that_a_clock_has_invented_are_in_no_period(desk: Desk) -> None:
    keep(desk, "s", one())
    with desk.database.write() as connection:
        connection.execute("UPDATE spending SET day = '2091-01-01'")
    assert spending(desk.database, "day", 30) == ()


def test_what_a_sub_agent_used_is_in_the_sum_of_its_parent_alone(desk: Desk) -> None:
    desk.store.create_child("c", "s", "/srv/one")
    keep(desk, "c", one())
    keep(desk, "s", one())
    assert [each.requests for each in spending(desk.database, "project", 30)] == [1]


def test_a_deleted_session_leaves_its_sum_without_its_project(desk: Desk) -> None:
    keep(desk, "s", one())
    desk.store.close()
    assert SessionArchive(desk.database).delete("s")
    assert figures(spending(desk.database, "project", 30)) == [("", 1, 100, 0.25, 0)]
    assert desk.rows("SELECT session_id FROM spending") == [(None,)]


def test_what_is_older_than_was_asked_for_is_left_out(desk: Desk) -> None:
    keep(desk, "s", one())
    with desk.database.write() as connection:
        connection.execute("UPDATE spending SET day = date('now', 'localtime', '-7 days')")
    assert spending(desk.database, "day", 7) == ()
    assert len(spending(desk.database, "day", 8)) == 1


def test_sums_of_earlier_versions_are_taken_over(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "old.db")
    steps = known_migrations()
    for step in steps[:5]:
        for statement in statements(step.sql):
            connection.execute(statement)
    row = (
        "INSERT INTO sessions (id, cwd, source, mode, model, root_id, requests, usage, cost, created_at, updated_at)"
    )
    for name, source, cost in (("s", "zed", 0.5), ("c", "sub-agent", 0.2), ("u", "zed", None)):
        connection.execute(
            f"{row} VALUES (?, '/srv', ?, 'default', 'a:b', ?, 3, '{{\"input_tokens\": 9}}', ?, 0, 86400)",
            (name, source, name, cost),
        )
    for statement in statements(steps[5].sql):
        connection.execute(statement)
    found = connection.execute(
        "SELECT session_id, requests, input, cost, unpriced FROM spending ORDER BY 1"
    ).fetchall()
    assert found == [("s", 3, 9, 0.5, 0), ("u", 3, 9, 0.0, 3)]
    connection.close()
