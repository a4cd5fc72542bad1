"""A prompt as it was received: what can be used at once, and links that are still to be read."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from acp_adapter.links.words import named_only, text_part
from agent_core.messages import Content, Part
from tools.light_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Link:
    """A `resource_link` block (ACP v1, content). What the client says of the target is for people, not to rely on.

    Attributes:
        name, title, mime: as the client told them; '' where it did not.
        size: in bytes.
        lines: first and last line that are meant, from 1; None for all of it.
    """

    uri: str
    name: str
    title: str = ""
    mime: str = ""
    size: int | None = None
    lines: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """A prompt's pieces in the order given."""

    pieces: tuple[Part | Link, ...]

    @property
    def links(self) -> tuple[Link, ...]:
        """The links, in the order given."""
        return tuple(piece for piece in self.pieces if isinstance(piece, Link))

    def named(self) -> Content:
        """The prompt with each link named and nothing read."""
        return self.with_links(lambda link: [text_part(named_only(link.name or link.title, link.uri))])

    def with_links(self, read: Callable[[Link], Iterable[Part]]) -> Content:
        """The prompt with what `read` gives in the place of each link: text alone, or parts if there are others."""
        parts: list[Part] = []
        for piece in self.pieces:
            if isinstance(piece, Link):
                parts.extend(read(piece))
            else:
                parts.append(piece)
        texts = [part["text"] for part in parts if part["type"] == "text"]
        return "\n\n".join(texts) if len(texts) == len(parts) else parts
