"""Which addresses are on the public internet, and what the others are."""

from __future__ import annotations

import ipaddress

from tools.light_dataclass import dataclass

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

# Where clouds hand out the keys of a machine: nothing that a page may lead to.
_METADATA = frozenset(
    ipaddress.ip_address(text)
    for text in (
        "169.254.169.254",
        "169.254.170.2",
        "100.100.100.200",
        "192.0.0.192",
        "fd00:ec2::254",
        "fd20:ce::254",
    )
)
_SHARED = ipaddress.ip_network("100.64.0.0/10")
_FAKE = ipaddress.ip_network("198.18.0.0/15")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
# Not public either, though not every Python's ipaddress knows it.
_NOT_GLOBAL = tuple(
    ipaddress.ip_network(text)
    for text in ("192.0.0.0/24", "192.88.99.0/24", "64:ff9b:1::/48", "fec0::/10", "3fff::/20")
)
_COMPATIBLE = ipaddress.ip_network("::/96")
_IPV4_BITS = 0xFFFFFFFF
_LOCAL_NAMES = ("localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback")
_PRIVATE_ENDINGS = (".localhost", ".local", ".internal", ".lan", ".home.arpa", ".intranet", ".corp")


@dataclass(frozen=True, slots=True)
class Inside:
    """An address that is not on the public internet.

    Attributes:
        what: in words that follow «it is».
        is_closed: nobody can allow it.
    """

    what: str
    is_closed: bool = False


def inside(address: str) -> Inside | None:
    """What an IP address is if it is not a public one; None for a public one.

    An IPv6 address that stands for an IPv4 one (mapped, compatible, NAT64, 6to4, Teredo) is judged by both.

    Raises:
        ValueError: it is no IP address.
    """
    found = ipaddress.ip_address(address.partition("%")[0])
    for each in (found, *_embedded(found)):
        if (judged := _judged(each)) is not None:
            return judged
    return None


def inside_by_name(host: str) -> Inside | None:
    """As `inside`, as far as the host's name alone tells: an address, or a name that only local networks have."""
    name = host.rstrip(".").lower()
    try:
        return inside(name)
    except ValueError:
        pass
    if name in _LOCAL_NAMES or name.endswith(".localhost"):
        return Inside("this machine")
    if name.endswith(_PRIVATE_ENDINGS) or "." not in name:
        return Inside("in a private network")
    return None


def _judged(address: IPAddress) -> Inside | None:
    if address in _METADATA:
        return Inside("a cloud's metadata service", is_closed=True)
    if address.is_unspecified or address.is_multicast:
        return Inside("no address of a server", is_closed=True)
    if address.is_loopback:
        return Inside("this machine")
    if address.is_link_local:
        return Inside("a link-local address", is_closed=True)
    if isinstance(address, ipaddress.IPv4Address):
        if address in _SHARED:
            return Inside("in a carrier's or VPN's private network")
        if address in _FAKE:
            return Inside("in a range for tests, which some VPNs and proxies use")
    if _is_transition(address):
        return None  # judged by the address in it
    if address.is_reserved and isinstance(address, ipaddress.IPv4Address):
        return Inside("in a reserved range", is_closed=True)
    if address.is_private or not address.is_global or any(address in network for network in _NOT_GLOBAL):
        return Inside("in a private network")
    return None


def _is_transition(address: IPAddress) -> bool:
    return bool(_embedded(address)) and address not in _COMPATIBLE


def _embedded(address: IPAddress) -> tuple[IPAddress, ...]:
    if isinstance(address, ipaddress.IPv4Address):
        return ()
    if address.ipv4_mapped is not None:
        return (address.ipv4_mapped,)
    if address.sixtofour is not None:
        return (address.sixtofour,)
    if address.teredo is not None:
        return address.teredo
    if any(address in network for network in (_NAT64, _COMPATIBLE)):
        return (ipaddress.IPv4Address(int(address) & _IPV4_BITS),)
    return ()
