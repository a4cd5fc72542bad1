"""`terminal.backend: modal`: the session works in a sandbox of Modal.

Experimental: not yet run against the service.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Iterator
from typing import Any

from agent_core.plugins.plugin import PluginContext
from tools.environments.remote.cloud import Cloud, Sandbox, Size, Wire, cloud_backend
from tools.environments.remote.scripts import leading

_APP = "hermes-acp"
_TAG = "hermes-acp"
_IDLE = "while :; do sleep 3600; done"
_MOST_NUMBER = 100


def register(ctx: PluginContext) -> None:
    """Offer the backend."""
    ctx.register_environment("modal", cloud_backend(ModalCloud))


class ModalCloud(Cloud):
    """The service."""

    backend, sdk_name, title = "modal", "modal", "Modal"
    sign_in = (
        "put MODAL_TOKEN_ID and MODAL_TOKEN_SECRET, as modal.com/settings shows them, into the home's .env, or run "
        "`modal setup`"
    )

    def make(self, name: str) -> Sandbox:
        """Make a sandbox. Its app, `hermes-acp`, is made with the first."""
        sdk, terms = self.sdk, self.terms
        made = sdk.Sandbox.create(
            "sh",
            "-c",
            _IDLE,
            app=sdk.App.lookup(_APP, create_if_missing=True),
            image=sdk.Image.from_registry(terms.image) if terms.image else sdk.Image.debian_slim(),
            timeout=terms.lifetime,
            cpu=terms.cpus,
            memory=terms.memory,
            block_network=not terms.has_network,
            tags={_TAG: name},
        )
        return ModalSandbox(name, made)

    def named(self, prefix: str) -> Iterator[Sandbox]:
        """Those of the app that run."""
        app = self.sdk.App.lookup(_APP, create_if_missing=True)
        for each in self.sdk.Sandbox.list(app_id=app.app_id):
            if (name := each.get_tags().get(_TAG, "")).startswith(prefix):
                yield ModalSandbox(name, each)


class ModalSandbox(Sandbox):
    """A sandbox."""

    def start(self, script: str, terminal: Size | None) -> Wire:
        """Start a script."""
        sized = f"stty rows {terminal.rows} cols {terminal.columns}; " if terminal else ""
        # The SDK ends no process: its number is what that is done by.
        told = leading(f"printf '%d\\n' $$; {sized}\n{script}", terminal=terminal is not None)
        nowhere = importlib.import_module("modal.stream_type").StreamType.DEVNULL
        process = self.made.exec("sh", "-c", told, stderr=nowhere, text=False, pty=terminal is not None)
        return ModalWire(self.made, process)

    def end(self) -> None:
        """Remove it."""
        self.made.terminate()


class ModalWire:
    """Implements `Wire`; `process` is the SDK's."""

    def __init__(self, made: Any, process: Any) -> None:
        self._made = made
        self._process = process
        self._lock = threading.Lock()
        self._number: int | None = None
        self._is_unwanted = False
        self._is_over = False

    def chunks(self) -> Iterator[bytes]:
        """What it prints behind its number."""
        printed, begun = iter(self._process.stdout), b""
        while b"\n" not in begun:
            if not (chunk := next(printed, b"")) or len(begun) > _MOST_NUMBER:
                raise OSError(f"the shell there did not begin as expected: {begun[:_MOST_NUMBER]!r}")
            begun += chunk
        number, _, rest = begun.partition(b"\n")
        with self._lock:
            self._number = int(number)
            is_unwanted = self._is_unwanted
        if is_unwanted:
            self._end_group()
        if rest:
            yield rest
        yield from printed
        self._is_over = True

    def send(self, data: bytes) -> None:
        """Give it input."""
        self._process.stdin.write(data)
        self._process.stdin.drain()

    def end_input(self) -> None:
        """There is no more input."""
        if not self._is_over:
            self._process.stdin.write_eof()
            self._process.stdin.drain()

    def kill(self) -> None:
        """End its group; where its number has not come yet, as soon as it does."""
        with self._lock:
            is_first, self._is_unwanted = not self._is_unwanted, True
            is_known = self._number is not None
        if is_first and is_known:
            self._end_group()

    def _end_group(self) -> None:
        if not self._is_over:
            number = self._number
            self._made.exec("sh", "-c", f"kill -KILL -{number} || kill -KILL {number}").wait()
