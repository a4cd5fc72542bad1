"""`terminal.backend: daytona`: the session works in a sandbox of Daytona.

Experimental: not yet run against the service. Programs that read are there only at terminals: see `TerminalWire`.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from agent_core.plugins.plugin import PluginContext
from tools.environments.remote.cloud import Cloud, Sandbox, Size, Terminal, cloud_backend
from tools.environments.remote.scripts import new_token

_MAKE_SECONDS = 300.0
_LABEL = "hermes-acp"


def register(ctx: PluginContext) -> None:
    """Offer the backend."""
    ctx.register_environment("daytona", cloud_backend(DaytonaCloud))


class DaytonaCloud(Cloud):
    """The service."""

    backend, sdk_name, title = "daytona", "daytona", "Daytona"
    sign_in = "put DAYTONA_API_KEY into the home's .env, as app.daytona.io/dashboard/keys makes one"

    @cached_property
    def client(self) -> Any:
        """The SDK's."""
        return self.sdk.Daytona()

    def make(self, name: str) -> Sandbox:
        """Make a sandbox, which is deleted when it stops, and in any case when its time is up."""
        sdk, terms = self.sdk, self.terms
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
        return DaytonaSandbox(name, self.client.create(wanted, timeout=_MAKE_SECONDS))

    def named(self, prefix: str) -> Iterator[Sandbox]:
        """Those whose names begin so."""
        for each in self.client.list(self.sdk.ListSandboxesQuery(name=prefix)):
            yield DaytonaSandbox(each.name, each)


class DaytonaSandbox(Sandbox):
    """A sandbox."""

    def opened(self, script: str, size: Size) -> Terminal:
        """Start a script at a terminal: it is typed at the prompt of the sandbox's own shell."""
        asked = importlib.import_module("daytona").PtySize(rows=size.rows, cols=size.columns)
        opened = self.made.process.create_pty_session(id=f"hermes-{new_token()}", pty_size=asked)
        opened.send_input(f"exec sh -c '{script}'\n")
        return _Pty(opened)

    def end(self) -> None:
        """Remove it."""
        self.made.delete()


class _Pty:
    """Implements `Terminal`; `opened` is the SDK's."""

    def __init__(self, opened: Any) -> None:
        self._opened = opened
        self._events = iter(opened)
        self._is_over = False

    def read(self) -> bytes:
        return bytes(next((data for data in self._events if data), b""))

    def write(self, data: bytes) -> None:
        self._opened.send_input(data)

    def kill(self) -> None:
        if self._is_over:
            return
        self._is_over = True
        try:
            self._opened.kill()
        finally:
            self._opened.disconnect()
