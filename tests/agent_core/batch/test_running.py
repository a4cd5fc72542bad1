"""One item of a batch: a stored session of its own, with nobody to ask, and an outcome whatever goes wrong."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from agent_core.batch.batch import Item
from agent_core.batch.running import Plan, let_go, run_item
from agent_core.config import Overrides
from agent_core.home import Home
from agent_core.sessions.library import SessionLibrary
from tests.support.settings_files import configure

OFFLINE = Overrides("offline", "offline")


@pytest.fixture
def plan(home, tmp_path):
    yield Plan(home, tmp_path / "runs", OFFLINE)
    let_go()


def test_an_item_without_a_directory_works_in_one_of_its_own(plan):
    outcome = run_item(Item("a", "call write_file {}\nrun pwd"), plan)
    assert (outcome.status, outcome.stop_reason, outcome.error) == ("completed", "end_turn", "")
    assert outcome.cwd == str(plan.directory / "work" / "a")
    assert (plan.directory / "work" / "a").is_dir()
    assert outcome.cwd in outcome.trajectory


def test_its_session_is_stored_and_put_aside(plan, home):
    outcome = run_item(Item("a", "say Hello."), plan)
    library = SessionLibrary(Home(home))
    record = library.archive.get(outcome.session_id)
    assert record.archived
    assert json.loads(outcome.trajectory)["session_id"] == outcome.session_id
    assert "Hello." in outcome.answer
    library.close()


def test_what_would_be_asked_is_refused(plan, tmp_path):
    outcome = run_item(Item("a", f"write {tmp_path}/elsewhere.txt x"), plan)
    assert outcome.status == "completed"
    assert not (tmp_path / "elsewhere.txt").exists()


def test_memory_is_not_offered(plan, home):
    (home / "memories").mkdir(parents=True)
    (home / "memories" / "MEMORY.md").write_text("The person likes tea.\n")
    outcome = run_item(Item("a", "say Hello."), plan)
    assert "likes tea" not in outcome.trajectory
    assert '"name": "memory"' not in json.loads(outcome.trajectory)["conversations"][0]["value"]


def test_a_failing_model_is_an_outcome_with_its_words(plan, home):
    configure(home, {"agent": {"api_max_retries": 1}})
    outcome = run_item(Item("a", "fail 401"), plan)
    assert (outcome.status, outcome.answer) == ("failed", "")
    assert "401" in outcome.error
    assert json.loads(outcome.trajectory)["outcome"] == "error"


def test_a_model_that_cannot_be_used_fails_the_item_and_no_other_answers(plan):
    outcome = run_item(Item("a", "say Hello.", model="anthropic:claude"), plan)
    assert (outcome.status, outcome.session_id, outcome.trajectory) == ("failed", "", "")
    assert "ANTHROPIC_API_KEY" in outcome.error


def test_over_its_time_an_item_is_ended(plan):
    outcome = run_item(Item("a", "sleep 600"), replace(plan, timeout=0.05))
    assert outcome.status == "timed_out"


def test_items_run_beside_each_other_in_threads(plan):
    together = threading.Barrier(4)

    def run(number):
        together.wait(10)
        return run_item(Item(str(number), f"say {number}"), plan)

    with ThreadPoolExecutor(4) as pool:
        outcomes = list(pool.map(run, range(4)))
    assert [outcome.answer.strip() for outcome in outcomes] == ["0", "1", "2", "3"]
