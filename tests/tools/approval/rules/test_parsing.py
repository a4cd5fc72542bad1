"""What a rule looks like, and what is said of one that is none."""

import pytest

from tests.support.each import each
from tools.approval.rules import RuleError, allowlist_rules, parse_rule, rule_text


@each(
    ("written", "shown"),
    [
        ({"run": "git push*"}, "run: git push*"),
        ("run: git push*", "run: git push*"),
        ("git push*", "run: git push*"),
        ("npm run build:dev", "run: npm run build:dev"),
        ("  make test ", "run: make test"),
        ({"command": "make"}, "run: make"),
        ({"edit": "src/**"}, "write: src/**"),
        ({"Read": "~/.ssh"}, "read: ~/.ssh"),
        ({"host": "https://Example.com/"}, "host: example.com"),
        ({"domain": "*.example.com"}, "host: *.example.com"),
        ("host: localhost:3000", "host: localhost:3000"),
        ({"mcp": "files/write_*"}, "mcp: files/write_*"),
        ({"tool": "deploy"}, "tool: deploy"),
        ({"search": "brave"}, "search: brave"),
        ({"delete": "*.tmp"}, "delete: *.tmp"),
    ],
)
def test_a_rule_is_a_kind_and_a_pattern_or_a_command_alone(written, shown):
    assert rule_text(written) == shown
    assert parse_rule(rule_text(written)).shown == shown


@each(
    ("written", "said"),
    [
        ("rum: git push", "`rum` is no kind of rule; there are run, read, write, "),
        ({"rn": "x"}, "`rn` is no kind of rule"),
        ("", "needs a pattern"),
        ("run:", "needs a pattern"),
        ({"run": ""}, "needs a pattern"),
        ({"run": "a", "read": "b"}, "^a rule is one `kind: pattern`; begin another line with `-` for each$"),
        ({}, "one `kind: pattern`"),
        ({"run": 5}, "^a rule's pattern is a text: put it in quotes$"),
        (5, "not a int"),
        (None, "not a NoneType"),
        (["run: a"], "not a list"),
        ("x" * 2000, "1 to 1000 characters"),
        ("a\0b", "needs a pattern"),
        ({"host": "two words"}, "is no host"),
        ({"host": "example.com/path"}, "is no host"),
        ({"write": "../x"}, "holds `..`"),
        ({"read": "a/../x"}, "holds `..`"),
        ({"delete": "a/.."}, "holds `..`"),
        ("x" * 1001, "1 to 1000 characters"),
    ],
)
def test_what_is_no_rule_is_refused_with_what_to_write(written, said):
    with pytest.raises(RuleError, match=said.replace("`..`", r"`\.\.`")):
        parse_rule(written)


def test_a_pattern_may_have_a_thousand_characters():
    assert parse_rule("x" * 1000).pattern == "x" * 1000


def test_a_rule_knows_where_it_was_written():
    assert parse_rule("ls", "approvals.deny in config.yaml").source == "approvals.deny in config.yaml"
    assert parse_rule("ls").source == ""


def test_an_older_list_of_commands_is_word_for_word_unless_it_holds_a_star():
    exact, pattern = allowlist_rules([" make test ", "", "git log*"])
    assert [rule.source for rule in allowlist_rules(["make"])] == ["command_allowlist"]
    assert [rule.source for rule in allowlist_rules(["make"], "the home's")] == ["the home's"]
    assert (exact.pattern, exact.is_exact, exact.has_globs) == ("make test", True, False)
    assert (pattern.pattern, pattern.is_exact, pattern.has_globs) == ("git log*", False, True)
    assert not allowlist_rules(["what?"])[0].has_globs
