"""HTTP for tools: redirects followed by hand, every address checked, connected to and nothing else, under limits."""

from __future__ import annotations

import ssl
import threading
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tools.approval.actions import ReachHost, SearchWeb
from tools.approval.gate import Gate
from tools.environments.http_connect import (
    CheckedBackend,
    Deadline,
    LookUp,
    Proxy,
    addresses_of,
    awaited,
    look_up,
    proxy_for,
)
from tools.errors import ToolInterrupted, install_line
from tools.ports import Interrupt, WebError, WebRequest, WebResponse, WebSearchHit
from tools.settings import WebSettings
from tools.web.addresses import Inside, Target, inside, inside_by_name, redirected, target_of

if TYPE_CHECKING:
    import httpcore2


# A response's body, unpacked bit by bit, so that a few bytes cannot become more than is allowed.

ACCEPTED = "gzip, deflate"
_CHUNK = 64 * 1024
_MIB = 1024 * 1024
_GZIP = 16 + zlib.MAX_WBITS
_WINDOWS = {"": 0, "identity": 0, "gzip": _GZIP, "x-gzip": _GZIP, "deflate": zlib.MAX_WBITS}


def read_body(parts: Iterable[bytes], headers: Mapping[str, str], max_bytes: int, url: str) -> bytes:
    """The whole body.

    Args:
        headers: of the response, names in lower case.
        max_bytes: for what is sent, and for what it unpacks to.

    Raises:
        WebError: it is longer, or packed in a way that was not offered, or broken.
    """
    declared = headers.get("content-length", "")
    if declared.isdigit() and int(declared) > max_bytes:
        raise _too_big(url, f"has {int(declared) / _MIB:.1f} MiB", max_bytes)
    encoding = headers.get("content-encoding", "").strip().lower()
    if encoding not in _WINDOWS:
        raise WebError(f"{url} sent its content packed as {encoding[:40]!r}, which was not offered to it.", "answer")
    unpacker = _Unpacking(_WINDOWS[encoding])
    body, sent = bytearray(), 0
    for part in parts:
        sent += len(part)
        try:
            body += unpacker.add(part, max_bytes - len(body))
        except zlib.error as problem:
            raise WebError(f"{url} sent compressed data that is broken ({problem}).", "answer") from problem
        if sent > max_bytes or len(body) > max_bytes:
            raise _too_big(url, "is larger", max_bytes)
    if not unpacker.is_whole():
        raise WebError(f"{url} broke off in the middle of its compressed content. Try again later.", "answer")
    return bytes(body)


class _Unpacking:
    """gzip (several members too), and deflate with or without zlib's header; `window` 0 for what is not packed."""

    def __init__(self, window: int) -> None:
        self._window = window
        self._stream = zlib.decompressobj(window or zlib.MAX_WBITS)
        self._is_first = True
        self._is_inside = False

    def add(self, data: bytes, room: int) -> bytes:
        """Unpack; more than `room` bytes where there are more."""
        if not self._window:
            return data
        out = bytearray()
        while data and len(out) <= room:
            out += self._some(data)
            data = self._stream.unconsumed_tail
            self._is_inside = not self._stream.eof
            if self._stream.eof:
                data = self._stream.unused_data.lstrip(b"\0")
                self._stream = zlib.decompressobj(self._window)
        return bytes(out)

    def is_whole(self) -> bool:
        """Whether nothing is missing at the end; a length that was promised is watched where the parts are read."""
        return not self._is_inside

    def _some(self, data: bytes) -> bytes:
        try:
            return self._stream.decompress(data, _CHUNK)
        except zlib.error:
            if not self._is_first or self._window == _GZIP:
                raise
            self._window = -zlib.MAX_WBITS
            self._stream = zlib.decompressobj(self._window)
            return self._stream.decompress(data, _CHUNK)
        finally:
            self._is_first = False


def _too_big(url: str, what: str, max_bytes: int) -> WebError:
    return WebError(
        f"{url} {what}; at most {max_bytes / _MIB:g} MiB are taken. Download it with the terminal (curl -o) and read "
        "the part that you need.",
        "size",
    )


Allow = Callable[[ReachHost], object]
"""Returns when the host may be reached; raises Denied or ToolInterrupted."""

_AGENT = "Mozilla/5.0 (compatible; hermes-acp)"
_PATIENCE = 3.0
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_OWN = frozenset({"host", "connection", "content-length", "transfer-encoding", "accept-encoding"})


class HttpWeb:
    """Sends requests; safe to use from several threads.

    Args:
        trust: makes the TLS settings, once; None takes the system's certificates.
        find: looks names up.
        proxies: as `urllib.request.getproxies` has them; None reads the environment at each request.
    """

    def __init__(
        self,
        settings: WebSettings,
        *,
        trust: Callable[[], ssl.SSLContext] | None = None,
        find: LookUp = look_up,
        proxies: Mapping[str, str] | None = None,
    ) -> None:
        self._settings = settings
        self._trust = trust or _system_trust
        self._find = find
        self._proxies = proxies
        self._lock = threading.Lock()
        self._tls: ssl.SSLContext | None = None

    def fetch(self, request: WebRequest, interrupt: Interrupt, allow: Allow | None) -> WebResponse:
        """Send `request` and take the whole answer.

        Args:
            allow: is asked before each new host is looked up, and again when that leads inside; None for a server
                that the user has set up: it may be anywhere.

        Raises:
            WebError: no answer, or one that is not taken. Denied, ToolInterrupted.
        """
        target = target_of(request.url)
        import httpcore2  # noqa: F401, PLC0415 - a tenth of a second, which is not the request's

        deadline = Deadline(request.timeout or self._settings.timeout, target.url, interrupt)
        passage = _Passage(allow, deadline, allow_private=self._settings.allow_private)
        headers = dict(request.headers)
        for _ in range(request.max_redirects + 1):
            response = self._hop(target, request, headers, passage)
            location = response.headers.get("location")
            if response.status not in _REDIRECTS or not location or request.method != "GET":
                return response
            following = redirected(target, location)
            if following.origin != target.origin:
                headers = {name: value for name, value in headers.items() if name.lower() == "accept"}
            target = following
        raise WebError(
            f"{request.url} was redirected more than {request.max_redirects} times, in the end to {target.url}.",
            "redirect",
        )

    def _hop(self, target: Target, request: WebRequest, headers: Mapping[str, str], passage: _Passage) -> WebResponse:
        passage.before(target)
        deadline = passage.deadline
        proxy = proxy_for(target, self._proxies)
        if proxy is None:
            addresses = addresses_of(target.host, target.port, deadline, self._find)
            passage.found(target, addresses)
        else:
            self._seen_from_here(target, passage)
            addresses = addresses_of(proxy.host, proxy.port, deadline, self._find)
        tls = self._trusted() if target.scheme == "https" else None
        return self._sent(target, request, headers, deadline, _pool(proxy, addresses, deadline, tls))

    def _seen_from_here(self, target: Target, passage: _Passage) -> None:
        """The proxy looks the name up for itself; where it is known here too, it must not lead inside from here."""
        if not passage.is_checked:
            return
        short = Deadline(min(passage.deadline.left(), _PATIENCE), target.url, passage.deadline.interrupt)
        try:
            addresses = addresses_of(target.host, target.port, short, self._find)
        except WebError:
            return  # many that need a proxy know no names at all
        passage.found(target, addresses)

    def _sent(
        self,
        target: Target,
        request: WebRequest,
        headers: Mapping[str, str],
        deadline: Deadline,
        connections: httpcore2.ConnectionPool,
    ) -> WebResponse:
        import httpcore2  # noqa: PLC0415 - a tenth of a second, only for those who use the web

        port = None if target.place == target.shown_host else target.port
        url = httpcore2.URL(scheme=target.scheme.encode(), host=target.host.encode(), port=port, target=target.path)
        limit = request.max_bytes or self._settings.max_bytes
        try:
            with (
                connections as pool,
                pool.stream(request.method, url, headers=_headers(target, headers), content=request.body) as answer,
            ):
                fields = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in answer.headers}
                is_redirect = answer.status in _REDIRECTS and "location" in fields
                body = b"" if is_redirect else read_body(answer.iter_stream(), fields, limit, target.url)
                return WebResponse(target.url, answer.status, fields, body)
        except httpcore2.LocalProtocolError as problem:
            # The library's words may hold a header's value, and that may be a key.
            raise WebError(
                f"The request to {target.place} cannot be sent: it holds a character that HTTP does not allow. If it "
                "needs a key, the user has to check that.",
                "url",
            ) from (problem if not headers else None)
        except (httpcore2.ProtocolError, httpcore2.NetworkError, httpcore2.ProxyError) as problem:
            if deadline.interrupt.is_set():
                raise ToolInterrupted from problem
            kind = "proxy" if isinstance(problem, httpcore2.ProxyError) else "server"
            raise WebError(
                f"The {kind} of {target.place} did not answer as HTTP asks for: {problem}. Try it again, or another "
                "source.",
                "answer",
            ) from problem

    def _trusted(self) -> ssl.SSLContext:
        with self._lock:
            if self._tls is None:
                self._tls = self._trust()
            return self._tls


class _Passage:
    """What one request is asked about on its way."""

    def __init__(self, allow: Allow | None, deadline: Deadline, *, allow_private: bool) -> None:
        self.deadline = deadline
        self.is_checked = allow is not None
        self._allow = allow
        self._allow_private = allow_private
        self._asked: set[tuple[str, str]] = set()

    def before(self, target: Target) -> None:
        """The name alone: looking it up tells it to others already."""
        self._ask(target, inside_by_name(target.host))

    def found(self, target: Target, addresses: Sequence[str]) -> None:
        """What the name leads to. One address inside is enough: which one is used is not for the name to choose."""
        for address in addresses:
            what = inside(address)
            if what is not None:
                self._ask(target, what)

    def _ask(self, target: Target, what: Inside | None) -> None:
        if self._allow is None:
            return
        if what is not None and what.is_closed:
            raise WebError(
                f"{target.url} is not asked for: {target.host} is {what.what}. Do not try another way.", "address"
            )
        hidden = what is None or self._allow_private
        where = "" if hidden or what is None else what.what
        # One question a place: a second page of it behind a redirect is no news.
        if (target.place, where) in self._asked:
            return
        with self.deadline.paused():
            self._allow(ReachHost(target.url, target.place, where))
        self._asked.add((target.place, where))


def _pool(
    proxy: Proxy | None, addresses: Sequence[str], deadline: Deadline, tls: ssl.SSLContext | None
) -> httpcore2.ConnectionPool:
    import httpcore2  # noqa: PLC0415 - as above

    backend: Any = CheckedBackend(addresses, deadline)
    if proxy is None:
        return httpcore2.ConnectionPool(ssl_context=tls, network_backend=backend)
    url = httpcore2.URL(scheme=b"http", host=proxy.host.encode(), port=proxy.port, target=b"/")
    return httpcore2.HTTPProxy(url, proxy.auth, ssl_context=tls, network_backend=backend)


def _headers(target: Target, headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    own = {"Host": target.place, "User-Agent": _AGENT, "Accept-Encoding": ACCEPTED, "Connection": "close"}
    kept = {name: value for name, value in headers.items() if name.lower() not in _OWN}
    return [(name.encode("ascii"), value.encode("latin-1", "replace")) for name, value in {**own, **kept}.items()]


def _system_trust() -> ssl.SSLContext:
    import httpx2  # noqa: PLC0415

    return httpx2.create_ssl_context()


# Search without a key: public search engines, asked by the library `ddgs` over connections of its own.

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
        try:
            found = awaited(lambda: self._ask(query, limit, timeout), interrupt, "web search", timeout)
        except (WebError, ToolInterrupted):
            raise
        except TimeoutError as problem:
            raise WebError(
                f"The search engines did not answer within {timeout:g} seconds. {_ADVICE}", "timeout"
            ) from problem
        except Exception as problem:
            # The library reads pages of others: whatever it meets is told.
            raise WebError(
                f"The search failed ({type(problem).__name__}: {_short(problem)}). {_ADVICE}", "answer"
            ) from problem
        return [_hit(entry) for entry in found][:limit]


def _hit(entry: Mapping[str, str]) -> WebSearchHit:
    return WebSearchHit(str(entry.get("title", "")), str(entry.get("href", "")), str(entry.get("body", "")))


def _short(problem: Exception) -> str:
    return " ".join(str(problem).split())[:200] or type(problem).__name__


# The web as tools get it: every host that is reached, and every search service that is asked, passes the gate.

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
