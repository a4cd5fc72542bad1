"""What a page is cut to for the model; all of a longer one goes into a file that can be read on."""

from __future__ import annotations

from pathlib import Path

from tools.environments.output_file import save_text
from tools.light_dataclass import dataclass
from tools.result import SavedOutput

MAX_SAVED_CHARS = 2_000_000


@dataclass(frozen=True, slots=True)
class Cut:
    """The beginning of a text.

    Attributes:
        next_line: the first line (from 1) that is not in it; None where all is.
        saved: the file with all of it; None where nothing could be saved.
    """

    text: str
    next_line: int | None = None
    saved: SavedOutput | None = None


def cut(text: str, limit: int, path: Path | None) -> Cut:
    """The first `limit` characters at most, whole lines of it; the file `path` gets all of a longer text."""
    if len(text) <= limit:
        return Cut(text)
    end = text.rfind("\n", 0, limit + 1)
    # One line longer than everything else is cut where it must be.
    end = limit if end < limit // 2 else end
    head = text[:end]
    saved = None if path is None else save_text(text[:MAX_SAVED_CHARS], path)
    return Cut(head, head.count("\n") + (2 if text[end : end + 1] == "\n" else 1), saved)


def file_for(path: Path | None, number: int) -> Path | None:
    """The file for the `number`-th page of a call, beside that of the call."""
    return path if path is None or number == 1 else path.with_name(f"{path.stem}-{number}{path.suffix}")
