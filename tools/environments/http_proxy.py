"""Which proxy a request goes through, as the environment says: HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY.

Where there is a proxy, it looks the name up again, so what is checked here cannot bind it: a name that leads inside
from here is refused, and what leads inside only from there is the proxy's to refuse.
"""

from __future__ import annotations

import urllib.request
from collections.abc import Mapping
from dataclasses import field
from urllib.parse import unquote, urlsplit

from tools.light_dataclass import dataclass
from tools.ports import WebError
from tools.web.addresses import Target, inside_by_name

_PORT = 80


@dataclass(frozen=True, slots=True)
class Proxy:
    """An HTTP proxy. `auth` is user name and password."""

    host: str
    port: int
    auth: tuple[bytes, bytes] | None = field(default=None, repr=False)


def proxy_for(target: Target, found: Mapping[str, str] | None = None) -> Proxy | None:
    """The proxy for `target`; None for a direct connection: always to this machine and to private networks.

    Args:
        found: proxies by scheme as `urllib.request.getproxies` has them; None reads the environment.

    Raises:
        WebError: the proxy cannot be used.
    """
    proxies = urllib.request.getproxies_environment() if found is None else found
    url = proxies.get(target.scheme) or proxies.get("all")
    if not url or inside_by_name(target.host) is not None:
        return None
    if urllib.request.proxy_bypass_environment(f"{target.host}:{target.port}", proxies):  # type: ignore[attr-defined]
        return None
    return _read(url, target.scheme)


def _read(url: str, scheme: str) -> Proxy:
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        host, port = parts.hostname, parts.port or _PORT
    except ValueError:
        parts, host, port = None, None, 0
    if parts is None or parts.scheme != "http" or not host:
        raise WebError(
            f"The proxy in the environment's {scheme}_proxy cannot be used for web requests: the user has to give "
            "the address of an HTTP proxy (http://HOST:PORT), or unset the variable.",
            "connection",
        )
    auth = (
        (unquote(parts.username or "").encode(), unquote(parts.password or "").encode()) if parts.username else None
    )
    return Proxy(host, port, auth)
