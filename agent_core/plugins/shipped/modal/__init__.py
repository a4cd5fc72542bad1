"""`terminal.backend: modal`: the session works in a sandbox of Modal.

Experimental: not yet run against the service.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

from agent_core.plugins.plugin import PluginContext
from tools.environments.remote.cloud import Size, Terms, cloud_backend, loaded, need
from tools.environments.remote.scripts import leading

_APP = "hermes-acp"
_TAG = "hermes-acp"
_IDLE = "while :; do sleep 3600; done"
_MOST_NUMBER = 100


def register(ctx: PluginContext) -> None:
    """Offer the backend."""
    ctx.register_environment("modal", cloud_backend("modal", ModalCloud))


class ModalCloud:
    """Implements `Cloud`.

    Raises:
        CommandError: the SDK is not installed.
    """

    title = "Modal"
    sign_in = (
        "put MODAL_TOKEN_ID and MODAL_TOKEN_SECRET, as modal.com/settings shows them, into the home's .env, or run "
        "`modal setup`"
    )

    def __init__(self, terms: Terms) -> None:
        need("modal", "modal")
        self._terms = terms

    def make(self, name: str) -> ModalSandbox:
        """Make a sandbox. Its app, `hermes-acp`, is made with the first."""
        sdk, terms = loaded("modal"), self._terms
        image = sdk.Image.from_registry(terms.image) if terms.image else sdk.Image.debian_slim()
        made = sdk.Sandbox.create(
            "sh",
            "-c",
            _IDLE,
            app=sdk.App.lookup(_APP, create_if_missing=True),
            image=image,
            timeout=terms.lifetime,
            cpu=terms.cpus,
            memory=terms.memory,
            block_network=not terms.has_network,
            tags={_TAG: name},
        )
        return ModalSandbox(name, made)

    def named(self, prefix: str) -> Iterator[ModalSandbox]:
        """Those of the app that run."""
        sdk = loaded("modal")
        app = sdk.App.lookup(_APP, create_if_missing=True)
        for each in sdk.Sandbox.list(app_id=app.app_id):
            if (name := each.get_tags().get(_TAG, "")).startswith(prefix):
                yield ModalSandbox(name, each)


class ModalSandbox:
    """Implements `Sandbox`; `made` is the SDK's."""

    def __init__(self, name: str, made: Any) -> None:
        self.name = name
        self._made = made

    def start(self, script: str, terminal: Size | None) -> ModalWire:
        """Start a script."""
        sized = f"stty rows {terminal.rows} cols {terminal.columns}; " if terminal else ""
        # The SDK ends no process: its number is what that is done by.
        told = leading(f"printf '%d\\n' $$; {sized}\n{script}", terminal=terminal is not None)
        nowhere = loaded("modal.stream_type").StreamType.DEVNULL
        process = self._made.exec("sh", "-c", told, stderr=nowhere, text=False, pty=terminal is not None)
        return ModalWire(self._made, process)

    def end(self) -> None:
        """Remove it."""
        self._made.terminate()


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
        begun = b""
        for chunk in self._process.stdout:
            if self._number is not None:
                yield chunk
                continue
            begun += chunk
            number, ended, rest = begun.partition(b"\n")
            if len(number) > _MOST_NUMBER:
                raise OSError(f"the shell there did not begin as expected: {number[:_MOST_NUMBER]!r}")
            if ended:
                self._know(number)
            if rest:
                yield rest
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
            if self._is_unwanted:
                return
            self._is_unwanted = True
            number = self._number
        if number is not None:
            self._end_group(number)

    def _know(self, told: bytes) -> None:
        try:
            number = int(told)
        except ValueError as problem:
            raise OSError(f"the shell there did not begin as expected: {told!r}") from problem
        with self._lock:
            self._number = number
            is_unwanted = self._is_unwanted
        if is_unwanted:
            self._end_group(number)

    def _end_group(self, number: int) -> None:
        if not self._is_over:
            self._made.exec("sh", "-c", f"kill -KILL -{number} || kill -KILL {number}").wait()
