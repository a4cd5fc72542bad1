"""Which rules mean an action that is about neither commands nor files."""

from __future__ import annotations

from tests.support.each import each
from tools.approval.actions import CallOwnTool, LeavePlan
from tools.approval.policy import denied_by, is_allowed_by
from tools.approval.rules import parse_rule


def test_no_rule_means_the_end_of_planning():
    rules = [parse_rule({"tool": "*"}), parse_rule("*")]
    assert denied_by(LeavePlan("a plan"), rules, ()) is None
    assert not is_allowed_by(LeavePlan("a plan"), rules, (), is_risky=False)


@each(("rule", "allowed"), [("deploy", True), ("de*", True), ("memory", False)])
def test_a_tool_of_the_users_own_is_allowed_by_its_name(rule, allowed):
    rules = [parse_rule({"tool": rule})]
    assert is_allowed_by(CallOwnTool("deploy"), rules, (), is_risky=False) is allowed
