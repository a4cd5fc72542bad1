"""Model servers on this machine: found only when somebody asks, on the usual ports, without a key or a proxy."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from types import MappingProxyType
from typing import Any

from agent_core.providers.model_listing import UnreadableList, read_page
from tools.light_dataclass import dataclass

USUAL_PORTS: Mapping[str, Sequence[int]] = MappingProxyType(
    {"ollama": (11434,), "lmstudio": (1234,), "vllm": (8000,), "llamacpp": (8080,)}
)
READ_TIMEOUT = 0.5
_MAX_BYTES = 1024 * 1024
_HOST = "127.0.0.1"
_OWNERS = {"vllm": "vllm", "llamacpp": "llamacpp", "organization_owner": "lmstudio"}
"""What `owned_by` says in the lists of servers that put themselves there."""
_SIGNS = (
    ("ollama", "/api/version", "version"),
    ("llamacpp", "/props", "default_generation_settings"),
    ("lmstudio", "/api/v0/models", "data"),
)
"""Paths that only one kind of server has, and a field of the answer."""


@dataclass(frozen=True, slots=True)
class FoundServer:
    """A model server on this machine.

    Attributes:
        service: the catalog's name for it; `custom` for one that says nothing of its kind.
        base_url: of its OpenAI-compatible API.
        models: the names of its models; there may be none.
    """

    service: str
    base_url: str
    models: tuple[str, ...]


def discover_local(
    ports: Mapping[str, Sequence[int]] = USUAL_PORTS, *, seconds: float = 2.0
) -> tuple[FoundServer, ...]:
    """The servers that answer on these ports of this machine with a list of models, in the order of the ports.

    All ports are tried at once; where nothing listens that takes no time. `seconds` bounds the whole, and
    `READ_TIMEOUT` the wait for each answer.
    """
    probes = [_Probe(port) for port in dict.fromkeys(port for several in ports.values() for port in several)]
    if not probes:
        return ()
    with ThreadPoolExecutor(len(probes), thread_name_prefix="discovery") as threads:
        futures = [threads.submit(probe.look) for probe in probes]
        _, late = wait(futures, seconds)
        if late:
            for probe in probes:
                probe.give_up()
        found = [future.result() for future in futures]
    return tuple(server for server in found if server is not None)


class _Probe:
    """Looks at one port. `give_up`, from another thread, ends it at once."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._over = False

    def look(self) -> FoundServer | None:
        """The server on this port, if it is a model server."""
        listed = self._get("/v1/models")
        if listed is None:
            return None
        try:
            models = tuple(model.id for model in read_page(listed).models)
        except UnreadableList:
            return None
        return FoundServer(self._kind(listed), f"http://{_HOST}:{self._port}/v1", models)

    def give_up(self) -> None:
        with self._lock:
            self._over = True
            if self._socket is not None:
                # It may have ended meanwhile.
                with suppress(OSError):
                    self._socket.shutdown(socket.SHUT_RDWR)

    def _kind(self, listed: bytes) -> str:
        entries = _object(listed).get("data")
        owners = [entry.get("owned_by") for entry in entries if isinstance(entry, dict)] if entries else []
        for owner, service in _OWNERS.items():
            if owner in owners:
                return service
        for service, path, sign in _SIGNS:
            if sign in _object(self._get(path)):
                return service
        return "custom"

    def _get(self, path: str) -> bytes | None:
        """The body of a good answer to `GET path`, else None."""
        # http.client knows no proxies and follows no redirects.
        connection = http.client.HTTPConnection(_HOST, self._port, timeout=READ_TIMEOUT)
        try:
            connection.connect()
            self._uses(connection.sock)
            connection.request("GET", path, headers={"Accept": "application/json"})
            answer = connection.getresponse()
            body = answer.read(_MAX_BYTES + 1)
        except (OSError, http.client.HTTPException):
            return None
        finally:
            self._uses(None)
            connection.close()
        # An answer that was given up may look like one that ended.
        complete = len(body) <= _MAX_BYTES and not self._over
        return body if complete and answer.status == http.client.OK else None

    def _uses(self, used: socket.socket | None) -> None:
        with self._lock:
            self._socket = used
            if self._over and used is not None:
                raise OSError("given up")


def _object(body: bytes | None) -> Mapping[str, Any]:
    try:
        value = json.loads(body or b"")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
