"""Which hosts a rule denies."""

from __future__ import annotations

from tools.approval.rules.patterns import fits


def denies_host(pattern: str, place: str) -> bool:
    """Whether a denying rule means `place`: as written, with any port where none is written, and every host below.

    Args:
        place: a host, with a port or without.
    """
    wanted = place.lower()
    host = _without_port(wanted).rstrip(".")
    return any(fits(each, text) for each in (pattern, f"*.{pattern}") for text in (wanted, host))


def _without_port(place: str) -> str:
    host, _, port = place.rpartition(":")
    # Without brackets an address of several parts has no port: its last part may look like one.
    return host if port.isdigit() and (":" not in host or host.endswith("]")) else place
