"""Makes a long text fit: its beginning and its end are kept, and a line says what is missing and how to get it."""

from __future__ import annotations

from tools.light_dataclass import dataclass

_HEAD, _TAIL = 0.7, 0.2
_NEAR = 400


@dataclass(frozen=True, slots=True)
class CutText:
    """A text that fits; `left_out` is how many characters of the whole are not in it."""

    text: str
    left_out: int = 0


def cut(text: str, most: int, path: str) -> CutText:
    """`text` in at most `most` characters (at least 1,000): 70 % of them from its beginning, 20 % from its end.

    Args:
        path: where the model can read the rest.
    """
    most = max(most, 1_000)
    if len(text) <= most:
        return CutText(text)
    head = text[: int(most * _HEAD)]
    tail = text[len(text) - int(most * _TAIL) :]
    # Whole lines, where the line's end is near.
    if (end := head.rfind("\n")) > len(head) - _NEAR:
        head = head[:end]
    if -1 < (begin := tail.find("\n")) < _NEAR:
        tail = tail[begin + 1 :]
    missing = len(text) - len(head) - len(tail)
    first = head.count("\n") + 2
    last = text.count("\n") - tail.count("\n")
    lines = f"lines {first} to {last}" if last >= first else f"a part of line {first - 1}"
    return CutText(
        f"{head}\n[… {missing:,} characters are left out here, {lines}. "
        f"Read them with read_file in {path} when your work concerns them. …]\n{tail}",
        missing,
    )
