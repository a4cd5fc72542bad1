"""`todo`: the plan, whole or merged by id."""

from __future__ import annotations

from pathlib import Path

import pytest

import tools.todo  # noqa: F401 - registers the tool
from tests.support.tool_context import PlanInMemory, call, error_of, make_context, payload
from tools.context import TodoItem

PLAN = (TodoItem("1", "read", "completed"), TodoItem("2", "write", "in_progress", "high"))


def test_without_items_the_plan_is_returned_with_its_counts(tmp_path: Path):
    value = payload(call(make_context(tmp_path, agent=PlanInMemory(PLAN)), "todo"))
    assert value["todos"] == [
        {"id": "1", "content": "read", "status": "completed"},
        {"id": "2", "content": "write", "status": "in_progress", "priority": "high"},
    ]
    assert value["counts"] == {"total": 2, "pending": 0, "in_progress": 1, "completed": 1, "cancelled": 0}


def test_a_new_list_replaces_the_plan(tmp_path: Path):
    agent = PlanInMemory(PLAN)
    todos = [{"id": "a", "content": "start", "status": "pending", "priority": "low"}]
    call(make_context(tmp_path, agent=agent), "todo", todos=todos)
    assert agent.items == (TodoItem("a", "start", "pending", "low"),)


def test_merge_changes_what_is_given_and_keeps_the_rest_in_order(tmp_path: Path):
    agent = PlanInMemory(PLAN)
    todos = [{"id": "2", "status": "completed"}, {"id": 3, "content": "test", "status": "pending"}]
    call(make_context(tmp_path, agent=agent), "todo", todos=todos, merge=True)
    assert agent.items == (
        PLAN[0],
        TodoItem("2", "write", "completed", "high"),
        TodoItem("3", "test", "pending"),
    )


def test_a_merge_without_an_id_hits_no_item_by_its_number(tmp_path: Path):
    agent = PlanInMemory(PLAN)
    assert "no id" in error_of(
        call(make_context(tmp_path, agent=agent), "todo", todos=[{"content": "x"}], merge=True)
    )
    assert agent.items == PLAN


def test_new_items_need_no_id_and_no_status(tmp_path: Path):
    agent = PlanInMemory()
    call(make_context(tmp_path, agent=agent), "todo", todos=[{"content": "x"}, {"content": "y"}])
    assert agent.items == (TodoItem("1", "x", "pending"), TodoItem("2", "y", "pending"))


def test_a_full_plan_takes_changes_and_no_more_items(tmp_path: Path):
    full = tuple(TodoItem(str(number), "x" * 4000, "pending") for number in range(256))
    agent = PlanInMemory(full)
    ctx = make_context(tmp_path, agent=agent)
    call(ctx, "todo", todos=[{"id": "7", "status": "completed"}], merge=True)
    assert agent.items[7].status == "completed"
    assert "256" in error_of(call(ctx, "todo", todos=[{"id": "more", "content": "x"}], merge=True))
    assert len(agent.items) == 256


def test_an_empty_list_clears_the_plan(tmp_path: Path):
    agent = PlanInMemory(PLAN)
    call(make_context(tmp_path, agent=agent), "todo", todos=[])
    assert agent.items == ()


def test_a_list_sent_as_json_text_is_understood(tmp_path: Path):
    agent = PlanInMemory()
    call(make_context(tmp_path, agent=agent), "todo", todos='[{"id": "1", "content": "x", "status": "pending"}]')
    assert agent.items == (TodoItem("1", "x", "pending"),)


def test_two_items_in_progress_are_a_warning(tmp_path: Path):
    todos = [{"id": str(n), "content": "x", "status": "in_progress"} for n in range(2)]
    value = payload(call(make_context(tmp_path, agent=PlanInMemory()), "todo", todos=todos))
    assert "2 items are in_progress" in value["warning"]


@pytest.mark.parametrize(
    ("todos", "told"),
    [
        ([{"id": "1", "content": "x", "status": "later"}], "completed"),
        ([{"id": "1", "status": "completed"}], "set merge to true"),
        ([{"id": "1", "content": "x", "status": "pending", "priority": "urgent"}], "high, medium, low"),
        ([{"id": "1", "status": "pending"}], "no content"),
        ([{"id": "1", "content": "x" * 4001, "status": "pending"}], "4000"),
        ([{"id": "1", "content": "x"}, {"id": "1", "content": "y"}], "Two items"),
        ([{"id": str(n), "content": "x"} for n in range(257)], "256"),
        ([5], "object"),
        ({"id": "1"}, "no content"),
        ("[write tests", "list"),
    ],
)
def test_an_invalid_item_is_named_and_the_plan_stays(tmp_path: Path, todos: object, told: str):
    agent = PlanInMemory(PLAN)
    assert told in error_of(call(make_context(tmp_path, agent=agent), "todo", todos=todos))
    assert agent.items == PLAN


def test_without_an_agent_there_is_no_plan(tmp_path: Path):
    assert "agent" in error_of(call(make_context(tmp_path), "todo"))


def test_the_person_sees_a_checklist(tmp_path: Path):
    (shown,) = call(make_context(tmp_path, agent=PlanInMemory(PLAN)), "todo").shown
    assert shown.text == "[x] read\n[>] write"
