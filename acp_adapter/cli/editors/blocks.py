"""A part of a start-up file that is ours: marked by two comments, so that it can be found and replaced."""

from __future__ import annotations

_BEGIN, _END = "hermes-acp: begin (written by hermes-acp setup)", "hermes-acp: end"


def with_block(text: str, comment: str, block: str) -> str:
    """`text` with `block` between our marks: where it was, else at the end.

    Args:
        comment: what a comment begins with.
    """
    begin, end = f"{comment} {_BEGIN}", f"{comment} {_END}"
    line_end = "\r\n" if "\r\n" in text else "\n"
    made = f"{begin}\n{block}\n{end}".replace("\n", line_end)
    start = text.find(begin)
    stop = text.find(end, start)
    if start < 0 or stop < 0:
        gap = "" if not text else line_end if text.endswith("\n") else line_end * 2
        return f"{text}{gap}{made}{line_end}"
    return f"{text[:start]}{made}{text[stop + len(end) :]}"
