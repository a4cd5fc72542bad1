"""Search without a key: public search engines, asked by the library `ddgs` over connections of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence

from tools.errors import ToolInterrupted, install_line
from tools.ports import Interrupt, WebError, WebSearchHit

Found = Sequence[Mapping[str, str]]
Ask = Callable[[str, int, float], Found]
"""Asks with a query, a number of results and seconds; entries have title, href and body."""

_ENGINES = "duckduckgo, brave, mojeek, startpage, yahoo"
_ADVICE = (
    "Try again in a minute or with other words. (The user can set up a service with a key: BRAVE_API_KEY, "
    "TAVILY_API_KEY, EXA_API_KEY or SEARXNG_URL.)"
)


def ask_engines(query: str, limit: int, timeout: float) -> Found:
    """Ask several engines at once. `timeout` is for each of them, in seconds.

    Raises:
        WebError: the library is missing, or no engine answered.
    """
    try:
        from ddgs import DDGS  # noqa: PLC0415 - an extra, and heavy
        from ddgs.exceptions import DDGSException  # noqa: PLC0415
    except ImportError as problem:
        raise WebError(
            f"Search without a key needs a library that is missing. The user can install it: {install_line('web')}",
            "connection",
        ) from problem
    try:
        return DDGS(timeout=max(1, int(timeout))).text(query, max_results=limit, backend=_ENGINES)
    except DDGSException as problem:
        if str(problem) == "No results found.":
            return ()
        raise WebError(f"The search engines did not answer ({_short(problem)}). {_ADVICE}", "answer") from problem


class EngineSearch:
    """Searches on a thread of its own: the library cannot be interrupted, so a turn that ends leaves it behind."""

    def __init__(self, ask: Ask = ask_engines) -> None:
        self._ask = ask

    def search(self, query: str, limit: int, timeout: float, interrupt: Interrupt) -> Sequence[WebSearchHit]:
        """At most `limit` results; `timeout` in seconds.

        Raises:
            WebError, ToolInterrupted.
        """
        running = _Asking(lambda: self._ask(query, limit, timeout), interrupt)
        running.start()
        if not interrupt.wait_for(lambda: running.is_done, timeout):
            if interrupt.is_set():
                raise ToolInterrupted
            raise WebError(f"The search engines did not answer within {timeout:g} seconds. {_ADVICE}", "timeout")
        if isinstance(running.problem, WebError):
            raise running.problem
        if running.problem is not None:
            raise WebError(
                f"The search failed ({type(running.problem).__name__}: {_short(running.problem)}). {_ADVICE}",
                "answer",
            ) from running.problem
        return [_hit(entry) for entry in running.found][:limit]


class _Asking(threading.Thread):
    def __init__(self, ask: Callable[[], Found], interrupt: Interrupt) -> None:
        super().__init__(name="web-search", daemon=True)
        self._work = ask
        self._interrupt = interrupt
        self.found: Found = ()
        self.problem: Exception | None = None
        self.is_done = False

    def run(self) -> None:
        try:
            self.found = self._work()
        except Exception as problem:  # noqa: BLE001 - the library reads pages of others; whatever it meets is told
            self.problem = problem
        finally:
            self.is_done = True
            self._interrupt.notify()


def _hit(entry: Mapping[str, str]) -> WebSearchHit:
    return WebSearchHit(str(entry.get("title", "")), str(entry.get("href", "")), str(entry.get("body", "")))


def _short(problem: Exception) -> str:
    return " ".join(str(problem).split())[:200] or type(problem).__name__
