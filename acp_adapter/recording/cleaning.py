"""The lines of a recording in their order, without secrets. What the pieces of a text hold together is waited for."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from acp_adapter.recording.streams import Entry, Held, Stream
from acp_adapter.recording.values import clean_beginning, clean_value
from tools.light_dataclass import dataclass
from tools.redaction import Redact

_CHUNKS = frozenset({"agent_message_chunk", "agent_thought_chunk", "user_message_chunk"})
_TERMINAL = "terminal"
_MOST_LINE = 2_000
_MOST_HELD = 64_000
_MOST_LINES = 2_000
_MOST_PROMPTS = 1_000


@dataclass(frozen=True, slots=True)
class _Piece:
    """A text, and where its piece stands in a line."""

    session: str
    kind: str
    number: str
    path: tuple[str, ...]


class Cleaner:
    """Cleans the lines of one recording, in their order.

    A secret may come in several pieces of one text, with other messages between them. So lines are held back from
    a piece on that a secret may begin in: until the text goes on or is over.
    """

    def __init__(self, redacting: Redact, patience: float) -> None:
        """Make it; a text that got no further piece for `patience` seconds is taken to be at its end."""
        self._redact = redacting
        self._patience = patience
        self._held: deque[Held] = deque()
        self._streams: dict[_Piece, Stream] = {}
        self._prompts: dict[str, str] = {}

    @property
    def holds(self) -> bool:
        """Whether lines are held back."""
        return bool(self._held)

    def cleaned(self, entry: Entry) -> Iterator[Entry]:
        """The lines that can be written now that `entry` came."""
        piece = _piece(entry)
        for ended in self._ended_by(entry, piece):
            self._streams.pop(ended).settle(is_over=True)
        text = "" if piece is None else _taken(entry, piece.path)
        held = Held(self._clean(entry))
        self._held.append(held)
        if piece is not None and "frame" in held.entry:
            stream = self._streams.setdefault(piece, Stream(self._redact))
            stream.add(held, text, piece.path, entry["t"])
        is_much = len(self._held) > _MOST_LINES
        if is_much or sum(stream.size for stream in self._streams.values()) > _MOST_HELD:
            return self.settled(is_over=is_much)
        return self._ready()

    def settled(self, *, is_over: bool) -> Iterator[Entry]:
        """The lines whose texts no secret may go on in; all that are held if nothing more `is_over`."""
        for stream in self._streams.values():
            stream.settle(is_over=is_over)
        return self._ready()

    def _ready(self) -> Iterator[Entry]:
        while self._held and self._held[0].settled:
            yield self._held.popleft().entry

    def _clean(self, entry: Entry) -> Entry:
        told = {"dir": entry["dir"], "t": entry["t"]}
        if "line" in entry:
            return {**told, "line": clean_beginning(entry["line"], _MOST_LINE, self._redact)}
        try:
            return {**told, "frame": clean_value(entry["frame"], self._redact)}
        except RecursionError:
            return {**told, "line": "[a message that is nested too deeply to be recorded]"}

    def _ended_by(self, entry: Entry, piece: _Piece | None) -> list[_Piece]:
        ended = self._talk_ended_by(entry, piece)
        exited = _terminal_ended_by(entry)
        return [
            each
            for each, stream in self._streams.items()
            if stream.latest < entry["t"] - self._patience
            or (each.session == ended and each != piece and each.kind != _TERMINAL)
            or (each.kind == _TERMINAL and each.number == exited)
        ]

    def _talk_ended_by(self, entry: Entry, piece: _Piece | None) -> str | None:
        """The session in which something came that stands behind what was said; None for none."""
        if piece is not None:
            return None if piece.kind == _TERMINAL else piece.session
        match entry.get("frame"):
            case {"method": "session/prompt", "id": number, "params": {"sessionId": str(session)}}:
                if len(self._prompts) < _MOST_PROMPTS:
                    self._prompts[repr(number)] = session
                return session
            case {"method": str(), "id": _, "params": {"sessionId": str(session)}}:
                return session
            case {"method": "session/update", "params": {"sessionId": str(session), "update": dict(update)}}:
                return session if update.get("sessionUpdate") == "tool_call" else None
            case {"id": number} if entry["dir"] == "in":
                return self._prompts.pop(repr(number), None)
        return None


def _piece(entry: Entry) -> _Piece | None:
    """Which text this line is a piece of; None for a line that is none of one."""
    match entry.get("frame"):
        case {"method": "session/update", "params": {"sessionId": str(session), "update": dict(update)}}:
            return _piece_of(session, update)
    return None


def _piece_of(session: str, update: dict[str, Any]) -> _Piece | None:
    match update:
        case {"sessionUpdate": str(kind), "content": {"type": "text", "text": str()}} if kind in _CHUNKS:
            return _Piece(session, kind, str(update.get("messageId")), ("content", "text"))
        case {"_meta": {"terminal_output": {"terminal_id": str(terminal), "data": str()}}}:
            return _Piece(session, _TERMINAL, terminal, ("_meta", "terminal_output", "data"))
    return None


def _terminal_ended_by(entry: Entry) -> str | None:
    match entry.get("frame"):
        case {"params": {"update": {"_meta": {"terminal_exit": {"terminal_id": str(terminal)}}}}}:
            return terminal
    return None


def _taken(entry: Entry, path: tuple[str, ...]) -> str:
    """The piece's text, which is no longer in the line then."""
    holder = entry["frame"]["params"]["update"]
    for name in path[:-1]:
        holder = holder[name]
    text, holder[path[-1]] = str(holder[path[-1]]), ""
    return text
