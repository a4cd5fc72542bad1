"""`terminal.backend: daytona`: the session works in a sandbox of Daytona.

Experimental: not yet run against the service. Programs that read are there only at terminals: see `TerminalWire`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agent_core.plugins.plugin import PluginContext
from tools.environments.remote.cloud import Size, TerminalWire, Terms, cloud_backend, first_program, loaded, need
from tools.environments.remote.scripts import new_token

_MAKE_SECONDS = 300.0
_LABEL = "hermes-acp"
_PLAIN = Size(24, 120)


def register(ctx: PluginContext) -> None:
    """Offer the backend."""
    ctx.register_environment("daytona", cloud_backend("daytona", DaytonaCloud))


class DaytonaCloud:
    """Implements `Cloud`.

    Raises:
        CommandError: the SDK is not installed.
    """

    title = "Daytona"
    sign_in = "put DAYTONA_API_KEY into the home's .env, as app.daytona.io/dashboard/keys makes one"

    def __init__(self, terms: Terms) -> None:
        need("daytona", "daytona")
        self._terms = terms
        self._client: Any = None

    def make(self, name: str) -> DaytonaSandbox:
        """Make a sandbox, which is deleted when it stops, and in any case when its time is up."""
        sdk, terms = loaded("daytona"), self._terms
        common = {
            "name": name,
            "labels": {_LABEL: name},
            "ephemeral": True,
            "auto_stop_interval": terms.minutes,
            "ttl_minutes": terms.minutes,
            "network_block_all": not terms.has_network,
        }
        if terms.image:
            resources = sdk.Resources(cpu=terms.whole_cpus, memory=terms.gigabytes)
            wanted = sdk.CreateSandboxFromImageParams(image=terms.image, resources=resources, **common)
        else:
            wanted = sdk.CreateSandboxFromSnapshotParams(**common)
        return DaytonaSandbox(name, self._connected().create(wanted, timeout=_MAKE_SECONDS))

    def named(self, prefix: str) -> Iterator[DaytonaSandbox]:
        """Those whose names begin so."""
        query = loaded("daytona").ListSandboxesQuery(name=prefix)
        for each in self._connected().list(query):
            yield DaytonaSandbox(each.name, each)

    def _connected(self) -> Any:
        if self._client is None:
            self._client = loaded("daytona").Daytona()
        return self._client


class DaytonaSandbox:
    """Implements `Sandbox`; `made` is the SDK's."""

    def __init__(self, name: str, made: Any) -> None:
        self.name = name
        self._made = made

    def start(self, script: str, terminal: Size | None) -> TerminalWire:
        """Start a script: its shell is typed at the prompt of the sandbox's own."""
        token, size = new_token(), terminal or _PLAIN
        opened = self._made.process.create_pty_session(
            id=f"hermes-{token}", pty_size=loaded("daytona").PtySize(rows=size.rows, cols=size.columns)
        )
        opened.send_input(f"exec sh -c '{first_program(token)}'\n")
        return TerminalWire(_Pty(opened), token, script, terminal)

    def end(self) -> None:
        """Remove it."""
        self._made.delete()


class _Pty:
    """Implements `Terminal`; `opened` is the SDK's."""

    def __init__(self, opened: Any) -> None:
        self._opened = opened
        self._events = iter(opened)
        self._is_over = False

    def read(self) -> bytes:
        """What it prints next."""
        return bytes(next((data for data in self._events if data), b""))

    def write(self, data: bytes) -> None:
        """Type."""
        self._opened.send_input(data)

    def kill(self) -> None:
        """End it."""
        if self._is_over:
            return
        self._is_over = True
        try:
            self._opened.kill()
        finally:
            self._opened.disconnect()
