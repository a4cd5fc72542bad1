"""Which addresses are public, and which URLs may be asked for."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from tools.light_dataclass import dataclass
from tools.ports import WebError

if TYPE_CHECKING:
    import httpx2


# Which addresses are on the public internet, and what the others are.

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


# URLs as they may be asked for: absolute, http or https, without credentials.

_PORTS = {"http": 80, "https": 443}
_MAX_CHARS = 8_000
_LAST_PORT = 65_535


@dataclass(frozen=True, slots=True)
class Target:
    """Where a request goes.

    Attributes:
        url: without its fragment.
        host: in lower case, in the form of the name system (xn--…); an IPv6 address without brackets.
        path: with its query, as it is sent.
    """

    url: str
    scheme: str
    host: str
    port: int
    path: bytes

    @property
    def origin(self) -> tuple[str, str, int]:
        """What a browser calls the same site."""
        return self.scheme, self.host, self.port

    @property
    def shown_host(self) -> str:
        """The host as it stands in a URL."""
        return f"[{self.host}]" if ":" in self.host else self.host

    @property
    def place(self) -> str:
        """The host, with the port where it is not the usual one."""
        return self.shown_host if self.port == _PORTS[self.scheme] else f"{self.shown_host}:{self.port}"


def target_of(url: str) -> Target:
    """Read a URL.

    Raises:
        WebError: it is none that is asked for.
    """
    import httpx2  # noqa: PLC0415 - a tenth of a second, only for those who use the web

    if len(url) > _MAX_CHARS:
        raise WebError(f"The URL has {len(url)} characters; more than {_MAX_CHARS} are not sent.", "url")
    try:
        parsed = httpx2.URL(url.strip())
    except (httpx2.InvalidURL, UnicodeError, ValueError) as problem:
        raise WebError(f"{url!r} is not a URL ({problem}). Give it as https://host/path.", "url") from problem
    return _target(parsed, url)


def redirected(target: Target, location: str) -> Target:
    """Where a redirect leads.

    Raises:
        WebError: nowhere that is asked for, or from https to http.
    """
    import httpx2  # noqa: PLC0415

    try:
        joined = httpx2.URL(target.url).join(location)
    except (httpx2.InvalidURL, UnicodeError, ValueError) as problem:
        raise WebError(f"{target.url} leads to {location[:200]!r}, which is not a URL.", "redirect") from problem
    found = _target(joined, location)
    if target.scheme == "https" and found.scheme == "http":
        raise WebError(
            f"{target.url} leads from https to {found.url}: that is not followed. Ask for that URL itself if it is "
            "what you need.",
            "redirect",
        )
    return found


def _target(parsed: httpx2.URL, given: str) -> Target:
    if parsed.scheme not in _PORTS:
        raise WebError(f"{given[:200]!r} is not an http or https URL. Give it as https://host/path.", "url")
    if parsed.userinfo:
        raise WebError("The URL holds a user name or a password: such URLs are not asked for. Leave it out.", "url")
    host = parsed.raw_host.decode("ascii").lower()
    port = parsed.port if parsed.port is not None else _PORTS[parsed.scheme]
    if not host.strip(".") or "%" in host or not 0 < port <= _LAST_PORT:
        raise WebError(f"{given[:200]!r} names no host that there can be. Give it as https://host/path.", "url")
    bare = parsed.copy_with(fragment=None)
    return Target(str(bare), parsed.scheme, host, port, bare.raw_path)
