"""URLs as they may be asked for: absolute, http or https, without credentials."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.light_dataclass import dataclass
from tools.web.port import WebError

if TYPE_CHECKING:
    import httpx2

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
