"""The web as tools get it: every host that is reached, and every search service that is asked, passes the gate."""

from __future__ import annotations

from collections.abc import Sequence

from tools.approval.actions import SearchWeb
from tools.approval.gate import Gate
from tools.environments.http_search import EngineSearch
from tools.environments.http_web import HttpWeb
from tools.ports import Interrupt, WebRequest, WebResponse, WebSearchHit
from tools.settings import WebSettings

ENGINES = "public search engines"
"""What the person reads when a search without a key is asked about."""


class GatedWeb:
    """A `Web` that asks first. `inner` and `engines` are shared by all sessions, the gate is one call's."""

    def __init__(self, inner: HttpWeb, engines: EngineSearch, gate: Gate, settings: WebSettings) -> None:
        self._inner = inner
        self._engines = engines
        self._gate = gate
        self._timeout = settings.timeout / 2

    def fetch(self, request: WebRequest, interrupt: Interrupt) -> WebResponse:
        """Ask for each host on the way, then fetch; of a search service only whether it may be asked this.

        Raises:
            WebError, Denied, ToolInterrupted: as in the port.
        """
        if not request.service:
            return self._inner.fetch(request, interrupt, self._gate.authorize)
        self._gate.authorize(SearchWeb(request.service, request.query))
        return self._inner.fetch(request, interrupt, None)

    def search(self, query: str, limit: int, interrupt: Interrupt) -> Sequence[WebSearchHit]:
        """Ask the person, then the engines.

        Raises:
            WebError, Denied, ToolInterrupted: as in the port.
        """
        self._gate.authorize(SearchWeb(ENGINES, query))
        return self._engines.search(query, limit, self._timeout, interrupt)
