"""One line of a connection, kept small: a recording may have a million of them."""

from __future__ import annotations

import json
import zlib
from typing import Any, Literal

from tools.light_dataclass import dataclass

_PACKED_FROM = 1_000
_MOST_NAME = 200


@dataclass(frozen=True, slots=True)
class Frame:
    """The line; `of` makes one.

    Attributes:
        place: which line of the connection it is, from 1.
        direction: `out` to the agent, `in` from it.
        at: seconds since the recording began.
        size: characters of JSON.
        method: of a request or a notification; None for others.
        number: the id as text, where there is one.
        is_error: whether it is an answer that is an error.
        session: the session that it names as its own, or as its result; '' for none.
        piece: of a `session/update`, which kind of update it is, if it is a piece of a text.
        stray: what the line was, if it was no message.
    """

    place: int
    direction: Literal["in", "out"]
    at: float
    size: int
    method: str | None
    number: str | None
    is_error: bool
    session: str
    piece: str
    stray: str
    _body: bytes
    _is_packed: bool

    @classmethod
    def of(
        cls, place: int, direction: Literal["in", "out"], at: float, message: dict[str, Any] | None, stray: str = ""
    ) -> Frame:
        """The frame of a message, or of a line that was none."""
        body = (
            b""
            if message is None
            else json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode(errors="surrogatepass")
        )
        said = message or {}
        is_packed = len(body) > _PACKED_FROM
        return cls(
            place,
            direction,
            at,
            len(body) or len(stray),
            str(said["method"])[:_MOST_NAME] if "method" in said else None,
            repr(said["id"]) if "id" in said else None,
            "error" in said,
            _session(said),
            _piece(said),
            stray,
            zlib.compress(body, 1) if is_packed else body,
            is_packed,
        )

    @property
    def is_message(self) -> bool:
        """Whether the line was one."""
        return bool(self._body)

    @property
    def message(self) -> dict[str, Any] | None:
        """The message, read anew each time; None for a line that was none."""
        if not self._body:
            return None
        body = zlib.decompress(self._body) if self._is_packed else self._body
        found: dict[str, Any] = json.loads(body.decode(errors="surrogatepass"))
        return found


def _session(message: dict[str, Any]) -> str:
    match message:
        case {"params": {"sessionId": str(session)}} | {"result": {"sessionId": str(session)}}:
            return session[:_MOST_NAME]
    return ""


def _piece(message: dict[str, Any]) -> str:
    match message:
        case {"params": {"update": {"sessionUpdate": str(kind)}}} if kind.endswith("_chunk"):
            return kind[:_MOST_NAME]
    return ""
