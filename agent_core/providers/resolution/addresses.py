"""What an address says: whether it can be used, whose it is, and whether two are on the same server."""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit, urlunsplit

from agent_core.errors import SettingsError
from agent_core.providers.resolution.catalog import SERVICES, Service

_PORTS = {"http": 80, "https": 443}
_LOCAL_NAMES = ("localhost", "host.docker.internal")
_LOCAL_ENDINGS = (".localhost", ".local", ".lan", ".internal")


def check_address(base_url: str) -> str:
    """`base_url` without a slash at its end.

    Raises:
        SettingsError: it is no address of a server.
    """
    try:
        parts = urlsplit(base_url)
        usable = parts.scheme in _PORTS and bool(parts.hostname) and (parts.port is None or parts.port > 0)
        usable = usable and base_url.isprintable()
    except ValueError:
        usable = False
    if not usable:
        shown = "(not shown: it may hold a password)" if "@" in base_url else repr(base_url)
        raise SettingsError(
            f"The server's address {shown} cannot be used: give it as http://HOST:PORT/v1 or https://HOST/v1."
        )
    if parts.query or parts.fragment:
        raise SettingsError(
            f"The address at {parts.hostname} cannot be used: paths are added to it, so it must end before any "
            "«?» or «#» (for Azure: https://RESOURCE.openai.azure.com/openai/v1)."
        )
    return base_url.rstrip("/")


def same_server(one: str, other: str) -> bool:
    """Whether what is secret to one server may go to the other: scheme, host and port are equal."""
    return _server(urlsplit(one)) == _server(urlsplit(other))


def is_local(base_url: str) -> bool:
    """Whether the server is on this machine or in a private network, where models are slow to begin."""
    host = host_of(base_url)
    try:
        return (address := ip_address(host)).is_loopback or address.is_private
    except ValueError:
        return host in _LOCAL_NAMES or host.endswith(_LOCAL_ENDINGS)


def belongs_to(service: Service, base_url: str) -> bool:
    """Whether the address is one of the service's own, so that its key may go there."""
    if service.base_url and same_server(base_url, service.base_url):
        return True
    parts = urlsplit(base_url)
    plain = parts.scheme == "https" and _server(parts)[2] == _PORTS["https"]
    return plain and any(_is_host(host_of(base_url), pattern) for pattern in service.hosts)


def service_at(base_url: str, services: Iterable[Service] = SERVICES.values()) -> Service | None:
    """The hosted service that this address belongs to."""
    return next((service for service in services if not service.local and belongs_to(service, base_url)), None)


def host_of(base_url: str) -> str:
    """The host's name, in lower case."""
    return urlsplit(base_url).hostname or ""


def shown(base_url: str) -> str:
    """The address for messages: without a password or a key that it may hold."""
    parts = urlsplit(base_url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment=""))


def _is_host(host: str, pattern: str) -> bool:
    expression = "[a-z0-9-]+".join(re.escape(part) for part in pattern.split("*"))
    return re.fullmatch(expression, host) is not None


def _server(parts: SplitResult) -> tuple[str, str | None, int | None]:
    return parts.scheme, parts.hostname, parts.port or _PORTS.get(parts.scheme)
