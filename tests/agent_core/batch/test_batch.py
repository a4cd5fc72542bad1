"""The items of a batch run side by side in any executor; one that kills its process ends no other."""

import functools
import multiprocessing
import os
import signal
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import pytest

from agent_core.batch.batch import Batch, Item, Outcome, Results


def done(item, status="completed"):
    return Outcome(item.id, item.digest, status)


def dies(item, who):
    if item.id in who:
        os.kill(os.getpid(), signal.SIGKILL)
    return done(item)


def items(names):
    return [Item(name, f"prompt {name}") for name in names]


@pytest.fixture
def results(tmp_path):
    results = Results(tmp_path / "runs")
    yield results
    results.close()


@pytest.fixture
def told():
    return []


@pytest.fixture
def batch(results, told):
    def batch(run, workers=2, make_executor=ThreadPoolExecutor):
        return Batch(results, run, make_executor, workers, on_done=told.append)

    return batch


def processes():
    return ProcessPoolExecutor(2, multiprocessing.get_context("spawn"))


def test_so_many_run_at_the_same_time_and_no_more(batch, told):
    together, free, had_room = threading.Barrier(3), threading.Semaphore(3), []

    def run(item):
        had_room.append(free.acquire(blocking=False))
        together.wait(10)  # all three of them are here
        free.release()
        return done(item)

    assert batch(run, workers=3).go(items("abcdef")) == 0
    assert had_room == [True] * 6
    assert sorted(outcome.id for outcome in told) == list("abcdef")


def test_what_is_done_is_stored_before_it_is_told(results, told):
    known = []
    batch = Batch(
        results,
        done,
        ThreadPoolExecutor,
        1,
        on_done=lambda outcome: known.append(results.status(outcome.id, outcome.digest)),
    )
    batch.go(items("ab"))
    assert known == ["completed", "completed"]


def test_what_was_cancelled_is_told_and_not_kept(batch, results, told):
    (item,) = items("a")
    batch(functools.partial(done, status="cancelled")).go([item])
    assert [outcome.status for outcome in told] == ["cancelled"]
    assert results.status(item.id, item.digest) == ""


def test_a_run_that_raises_fails_its_item_only(batch, told):
    def run(item):
        if item.id == "b":
            raise RuntimeError("the cluster is gone")
        return done(item)

    batch(run).go(items("abc"))
    assert {outcome.id: outcome.status for outcome in told} == {"a": "completed", "b": "failed", "c": "completed"}
    assert "the cluster is gone" in next(outcome.error for outcome in told if outcome.id == "b")


def test_once_stopped_nothing_more_is_begun_and_what_runs_is_stored(batch, told):
    made = batch(lambda item: (made.stop(), done(item))[1], workers=1)
    assert made.go(items("abc")) == 2
    assert [outcome.id for outcome in told] == ["a"]


@pytest.mark.long
def test_an_item_that_kills_its_process_fails_alone(batch, told):
    batch(functools.partial(dies, who="bd"), make_executor=processes).go(items("abcde"))
    assert {outcome.id: outcome.status for outcome in told} == {
        "a": "completed",
        "b": "failed",
        "c": "completed",
        "d": "failed",
        "e": "completed",
    }
    assert all("died" in outcome.error for outcome in told if outcome.status == "failed")
