"""What is known of one source file, and its form in the cache."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from tools.light_dataclass import dataclass

Kind = Literal["class", "function", "method", "type", "value", "impl"]

KINDS: tuple[Kind, ...] = ("class", "function", "method", "type", "value", "impl")


class BadOutline(ValueError):
    """Stored bytes are no outline."""


@dataclass(frozen=True, slots=True)
class Definition:
    """Something that a file defines.

    Attributes:
        line: counts from 1.
        parent: the index, among the file's definitions, of the one that it stands in; -1 at the top level.
        signature: its first line as written, without the body.
    """

    name: str
    kind: Kind
    line: int
    parent: int
    signature: str


@dataclass(frozen=True, slots=True)
class Outline:
    """What one file is made of.

    Attributes:
        definitions: in the order of the text.
        references: how often it refers to a name as such; members: to a name of something, as in `thing.name`.
    """

    definitions: tuple[Definition, ...] = ()
    references: Mapping[str, int] = field(default_factory=dict)
    members: Mapping[str, int] = field(default_factory=dict)

    def is_member(self, definition: Definition) -> bool:
        """Whether others refer to it through what it belongs to."""
        if definition.kind == "method":
            return True
        return definition.parent >= 0 and definition.kind not in {"class", "type", "impl"}

    def packed(self) -> bytes:
        """The outline as bytes, for `unpacked`."""
        rows = [(d.name, KINDS.index(d.kind), d.line, d.parent, d.signature) for d in self.definitions]
        stored = [rows, dict(self.references), dict(self.members)]
        return zlib.compress(json.dumps(stored, separators=(",", ":")).encode(), 1)


def unpacked(data: bytes) -> Outline:
    """What `Outline.packed` made.

    Raises:
        BadOutline: it is something else.
    """
    try:
        rows, *counted = json.loads(zlib.decompress(data))
        definitions = tuple(
            Definition(str(name), KINDS[kind], int(line), int(parent), str(signature))
            for name, kind, line, parent, signature in rows
        )
        references, members = ({str(name): int(count) for name, count in counts.items()} for counts in counted)
    except (zlib.error, ValueError, TypeError, IndexError, AttributeError) as problem:
        raise BadOutline(f"not an outline: {problem}") from problem
    if any(not -1 <= definition.parent < index for index, definition in enumerate(definitions)):
        raise BadOutline("a definition stands in one that comes after it")
    return Outline(definitions, references, members)
