"""What is on the public internet, and what is not."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.each import each
from tools.web.addresses import inside, inside_by_name

PUBLIC = ["8.8.8.8", "172.32.0.1", "2606:4700:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::"]
PRIVATE = [
    "127.0.0.1",
    "127.255.255.254",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.1.1",
    "100.64.0.1",
    "198.18.0.1",
    "192.0.2.1",
    "::1",
    "fc00::1",
    "fec0::1",
    "2001:db8::1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b:1::808:808",
    "2002:7f00:1::",
]
CLOSED = [
    "169.254.169.254",
    "169.254.1.1",
    "fe80::1%eth0",
    "0.0.0.0",
    "::",
    "224.0.0.1",
    "ff02::1",
    "255.255.255.255",
]
METADATA = ["100.100.100.200", "192.0.0.192", "fd00:ec2::254", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe"]


@each("address", PUBLIC)
def test_a_public_address_is_not_inside(address: str) -> None:
    assert inside(address) is None


@each("address", PRIVATE)
def test_a_private_address_can_be_allowed(address: str) -> None:
    found = inside(address)
    assert found is not None
    assert not found.is_closed


@each("address", [*CLOSED, *METADATA])
def test_some_addresses_cannot_be_allowed(address: str) -> None:
    found = inside(address)
    assert found is not None
    assert found.is_closed


@settings(max_examples=60, deadline=None)
@given(st.ip_addresses(v=4))
def test_an_ipv4_address_is_judged_alike_in_every_form_of_ipv6(address: ipaddress.IPv4Address) -> None:
    alone = inside(str(address))
    number = int(address)
    for form in (0xFFFF << 32 | number, 0x64FF9B << 96 | number, 0x2002 << 112 | number << 80):
        assert inside(str(ipaddress.IPv6Address(form))) == alone


@settings(max_examples=60, deadline=None)
@given(st.ip_addresses())
def test_what_python_calls_not_global_is_never_public(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    if not address.is_global and getattr(address, "ipv4_mapped", None) is None:
        stands_for_another = any(getattr(address, form, None) is not None for form in ("sixtofour", "teredo"))
        assert stands_for_another or inside(str(address)) is not None


@each(
    "host",
    [
        "localhost",
        "LOCALHOST.",
        "a.localhost",
        "printer",
        "nas.local",
        "db.internal",
        "router.lan",
        "2130706433",
        "[::1]"[1:-1],
    ],
)
def test_a_name_that_only_local_networks_have_is_inside(host: str) -> None:
    assert inside_by_name(host) is not None


@pytest.mark.parametrize("host", ["docs.example.org", "localhost.example.org", "8.8.8.8", "internal.example"])
def test_other_names_are_judged_by_where_they_lead(host: str) -> None:
    assert inside_by_name(host) is None
