"""`terminal.backend: vercel`: the session works in a sandbox of Vercel.

Experimental: not yet run against the service. Output is plain bytes only at terminals: see `TerminalWire`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

from agent_core.plugins.plugin import PluginContext
from tools.environments.remote.cloud import Size, TerminalWire, Terms, cloud_backend, first_program, loaded, need
from tools.environments.remote.scripts import new_token

_SDK = "vercel.sandbox.sync"
_MOST = 65_536
_PLAIN = Size(24, 120)


def register(ctx: PluginContext) -> None:
    """Offer the backend."""
    ctx.register_environment("vercel", cloud_backend("vercel", VercelCloud))


class VercelCloud:
    """Implements `Cloud`.

    Raises:
        CommandError: the SDK is not installed.
    """

    title = "Vercel"
    sign_in = (
        "put VERCEL_TOKEN, VERCEL_TEAM_ID and VERCEL_PROJECT_ID into the home's .env (or VERCEL_OIDC_TOKEN, as "
        "`vercel env pull` gives it)"
    )

    def __init__(self, terms: Terms) -> None:
        need("vercel", "vercel")
        self._terms = terms

    def make(self, name: str) -> VercelSandbox:
        """Make a sandbox, of which nothing is kept."""
        sdk, terms = loaded(_SDK), self._terms
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

    def named(self, prefix: str) -> Iterator[VercelSandbox]:
        """Those whose names begin so."""
        sdk = loaded(_SDK)
        for each in sdk.query_sandboxes(query=sdk.SandboxQueryByName(name_prefix=prefix)):
            yield VercelSandbox(each.name, each)


class VercelSandbox:
    """Implements `Sandbox`; `made` is the SDK's."""

    def __init__(self, name: str, made: Any) -> None:
        self.name = name
        self._made = made

    def start(self, script: str, terminal: Size | None) -> TerminalWire:
        """Start a script."""
        token, size = new_token(), terminal or _PLAIN
        operation = self._made.open_interactive("sh", ["-c", first_program(token)], cols=size.columns, rows=size.rows)
        return TerminalWire(_Interactive(operation), token, script, terminal)

    def end(self) -> None:
        """Remove it."""
        self._made.destroy(delete_orphan_snapshots=True)


class _Interactive:
    """Implements `Terminal`; `operation` is the SDK's, not entered yet."""

    def __init__(self, operation: Any) -> None:
        self._scope = ExitStack()
        self._stream = self._scope.enter_context(operation).stream

    def read(self) -> bytes:
        """What it prints next."""
        return self._stream.read(_MOST) or b""

    def write(self, data: bytes) -> None:
        """Type."""
        self._stream.write(data)

    def kill(self) -> None:
        """Let go: the service ends what is at a terminal that nobody holds."""
        self._scope.close()
