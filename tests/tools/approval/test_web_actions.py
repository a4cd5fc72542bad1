"""What the policy says of the web: pages and searches are asked about, private hosts twice over."""

from __future__ import annotations

from pathlib import Path

from tests.support.each import each
from tools.approval.actions import ReachHost, SearchWeb
from tools.approval.grants import Grants
from tools.approval.policy import Mode, Rules, decide
from tools.approval.scopes import reaches

RULES = Rules(roots=(Path("/srv/project"),))
PAGE = ReachHost("https://docs.example.org/a?b=c", "docs.example.org")
INSIDE = ReachHost("http://docs.example.org/", "docs.example.org", "this machine")
SEARCH = SearchWeb("Brave Search", "how to")


@each("action", [PAGE, INSIDE, SEARCH])
@each("mode", ["plan", "default", "accept_edits"])
def test_the_web_is_asked_about_in_every_mode_with_a_person(action: ReachHost | SearchWeb, mode: Mode) -> None:
    decision = decide(action, mode, RULES, Grants())
    assert decision.verdict == "ask"
    assert decision.is_risky is (action is INSIDE)


def test_without_questions_pages_and_searches_are_allowed_and_private_hosts_are_not() -> None:
    assert decide(PAGE, "dont_ask", RULES, Grants()).verdict == "allow"
    assert decide(SEARCH, "dont_ask", RULES, Grants()).verdict == "allow"
    refused = decide(INSIDE, "dont_ask", RULES, Grants())
    assert (refused.verdict, refused.cause) == ("deny", "network")


def test_a_yes_for_the_session_is_for_that_host_where_it_is() -> None:
    grants = Grants()
    [same, public] = reaches(PAGE, RULES.roots, is_risky=False)
    grants.allow(same)
    assert (
        decide(ReachHost("https://docs.example.org/other", "docs.example.org"), "default", RULES, grants).verdict
        == "allow"
    )
    assert decide(ReachHost("https://other.example/", "other.example"), "default", RULES, grants).verdict == "ask"
    assert decide(INSIDE, "default", RULES, grants).verdict == "ask"
    grants.allow(public)
    assert decide(ReachHost("https://other.example/", "other.example"), "default", RULES, grants).verdict == "allow"
    assert decide(INSIDE, "default", RULES, grants).verdict == "ask"


def test_a_private_host_is_allowed_by_itself_alone() -> None:
    grants = Grants()
    [same] = reaches(INSIDE, RULES.roots, is_risky=True)
    grants.allow(same, decide(INSIDE, "default", RULES, grants).risks)
    assert decide(INSIDE, "dont_ask", RULES, grants).verdict == "allow"
    assert (
        decide(ReachHost("http://x/", "docs.example.org:8080", "this machine"), "default", RULES, grants).verdict
        == "ask"
    )


def test_a_yes_to_a_service_is_for_all_its_searches_and_no_other_service() -> None:
    grants = Grants()
    [same] = reaches(SEARCH, RULES.roots, is_risky=False)
    grants.allow(same)
    assert decide(SearchWeb("Brave Search", "other words"), "default", RULES, grants).verdict == "allow"
    assert decide(SearchWeb("Exa", "how to"), "default", RULES, grants).verdict == "ask"


def test_a_no_for_the_session_holds() -> None:
    grants = Grants()
    grants.refuse(PAGE)
    assert (
        decide(ReachHost("https://docs.example.org/b", "docs.example.org"), "dont_ask", RULES, grants).verdict
        == "deny"
    )
