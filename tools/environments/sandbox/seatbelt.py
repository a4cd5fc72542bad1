"""A sandbox for macOS: a profile for `sandbox-exec`. The tests read its text; none has run it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tools.environments.sandbox.kernel import limit_process
from tools.environments.sandbox.places import Scratch
from tools.environments.sandbox.port import Confinement

if TYPE_CHECKING:
    from tools.environments.sandbox.network.session_network import SessionNetwork

PROGRAM = "/usr/bin/sandbox-exec"

_DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/dtracehelper")
# Programs that others start for whoever asks: a command could have them do what it may not.
_SERVICES = (
    *("com.apple.coreservices.launchservicesd", "com.apple.coreservices.appleevents", "com.apple.SecurityServer"),
    *("com.apple.securityd", "com.apple.pasteboard.1", "com.apple.tccd"),
)


class SeatbeltSandbox:
    """Implements `tools.environments.sandbox.port.Sandbox`; one for a session, safe to use from several threads.

    Args:
        guard: the session's network, of which the proxy is used: macOS tells nobody of connections.
    """

    def __init__(self, guard: SessionNetwork | None = None) -> None:
        self._guard = guard
        self._scratch = Scratch()

    @property
    def name(self) -> str:
        """What it is made of."""
        return "seatbelt"

    @property
    def hides_beside_changes(self) -> bool:
        """Whether a file can be hidden where commands make files: the profile names it."""
        return True

    def popen(self, arguments: Sequence[str], confinement: Confinement, **popen: Any) -> subprocess.Popen[bytes]:
        """Start a process under a profile.

        Raises:
            OSError: it could not be started.
        """
        popen.pop("apart", None)  # as far as its group goes, each is
        profile = seatbelt_profile(confinement, (self._scratch.path(),), self._proxy_port(confinement))
        process = subprocess.Popen([PROGRAM, "-p", profile, *arguments], **popen)
        try:
            limit_process(process.pid, confinement.limits)
        except BaseException:
            process.kill()
            process.wait()
            raise
        return process

    def variables(self, confinement: Confinement) -> Mapping[str, str]:
        """The way to the proxy, and directories for what is not kept.

        Raises:
            OSError: the proxy or the directory cannot be had.
        """
        found = {} if confinement.level == "full" else dict(self._scratch.variables(confinement.level))
        if confinement.network == "proxy" and self._guard is not None:
            found |= self._guard.variables()
        return found

    def end_left(self, process: subprocess.Popen[bytes]) -> bool:  # noqa: ARG002 - the port's signature
        """Nothing: who has left a process's group is not known here."""
        return False

    def refusals(self, process: subprocess.Popen[bytes]) -> tuple[str, ...]:  # noqa: ARG002 - the port's
        """What the proxy refused is not known by command here."""
        return ()

    def any_left(self) -> bool:
        """Not known here: the caller knows the process groups."""
        return False

    def close(self) -> None:
        """The session has ended."""
        self._scratch.close()

    def _proxy_port(self, confinement: Confinement) -> int | None:
        if confinement.network != "proxy" or self._guard is None:
            return None
        return urlsplit(self._guard.variables().get("HTTP_PROXY", "")).port


def seatbelt_profile(confinement: Confinement, own: Iterable[Path] = (), proxy_port: int | None = None) -> str:
    """The profile that keeps a command to its confinement. Of two rules that fit, the later one counts.

    Args:
        own: the sandbox's own directories, which any command may change.
        proxy_port: the loopback port that may be reached where the network is a proxy's.
    """
    lines = ["(version 1)", "(allow default)"]
    if confinement.level != "full":
        writable = (*(confinement.writable if confinement.level == "workspace-write" else ()), *own)
        lines.append("(deny file-write*)")
        lines += [f"(allow file-write* {_below(place)})" for place in writable]
        lines += [f"(allow file-write* (literal {_text(device)}))" for device in _DEVICES]
        lines += [f"(deny file-write* {_below(place)})" for place in (*confinement.protected, *confinement.held)]
        lines += [f"(deny mach-lookup (global-name {_text(service)}))" for service in _SERVICES]
        lines += ["(deny appleevent-send)", "(deny signal)", "(allow signal (target same-sandbox))"]
        lines += ["(deny process-info* (target others))", "(allow process-info* (target same-sandbox))"]
        lines += ["(deny file-write-setugid)", "(deny iokit-open)"]
    lines += [f"(deny file-read* file-write* {_below(place)})" for place in confinement.hidden]
    lines += _network(confinement, proxy_port)
    return "\n".join(lines) + "\n"


def _network(confinement: Confinement, proxy_port: int | None) -> list[str]:
    if confinement.network == "on":
        return []
    lines = ["(deny network*)", '(allow network-bind (local ip "localhost:*"))']
    lines.append('(allow network-inbound (local ip "localhost:*"))')
    if confinement.network == "proxy" and proxy_port is not None:
        lines.append(f'(allow network-outbound (remote ip "localhost:{proxy_port}"))')
    return lines


def _below(place: Path) -> str:
    return f"(subpath {_text(place)})"


def _text(value: str | Path) -> str:
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
