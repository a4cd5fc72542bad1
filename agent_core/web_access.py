"""The process's way to the web, which its sessions share: each call goes through a gate of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from tools.approval.gate import Gate
from tools.settings import WebSettings

if TYPE_CHECKING:
    from tools.environments.http_client import EngineSearch, HttpWeb
    from tools.ports import Web


class WebAccess:
    """Makes the clients at first use, and anew when the settings have changed. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: tuple[WebSettings, HttpWeb, EngineSearch] | None = None

    def under(self, limits: WebSettings) -> Callable[[Gate], Web]:
        """What puts the web behind a call's gate, under these limits."""
        return lambda gate: self._behind(gate, limits)

    def _behind(self, gate: Gate, limits: WebSettings) -> Web:
        from tools.environments.http_client import GatedWeb  # noqa: PLC0415 - most sessions never look at the web

        inner, engines = self._clients(limits)
        return GatedWeb(inner, engines, gate, limits)

    def _clients(self, limits: WebSettings) -> tuple[HttpWeb, EngineSearch]:
        from agent_core.providers.transport import trusted_certificates  # noqa: PLC0415 - as above
        from tools.environments.http_client import EngineSearch, HttpWeb  # noqa: PLC0415

        with self._lock:
            if self._made is None or self._made[0] != limits:
                self._made = (limits, HttpWeb(limits, trust=trusted_certificates), EngineSearch())
            return self._made[1], self._made[2]
