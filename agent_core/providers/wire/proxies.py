"""Which requests go through a proxy, as the environment says: HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY."""

from __future__ import annotations

import ipaddress
import ssl
import urllib.request
from collections.abc import Callable, Iterator

import httpx2

from agent_core.errors import ProviderConnectionError

MakeTransport = Callable[[httpx2.Proxy], httpx2.BaseTransport]
_THIS_MACHINE = ("localhost", "127.0.0.0/8", "::1")


def proxy_mounts(make: MakeTransport, trust: ssl.SSLContext) -> dict[str, httpx2.BaseTransport | None]:
    """Transports by URL pattern, as `httpx2.Client` takes them; None is a direct connection.

    NO_PROXY is a list with commas of host names (their subdomains too), `.domain`, addresses, networks
    (10.0.0.0/8, only for hosts given as addresses: no name is looked up for it), any of them with a port (networks
    excepted), or `*`. This machine is never reached through a proxy.

    Raises:
        ProviderConnectionError: a proxy that the environment names cannot be used.
    """
    found = urllib.request.getproxies()
    mounts: dict[str, httpx2.BaseTransport | None] = {}
    for scheme in ("http", "https", "all"):
        if url := found.get(scheme):
            mounts[f"{scheme}://"] = _through(url, scheme, make, trust)
    if not mounts:
        return {}
    exceptions = [part.strip() for part in found.get("no", "").split(",")]
    if "*" in exceptions:
        return {}
    for exception in (*_THIS_MACHINE, *exceptions):
        mounts.update(dict.fromkeys(_patterns(exception)))
    return mounts


def _through(url: str, scheme: str, make: MakeTransport, trust: ssl.SSLContext) -> httpx2.BaseTransport:
    try:
        proxy = httpx2.Proxy(url if "://" in url else f"http://{url}")
        if proxy.url.scheme == "https":
            proxy.ssl_context = trust
        return make(proxy)
    except (ImportError, ValueError, httpx2.InvalidURL) as problem:  # SOCKS, or no proxy's address at all
        raise ProviderConnectionError(
            f"The proxy in the environment's {scheme}_proxy cannot be used: give the address of an HTTP "
            "proxy (http://HOST:PORT), or unset the variable.",
            "proxy",
        ) from problem


def _patterns(exception: str) -> Iterator[str]:
    """URL patterns for one part of NO_PROXY; none for what cannot be read."""
    name, port = _port_apart(exception)
    if network := _network(name):
        address = f"[{network.network_address}]" if network.version == 6 else str(network.network_address)  # noqa: PLR2004
        if network.num_addresses == 1:
            yield f"all://{address}{port}"
        elif not port:
            yield f"all://{address}/{network.prefixlen}"
        return
    name = name.removeprefix("*")
    hosts = [f"*{name}"] if name.startswith(".") else [name, f"*.{name}"] if name else []
    for host in hosts:
        if _is_pattern(f"all://{host}{port}"):
            yield f"all://{host}{port}"


def _port_apart(exception: str) -> tuple[str, str]:
    if exception.startswith("["):
        address, _, port = exception[1:].partition("]")
        return address, port
    name, colon, port = exception.rpartition(":")
    return (name, f":{port}") if colon and port.isdigit() and ":" not in name else (exception, "")


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        return None


def _is_pattern(pattern: str) -> bool:
    try:
        return bool(httpx2.URL(pattern).host)
    except httpx2.InvalidURL:
        return False
