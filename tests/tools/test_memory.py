"""`memory`: what the model remembers and forgets, behind the gate."""

from __future__ import annotations

from dataclasses import replace

import pytest

import tools.memory  # noqa: F401 - registers the tool
from agent_core.cancel import CancelToken
from agent_core.memory.store import MemoryStore
from tests.support.tool_context import ScriptedApprover, call, error_of, make_context, payload
from tools.approval.actions import WriteMemory
from tools.approval.approvals import Approvals
from tools.approval.gate import Gate
from tools.approval.policy import Rules
from tools.approval.questions import NobodyToAsk
from tools.approval.rules import parse_rule
from tools.context import LatePorts
from tools.environments.gated_ports import GatedMemory
from tools.result import ShownDiff


@pytest.fixture
def store(home):
    return MemoryStore(home)


def context(tmp_path, store, mode="default", approver=None, rules=None, edits="mode"):
    approvals = Approvals(rules or Rules(roots=(tmp_path,)), mode, approver or NobodyToAsk(), edits=edits)
    gate = Gate(approvals, "call-1", CancelToken(), on_allowed=lambda _: None)
    return replace(make_context(tmp_path), late=LatePorts(memory=lambda: GatedMemory(store, gate)))


def test_an_entry_is_remembered_without_a_question_and_shown_as_a_difference(tmp_path, store):
    result = call(context(tmp_path, store), "memory", action="add", content="Uses make test")
    assert payload(result)["usage"] == "14 of 2,200 characters"
    assert payload(result)["entries"] == 1
    assert result.shown[0] == ShownDiff(store.path("memory"), None, "Uses make test\n")
    assert store.read("memory") == ("Uses make test",)


def test_what_is_known_of_the_user_has_a_file_of_its_own(tmp_path, store):
    call(context(tmp_path, store), "memory", action="add", target="user", content="Likes tabs")
    assert (store.read("user"), store.read("memory")) == (("Likes tabs",), ())


def test_a_batch_changes_and_forgets(tmp_path, store):
    ctx = context(tmp_path, store)
    steps = [{"action": "add", "content": each} for each in ("one", "two", "three")]
    call(ctx, "memory", operations=steps)
    steps = [
        {"action": "replace", "old_text": "one", "content": "1"},
        {"action": "remove", "old_text": "two"},
        {"action": "remove", "content": "three"},
    ]
    assert payload(call(ctx, "memory", operations=steps))["entries"] == 1
    assert store.read("memory") == ("1",)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, "action has to be add, replace or remove"),
        ({"action": "add"}, "add needs content"),
        ({"action": "replace", "content": "x"}, "replace needs old_text"),
        ({"action": "remove"}, "remove needs old_text"),
        ({"action": "remove", "old_text": "x"}, "There are no entries yet"),
        ({"action": "add", "content": "x", "operations": [{"action": "add", "content": "y"}]}, "not both"),
        ({"operations": [{"action": "add", "content": "y"}, {"action": "add"}]}, "Operation 2: add needs content"),
        ({"action": "add", "content": "x" * 3_000}, "3,000 of 2,200 characters"),
    ],
)
def test_what_is_wrong_is_told_and_nothing_is_changed(tmp_path, store, arguments, told):
    assert told in error_of(call(context(tmp_path, store), "memory", **arguments))
    assert store.read("memory") == ()


def test_what_is_there_already_is_not_asked_about_again(tmp_path, store):
    call(context(tmp_path, store), "memory", action="add", content="x")
    result = call(context(tmp_path, store, "plan"), "memory", action="add", content="x")
    assert "nothing changed" in payload(result)["result"]


def test_without_a_memory_the_tool_says_so(tmp_path):
    assert "Nothing can be remembered here" in error_of(
        call(make_context(tmp_path), "memory", action="add", content="x")
    )


@pytest.mark.parametrize("rule", ["tool: memory", "tool: mem*", "write: {home}/memories/**", "write: *.md"])
def test_a_rule_that_denies_it_counts_in_every_mode(tmp_path, store, home, rule):
    rules = Rules(roots=(tmp_path,), deny=(parse_rule(rule.format(home=home)),))
    ctx = context(tmp_path, store, "dont_ask", rules=rules)
    assert "denied by the user's rule" in error_of(call(ctx, "memory", action="add", content="x"))
    assert not store.path("memory").exists()


def test_in_plan_mode_nothing_is_remembered_nor_asked(tmp_path, store):
    approver = ScriptedApprover()
    ctx = context(tmp_path, store, "plan", approver)
    assert "exit_plan_mode" in error_of(call(ctx, "memory", action="add", content="x"))
    assert (approver.asked, store.read("memory")) == ([], ())


@pytest.mark.parametrize("how", [{"edits": "ask"}, {"rules": True}])
def test_who_wants_to_see_every_change_is_asked_with_the_texts(tmp_path, store, how):
    rules = Rules(roots=(tmp_path,), asks_all=True) if how.pop("rules", False) else None
    approver = ScriptedApprover("reject_once")
    ctx = context(tmp_path, store, approver=approver, rules=rules, **how)
    error_of(call(ctx, "memory", action="add", content="x"))
    assert approver.asked == [WriteMemory("memory", store.path("memory"), "", "x\n")]
    assert store.read("memory") == ()
    approver.choice = "allow_once"
    call(ctx, "memory", action="add", content="x")
    assert store.read("memory") == ("x",)
