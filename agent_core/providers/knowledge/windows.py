"""Learns, beside the requests of a process, how large a window its model servers really have."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from agent_core.providers.choice import ModelChoice, ServedWindow
from agent_core.providers.resolution.addresses import is_local, service_at
from agent_core.providers.resolution.catalog import CUSTOM, SERVICES

if TYPE_CHECKING:
    import httpx2

log = logging.getLogger(__name__)

ASK_SECONDS = 3.0
_MAX_BYTES = 4 * 1024 * 1024
_WAIT_SECONDS = 0.1
"""So long a request waits for the first word of the window: a server on this machine has said it by then."""
_OLD_AFTER = 60.0
_MOST_AFTER_ANSWERS = 3

Ask = Callable[[ModelChoice], ServedWindow | None]


class _Known:
    """What one server has said of one model. `asking` is set while nobody asks."""

    def __init__(self) -> None:
        self.window: ServedWindow | None = None
        self.asked_at: float | None = None
        self.after_answers = 0
        self.asking = threading.Event()
        self.asking.set()
        self.waited = False


class Windows:
    """The windows of one process's models. Implements `WindowSource`; safe to use from several threads.

    Only servers on this machine or in a private network are asked, and those whose address the person has set; each
    with its own key, in the background.

    Args:
        ask: asks one server; it never raises, and has an end.
    """

    def __init__(
        self,
        ask: Ask | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        wait: float = _WAIT_SECONDS,
    ) -> None:
        self._ask = ask or ask_server
        self._clock = clock
        self._wait = wait
        self._known: dict[tuple[str, str], _Known] = {}
        self._lock = threading.Lock()

    def begin(self, choice: ModelChoice) -> None:
        """Ask if nobody has, or long ago: a server may have been started again with another window.

        One elsewhere that says nothing of its window is not asked again: that would only count against its limits.
        """
        if may_be_asked(choice):
            known = self._of(choice)
            says_nothing = known.window is not None and known.window.loaded and known.window.tokens is None
            if known.asked_at is not None and says_nothing and not is_local(choice.base_url):
                return
            if known.asked_at is None or self._clock() - known.asked_at > _OLD_AFTER:
                self._look(choice, known)

    def fitted(self, choice: ModelChoice) -> ModelChoice:
        """The same with its server's window. An answer that is on its way is waited for a moment, once."""
        if not may_be_asked(choice):
            return choice
        known = self._of(choice)
        if known.asked_at is None:
            self._look(choice, known)
        if not known.asking.is_set() and not known.waited:
            known.asking.wait(self._wait)
            known.waited = True
        tokens = None if known.window is None else known.window.tokens
        return choice if tokens is None else replace(choice, context_length=tokens)

    def answered(self, choice: ModelChoice) -> None:
        """Ask again where the server could not say it before the model was loaded."""
        if not may_be_asked(choice):
            return
        known = self._of(choice)
        if (known.window is None or not known.window.loaded) and known.after_answers < _MOST_AFTER_ANSWERS:
            known.after_answers += 1
            self._look(choice, known)

    def of(self, choice: ModelChoice) -> ServedWindow | None:
        """What its server has said."""
        with self._lock:
            known = self._known.get(_key(choice))
        return None if known is None else known.window

    def _of(self, choice: ModelChoice) -> _Known:
        with self._lock:
            return self._known.setdefault(_key(choice), _Known())

    def _look(self, choice: ModelChoice, known: _Known) -> None:
        with self._lock:
            if not known.asking.is_set():
                return
            known.asking.clear()
            known.asked_at, known.waited = self._clock(), False
        _reader()  # loaded here, so that it is while the person types
        # A daemon: nobody waits for a server when the process ends.
        threading.Thread(target=self._learn, args=(choice, known), name="window", daemon=True).start()

    def _learn(self, choice: ModelChoice, known: _Known) -> None:
        try:
            found = self._ask(choice)
            # A server that does not answer now has not changed.
            known.window = found or known.window
        finally:
            known.asking.set()


def may_be_asked(choice: ModelChoice) -> bool:
    """Whether the window is not known, and the server is the person's own or one that they have set."""
    if choice.context_length is not None or choice.api_mode in {"bedrock_converse", "offline"} or not choice.base_url:
        return False
    service = SERVICES.get(choice.provider, CUSTOM)
    if service.local or is_local(choice.base_url):
        return True
    return service is CUSTOM and service_at(choice.base_url) is None


def ask_server(choice: ModelChoice) -> ServedWindow | None:
    """Ask the server of `choice` for the window of its model, for at most `ASK_SECONDS`; None where it is not there.

    No failure raises. Of a server that says nothing of it nothing is known, and nothing more will be.
    """
    import httpx2  # noqa: PLC0415 - only for servers whose window is not known

    from agent_core.errors import ProviderError  # noqa: PLC0415
    from agent_core.providers.transport import Abort, make_client  # noqa: PLC0415

    abort = Abort()
    # Time-outs of the client are for each read; a server that sends a byte now and then would have no end.
    timer = threading.Timer(ASK_SECONDS, abort.abort)
    timer.daemon = True
    timer.start()
    service = SERVICES.get(choice.provider, CUSTOM)
    read_window = _reader()
    try:
        with make_client(base_url=choice.base_url) as client, abort.watching():
            found = read_window(_Getter(client, choice), choice.model, service.name if service.local else "")
            return found or ServedWindow(loaded=True)
    except (httpx2.HTTPError, httpx2.InvalidURL, ProviderError, OSError, ValueError) as problem:
        log.info("%s did not say how large its window is (%s)", choice.endpoint, type(problem).__name__)
        return None
    finally:
        timer.cancel()


def _reader() -> Callable[[_Getter, str, str], ServedWindow | None]:
    from agent_core.providers.knowledge.served_window import read_window  # noqa: PLC0415 - few servers are asked

    return read_window


class _Getter:
    """Gets the JSON objects of one server, as `read_window` wants them."""

    def __init__(self, client: httpx2.Client, choice: ModelChoice) -> None:
        self._client = client
        self._root = _root(choice.base_url)
        self._headers = headers_of(choice)
        self._got: dict[str, Mapping[str, Any]] = {}

    def __call__(self, path: str, body: Mapping[str, Any] | None) -> Mapping[str, Any]:
        if path not in self._got:
            self._got[path] = self._asked(path, body)
        return self._got[path]

    def _asked(self, path: str, body: Mapping[str, Any] | None) -> Mapping[str, Any]:
        method = "GET" if body is None else "POST"
        request = self._client.build_request(
            method, f"{self._root}{path}", headers=self._headers, json=body, timeout=ASK_SECONDS
        )
        answer = self._client.send(request, stream=True)
        try:
            if answer.status_code != 200:  # noqa: PLR2004
                return {}
            text = bytearray()
            for chunk in answer.iter_bytes():
                text += chunk
                if len(text) > _MAX_BYTES:
                    return {}
        finally:
            answer.close()
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}


def headers_of(choice: ModelChoice) -> dict[str, str]:
    """What a question to the server of `choice` about itself is sent with: its key goes where requests send it."""
    headers = {"Accept": "application/json", **dict(choice.headers)}
    if choice.api_key and choice.dialect.auth == "bearer":
        headers["Authorization"] = f"Bearer {choice.api_key}"
    elif choice.api_key:
        headers[choice.dialect.auth] = choice.api_key
    return headers


def _key(choice: ModelChoice) -> tuple[str, str]:
    return choice.base_url, choice.model


def _root(base_url: str) -> str:
    """The address below which a server's own paths are: without the version that compatible APIs end with."""
    parts = urlsplit(base_url.rstrip("/"))
    path = parts.path.removesuffix("/v1").removesuffix("/openai").removesuffix("/api")
    return urlunsplit(parts._replace(path=path.rstrip("/")))
