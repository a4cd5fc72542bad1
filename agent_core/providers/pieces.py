"""A request's body as JSON text, put together from parts that are written once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tools import quick_json

# How deep pieces lie in a request's body: body, messages, message, content.
_LEVELS = 4


class Piece(dict[str, Any]):
    """A part of a request's body, and its JSON text in UTF-8. Nobody changes it once it is made."""

    __slots__ = ("json",)

    def __init__(self, value: Mapping[str, Any]) -> None:
        super().__init__(value)
        self.json = _plain(self)


class Pieces(list[Any]):
    """A list in a request's body that begins with pieces whose text is at hand.

    More may be appended, and elements be replaced with `replace`; nothing else may be changed.
    """

    __slots__ = ("_ends", "_held", "_text")

    def __init__(self, pieces: Sequence[Piece], text: bytes, ends: list[int]) -> None:
        super().__init__(pieces)
        self._text, self._ends, self._held = text, ends, len(ends)

    def replace(self, at: int, value: Any) -> None:
        """Put another value at `at`."""
        self._held = min(self._held, at)
        self[at] = value

    def texts(self) -> tuple[list[bytes], list[Any]]:
        """The text of the elements that are as they were, with commas between them; and the other elements."""
        if not self._held:
            return [], list(self)
        return [self._text[: self._ends[self._held - 1]]], self[self._held :]


class PiecesText:
    """The text of a list of pieces that grows from request to request."""

    __slots__ = ("_ends", "_text")

    def __init__(self) -> None:
        self._text = b""
        self._ends: list[int] = []

    def of(self, pieces: Sequence[Piece], kept: int) -> Pieces:
        """The pieces with their text.

        Args:
            kept: how many of them are those of the last call.
        """
        known = [self._text[: self._ends[kept - 1]]] if kept else []
        texts = [piece.json for piece in pieces[kept:]]
        self._text = b",".join((*known, *texts))
        del self._ends[kept:]
        for text in texts:
            self._ends.append(len(text) + (self._ends[-1] + len(b",") if self._ends else 0))
        return Pieces(pieces, self._text, self._ends.copy())


def body_json(body: Mapping[str, Any]) -> bytes:
    """A request's body as JSON in UTF-8, without white space; its pieces are not written again."""
    # A long conversation is large: it is put together in one go.
    return b"".join(_texts(body, _LEVELS))


def _texts(value: Any, levels: int) -> list[bytes]:
    """The parts of a value's JSON text."""
    if isinstance(value, Piece):
        return [value.json]
    if levels == 0 or not value:
        return [_plain(value)]
    if isinstance(value, list):
        return _list_texts(value, levels - 1)
    if isinstance(value, dict):
        texts = [b"{"]
        for key, each in value.items():
            texts += (_plain(key), b":", *_texts(each, levels - 1), b",")
        texts[-1] = b"}"
        return texts
    return [_plain(value)]


def _list_texts(values: list[Any], levels: int) -> list[bytes]:
    known, rest = values.texts() if isinstance(values, Pieces) else ([], values)
    texts = [b"["]
    for text in known:
        texts += (text, b",")
    for each in rest:
        texts += (*_texts(each, levels), b",")
    texts[-1] = b"]"
    return texts


def _plain(value: Any) -> bytes:
    try:
        return quick_json.dumps(value)
    except ValueError:  # lone surrogates have no UTF-8
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
