"""`terminal.backend: vercel`: the session works in a sandbox of Vercel.

Experimental: not yet run against the service. Output is plain bytes only at terminals: see `TerminalWire`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

from agent_core.plugins.plugin import PluginContext
from tools.environments.remote.cloud import Cloud, Sandbox, Size, Terminal, cloud_backend

_MOST = 65_536


def register(ctx: PluginContext) -> None:
    """Offer the backend."""
    ctx.register_environment("vercel", cloud_backend(VercelCloud))


class VercelCloud(Cloud):
    """The service."""

    backend, sdk_name, title = "vercel", "vercel.sandbox.sync", "Vercel"
    sign_in = (
        "put VERCEL_TOKEN, VERCEL_TEAM_ID and VERCEL_PROJECT_ID into the home's .env (or VERCEL_OIDC_TOKEN, as "
        "`vercel env pull` gives it)"
    )

    def make(self, name: str) -> Sandbox:
        """Make a sandbox, of which nothing is kept."""
        sdk, terms = self.sdk, self.terms
        policy = sdk.NetworkPolicy.allow_all() if terms.has_network else sdk.NetworkPolicy.deny_all()
        cpus = terms.whole_cpus
        made = sdk.create_sandbox(
            name=name,
            image=terms.image or None,
            execution_time_limit=terms.lifetime,
            resources=None if cpus is None else sdk.SandboxResources(vcpus=cpus),
            persistent=False,
            network_policy=policy,
        )
        return VercelSandbox(name, made)

    def named(self, prefix: str) -> Iterator[Sandbox]:
        """Those whose names begin so."""
        for each in self.sdk.query_sandboxes(query=self.sdk.SandboxQueryByName(name_prefix=prefix)):
            yield VercelSandbox(each.name, each)


class VercelSandbox(Sandbox):
    """A sandbox."""

    def opened(self, script: str, size: Size) -> Terminal:
        """Start a script at a terminal."""
        return _Interactive(self.made.open_interactive("sh", ["-c", script], cols=size.columns, rows=size.rows))

    def end(self) -> None:
        """Remove it."""
        self.made.destroy(delete_orphan_snapshots=True)


class _Interactive:
    """Implements `Terminal`; `operation` is the SDK's, not entered yet."""

    def __init__(self, operation: Any) -> None:
        self._scope = ExitStack()
        self._stream = self._scope.enter_context(operation).stream

    def read(self) -> bytes:
        return self._stream.read(_MOST) or b""

    def write(self, data: bytes) -> None:
        self._stream.write(data)

    def kill(self) -> None:
        """Let go: the service ends what is at a terminal that nobody holds."""
        self._scope.close()
