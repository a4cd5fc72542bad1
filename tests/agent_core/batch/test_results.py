"""A batch's results survive a kill at any moment: each is there once, with its run, or not at all."""

import json

import pytest

from agent_core.batch.batch import RESULTS, BatchError, Outcome, Results


def outcome(name="a", status="completed", **more):
    return Outcome(
        name, f"digest-{name}", status, session_id=f"s-{name}", trajectory=f'{{"session_id": "s-{name}"}}\n', **more
    )


def names(path):
    return [json.loads(line).get("id", json.loads(line)["session_id"]) for line in path.read_text().splitlines()]


@pytest.fixture
def place(tmp_path):
    return tmp_path / "runs"


def open_results(place, *outcomes):
    results = Results(place)
    for each in outcomes:
        results.add(each)
    results.close()


def test_what_is_done_is_known_the_next_time_under_the_same_words(place):
    open_results(place, outcome("a"), outcome("b", "failed", error="no"))
    results = Results(place)
    assert results.status("a", "digest-a") == "completed"
    assert results.status("b", "digest-b") == "failed"
    assert results.status("a", "other words") == results.status("c", "digest-c") == ""
    results.close()


def test_completed_runs_and_others_are_apart_and_the_result_says_the_rest(place):
    open_results(place, outcome("a", cost=0.5, more={"tag": 1}), outcome("b", "stopped"))
    assert names(place / "completed.jsonl") == ["s-a"]
    assert names(place / "failed.jsonl") == ["s-b"]
    line = json.loads((place / RESULTS).read_text().splitlines()[0])
    assert (line["cost_usd"], line["item"]) == (0.5, {"tag": 1})
    assert "trajectory" not in line


@pytest.mark.parametrize("kept", [0, 1, 20, -1])
def test_a_result_that_was_cut_by_a_kill_goes_with_its_run(place, kept):
    open_results(place, outcome("a"), outcome("b"))
    first, second = (place / RESULTS).read_bytes().splitlines(keepends=True)
    (place / RESULTS).write_bytes(first + second[:kept])
    results = Results(place)
    assert results.status("b", "digest-b") == ""
    assert names(place / RESULTS) == ["a"]
    assert names(place / "completed.jsonl") == ["s-a"]
    results.add(outcome("b"))
    results.close()
    assert names(place / "completed.jsonl") == ["s-a", "s-b"]


def test_a_run_that_was_cut_by_a_kill_goes(place):
    open_results(place, outcome("a"))
    with (place / "completed.jsonl").open("a") as file:
        file.write('{"session_id": "s-')
    open_results(place)
    assert names(place / "completed.jsonl") == ["s-a"]


def test_two_batches_do_not_write_to_one_directory(place):
    first = Results(place)
    with pytest.raises(BatchError, match="Another batch writes to"):
        Results(place)
    first.close()
    Results(place).close()


@pytest.mark.parametrize("name", [RESULTS, "completed.jsonl", "failed.jsonl"])
@pytest.mark.parametrize("content", ["mine\n", '{"id": "a"}\n{"id": "b"}\n', "no end", ""])
def test_a_file_of_somebody_elses_is_refused_and_left_as_it_is(place, name, content):
    place.mkdir()
    (place / name).write_text(content)
    for _ in range(2):
        with pytest.raises(BatchError, match="is not what a batch has written"):
            Results(place)
    assert (place / name).read_text() == content
    assert [path.name for path in place.iterdir()] == [name]


def test_a_directory_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(BatchError, match="Choose another with --out"):
        Results(tmp_path / "file" / "runs")
