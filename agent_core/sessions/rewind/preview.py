"""How a rewind would change a file, shown before it does: a short diff, or sizes where there are no lines."""

from __future__ import annotations

from dataclasses import field, replace

from agent_core.sessions.files.blobs import BlobStore
from agent_core.sessions.files.looking import Found
from agent_core.sessions.rewind.records import FileStep
from tools.light_dataclass import dataclass
from tools.text.matching import compact_diff

_DIFF_CHARS = 4_000
_ALL_CHARS = 100_000
_COMPARED_BYTES = 200_000


@dataclass(slots=True)
class Previews:
    """Adds sizes and previews to the steps of one plan; together they stay within bounds."""

    blobs: BlobStore
    _left: int = field(default=_ALL_CHARS)

    def added(self, step: FileStep, found: Found) -> FileStep:
        """`step` with what is to be seen of it.

        Raises:
            StoreError: what the file was cannot be read.
        """
        wanted = step.trail.wanted
        if step.action == "delete":
            return replace(step, preview=f"is deleted ({found.size:,} bytes)")
        if step.action == "chmod":
            return replace(
                step,
                size_then=step.size_now,
                preview=f"permissions {_octal(found.state.mode)} → {_octal(wanted.mode)}",
            )
        then = self.blobs.get(wanted.hash or "")
        return replace(step, size_then=len(then), preview=self._preview(found, then, is_link=wanted.is_link))

    def _preview(self, found: Found, then: bytes, *, is_link: bool) -> str:
        if is_link:
            return f"becomes a link to {then.decode(errors='replace')}"
        if found.kind not in {"file", "link"}:
            return f"comes back ({len(then):,} bytes)"
        sizes = f"{found.size:,} bytes → {len(then):,} bytes"
        old, new = _lines(found.content), _lines(then)
        if found.kind == "link" or old is None or new is None or self._left <= 0:
            return sizes
        diff = compact_diff(old, new, _DIFF_CHARS) or sizes
        self._left -= len(diff)
        return diff


def _lines(content: bytes | None) -> str | None:
    if content is None or len(content) > _COMPARED_BYTES or b"\0" in content:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


def _octal(mode: int | None) -> str:
    return "unknown" if mode is None else f"{mode:04o}"
