"""A loopback collector of OpenTelemetry spans, as exporters send them: protobuf over HTTP."""

from __future__ import annotations

import gzip
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.support.waiting import wait_until


@dataclass(frozen=True)
class Seen:
    """One span: ids as hexadecimal digits, times in nanoseconds."""

    name: str
    id: str
    parent: str
    trace: str
    start: int
    end: int
    attributes: dict[str, Any] = field(default_factory=dict)
    events: tuple[str, ...] = ()
    failed: bool = False


class Collector:
    """A context manager: it listens meanwhile."""

    def __init__(self) -> None:
        self._spans: list[Seen] = []
        self._lock = threading.Lock()
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                collector._take(gzip.decompress(body) if self.headers.get("content-encoding") == "gzip" else body)
                self.send_response(200 if self.path == "/v1/traces" else 404)
                self.send_header("content-type", "application/x-protobuf")
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def wait_for(self, name: str) -> list[Seen]:
        """All spans, once there is one with this name."""
        wait_until(lambda: any(span.name == name for span in self.spans()))
        return self.spans()

    def spans(self) -> list[Seen]:
        with self._lock:
            return list(self._spans)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _take(self, body: bytes) -> None:
        request = ExportTraceServiceRequest.FromString(body)
        with self._lock:
            for resource in request.resource_spans:
                for scope in resource.scope_spans:
                    self._spans += [_seen(span) for span in scope.spans]


def _seen(span: Any) -> Seen:
    return Seen(
        span.name,
        span.span_id.hex(),
        span.parent_span_id.hex(),
        span.trace_id.hex(),
        span.start_time_unix_nano,
        span.end_time_unix_nano,
        {each.key: _value(each.value) for each in span.attributes},
        tuple(event.name for event in span.events),
        span.status.code == 2,
    )


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    found = getattr(value, kind)
    return [_value(each) for each in found.values] if kind == "array_value" else found
