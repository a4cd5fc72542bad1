"""Which hosts need no question, and which are never reached."""

from __future__ import annotations

import pytest

from tests.support.each import each
from tools.environments.sandbox.network.hosts import REGISTRIES, HostRules, NetworkRules, host_name


def rules(*allow: str, deny: tuple[str, ...] = (), remotes: tuple[str, ...] = ()) -> HostRules:
    return HostRules(NetworkRules(allow=allow, deny=deny), remotes)


@each(
    ("host", "port", "allowance"),
    [
        ("pypi.org", 443, "listed"),
        ("deb.debian.org", 80, "listed"),
        ("pypi.org", 8443, "no"),
        ("evil.pypi.org", 443, "no"),
        ("pypi.org.example.com", 443, "no"),
        ("upload.pypi.org", 443, "no"),
        ("code.example.org", 443, "listed"),
        ("code.example.org", 80, "no"),
        ("docs.example.org", 80, "user"),
        ("docs.example.org", 22, "no"),
        ("a.b.wild.example", 443, "user"),
        ("wild.example", 443, "no"),
        ("notwild.example", 443, "no"),
        ("data.example", 5432, "user"),
        ("data.example", 443, "no"),
        ("10.1.2.3", 443, "user"),
        ("::1", 8080, "user"),
    ],
)
def test_what_is_allowed_is_that_host_and_that_port(host: str, port: int, allowance: str) -> None:
    known = rules(
        "docs.example.org",
        "*.wild.example",
        "data.example:5432",
        "10.1.2.3",
        "[::1]:8080",
        remotes=("code.example.org",),
    )
    assert known.allowance(host, port) == allowance


@each(
    ("host", "port", "is_denied"),
    [
        ("bad.example", 443, True),
        ("bad.example", 25, True),
        ("www.bad.example", 443, True),
        ("notbad.example", 443, False),
        ("one.example", 80, True),
        ("one.example", 443, False),
        ("a.many.example", 443, True),
    ],
)
def test_what_is_denied_is_denied_with_all_below_it(host: str, port: int, is_denied: bool) -> None:
    known = rules(deny=("bad.example", "one.example:80", "*.many.example"))
    assert known.denies(host, port) is is_denied


def test_registries_can_be_left_out() -> None:
    assert HostRules(NetworkRules(registries=False)).allowance("pypi.org", 443) == "no"


@each("entry", ["", "*", "https://a.example", "a.example:", "a.example:0", "a.example:99999", "a b"])
def test_an_entry_that_cannot_be_read_is_told(entry: str) -> None:
    with pytest.raises(ValueError, match=r"sandbox\.network"):
        rules(entry)


@pytest.mark.parametrize(
    ("text", "name"),
    [("EXAMPLE.org.", "example.org"), ("[::1]", "::1"), ("[0:0::1]", "::1"), ("127.0.0.1", "127.0.0.1")],
)
def test_a_host_has_one_form(text: str, name: str) -> None:
    assert host_name(text) == name


@each("text", ["", ".", "a..b", "a/b", "a@b", "a%00b", "bücher.example", "a" * 300, "a\nb"])
def test_what_is_no_host_is_told(text: str) -> None:
    with pytest.raises(ValueError, match="name of a host"):
        host_name(text)


def test_the_registries_are_plain_names_each_once() -> None:
    hosts = [registry.host for registry in REGISTRIES]
    assert hosts == [host_name(host) for host in hosts]
    assert len(hosts) == len(set(hosts))


def test_an_allowed_host_that_is_denied_too_is_not_told_as_reached():
    rules = HostRules(NetworkRules(allow=("a.example", "b.example"), deny=("b.example",), registries=False))
    assert rules.told() == ("a.example",)
