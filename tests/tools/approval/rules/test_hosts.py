"""Which places a denying rule about hosts means."""

from __future__ import annotations

from tests.support.each import each
from tools.approval.rule_patterns import denies_host
from tools.approval.rules import parse_rule


@each(
    ("rule", "place", "denied"),
    [
        ("evil.example", "evil.example", True),
        ("evil.example", "EVIL.example", True),
        ("evil.example", "evil.example.", True),
        ("evil.example", "evil.example:8443", True),
        ("evil.example", "evil.example.:8443", True),
        ("evil.example", "api.evil.example:8443", True),
        ("evil.example", "notevil.example", False),
        ("evil.example", ".evil.example", True),
        ("evil.example", "evil.example.org", False),
        ("evil.example:443", "evil.example:443", True),
        ("evil.example:443", "evil.example:8443", False),
        ("evil.example:443", "evil.example", False),
        ("https://Evil.example./", "evil.example", True),
        ("evil.example", "evil.example:http", False),
        ("::1", "::1", True),
        ("::", "::1", False),
        ("fe80", "fe80::1", False),
        ("[::1]", "[::1]:80", True),
        ("[::1]", "[::1]", True),
        ("2001:db8::1", "2001:db8::1:2", False),
        ("2001:db8::1", "2001:db8::1", True),
        ("8080", "8080", True),
    ],
)
def test_a_host_is_denied_with_every_port_and_with_every_host_below(rule: str, place: str, denied: bool) -> None:
    assert denies_host(parse_rule({"host": rule}).pattern, place) is denied
