from __future__ import annotations

import pytest

from agent_core.background_tasks import TaskBoard, TaskControl, TaskError, TaskInfo


def test_a_task_is_listed_from_its_begin_to_its_end() -> None:
    board = TaskBoard()
    board.begin("process", "proc_1", "make\n  test")
    running = board.list()
    board.end("proc_1", "failed", "exit code 2")

    assert [(each.title, each.state, each.ended_at) for each in running] == [("make test", "running", None)]
    (over,) = board.list()
    assert (over.state, over.detail) == ("failed", "exit code 2")
    assert over.ended_at is not None
    assert over.ended_at >= over.started_at


def test_what_is_over_stays_as_it_ended() -> None:
    board = TaskBoard()
    board.begin("delegation", "d1", "look")
    board.end("d1", "stopped")
    board.update("d1", detail="still at it", state="running")
    board.end("d1", "done")

    assert [(each.state, each.detail) for each in board.list()] == [("stopped", "")]
    assert not board.is_busy()


def test_every_change_of_state_is_stored_and_a_detail_alone_is_not() -> None:
    kept: list[TaskInfo] = []
    board = TaskBoard(keep=kept.append)
    board.begin("delegation", "d1", "look")
    board.update("d1", detail="reading")
    board.update("d1", state="paused")
    board.end("d1", "done")

    assert [each.state for each in kept] == ["running", "paused", "done"]


def test_a_task_is_stopped_paused_and_resumed_through_its_control() -> None:
    done: list[str] = []
    board = TaskBoard()
    control = TaskControl(
        lambda name: done.append(f"stop {name}"),
        lambda name: done.append(f"pause {name}"),
        lambda name: done.append(f"resume {name}"),
    )
    board.begin("delegation", "d1", "look", control)
    board.control("d1", "pause")
    board.control("d1", "resume")
    board.control("d1", "stop")

    assert done == ["pause d1", "resume d1", "stop d1"]


def test_what_cannot_be_done_to_a_task_is_said() -> None:
    board = TaskBoard()
    board.begin("hook", "h1", "notify")
    board.begin("process", "p1", "sleep 9")
    board.end("p1", "done")

    with pytest.raises(TaskError, match="cannot be paused"):
        board.control("h1", "pause")
    with pytest.raises(TaskError, match=r"over already \(done\)"):
        board.control("p1", "stop")
    with pytest.raises(TaskError, match=r"no task 'x'.*h1"):
        board.control("x", "stop")


def test_of_what_is_over_only_the_latest_are_remembered_and_all_that_lives_is() -> None:
    board = TaskBoard()
    board.begin("process", "server", "serve")
    for number in range(80):
        board.begin("process", f"p{number}", "true")
        board.end(f"p{number}", "done")

    names = [each.id for each in board.list()]
    assert names[0] == "server"
    assert names[-1] == "p79"
    assert len(names) < 60
