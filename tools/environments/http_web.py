"""HTTP for tools: redirects followed by hand, every address checked, connected to and nothing else, under limits."""

from __future__ import annotations

import functools
import ssl
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from tools.approval.actions import ReachHost
from tools.environments.http_body import ACCEPTED, read_body
from tools.environments.http_connecting import LookUp, addresses_of, look_up
from tools.environments.http_deadline import Deadline
from tools.environments.http_proxy import Proxy, proxy_for
from tools.errors import ToolInterrupted
from tools.ports import Interrupt, WebError, WebRequest, WebResponse
from tools.settings import WebSettings
from tools.web.addresses import Inside, Target, inside, inside_by_name, redirected, target_of

if TYPE_CHECKING:
    import httpcore2

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
            return self._sent(target, request, headers, deadline, functools.partial(_direct, addresses, deadline))
        self._seen_from_here(target, passage)
        addresses = addresses_of(proxy.host, proxy.port, deadline, self._find)
        return self._sent(target, request, headers, deadline, functools.partial(_through, proxy, addresses, deadline))

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
        connected: Callable[[ssl.SSLContext | None], httpcore2.ConnectionPool],
    ) -> WebResponse:
        import httpcore2  # noqa: PLC0415 - a tenth of a second, only for those who use the web

        port = None if target.place == target.shown_host else target.port
        url = httpcore2.URL(scheme=target.scheme.encode(), host=target.host.encode(), port=port, target=target.path)
        limit = request.max_bytes or self._settings.max_bytes
        try:
            with (
                connected(self._trusted() if target.scheme == "https" else None) as pool,
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


def _direct(addresses: Sequence[str], deadline: Deadline, tls: ssl.SSLContext | None) -> httpcore2.ConnectionPool:
    import httpcore2  # noqa: PLC0415

    from tools.environments.http_stream import CheckedBackend  # noqa: PLC0415

    return httpcore2.ConnectionPool(ssl_context=tls, network_backend=CheckedBackend(addresses, deadline))


def _through(
    proxy: Proxy, addresses: Sequence[str], deadline: Deadline, tls: ssl.SSLContext
) -> httpcore2.ConnectionPool:
    import httpcore2  # noqa: PLC0415

    from tools.environments.http_stream import CheckedBackend  # noqa: PLC0415

    url = httpcore2.URL(scheme=b"http", host=proxy.host.encode(), port=proxy.port, target=b"/")
    backend = CheckedBackend(addresses, deadline)
    return httpcore2.HTTPProxy(url, proxy.auth, ssl_context=tls, network_backend=backend)


def _headers(target: Target, headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    own = {"Host": target.place, "User-Agent": _AGENT, "Accept-Encoding": ACCEPTED, "Connection": "close"}
    kept = {name: value for name, value in headers.items() if name.lower() not in _OWN}
    return [(name.encode("ascii"), value.encode("latin-1", "replace")) for name, value in {**own, **kept}.items()]


def _system_trust() -> ssl.SSLContext:
    import httpx2  # noqa: PLC0415

    return httpx2.create_ssl_context()
