"""Content of cards: text, diffs, the output of commands, terminals, and the way to what was cut."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tools.result import MAX_SHOWN_CHARS, ResultImage, Shown, ShownDiff, ShownOutput, ShownText
from tools.text.terminal_output import plain_text

Update = dict[str, Any]

_MAX_DIFF = 1024 * 1024
_HEAD_SHARE = 0.4
_KILO, _MEGA = 1000, 1000 * 1000


def shown_block(shown: Shown) -> Update:
    """What a tool has to show, as content of its card."""
    match shown:
        case ShownDiff():
            return diff_block(shown)
        case ShownText(text=text, language=language):
            return text_block(text, language)
        case ShownOutput(output=output, exit_code=exit_code, signal=signal):
            ended = f"ended by {signal}" if signal else "running" if exit_code is None else f"exit code {exit_code}"
            printed = plain_text(output)
            if not printed.strip():
                return _block(f"(no output, {ended})")
            return _block(f"{_fenced(_both_ends(printed), '')}\n{ended}")


def diff_block(diff: ShownDiff) -> Update:
    """A diff as tool content; a huge one as a note."""
    if len(diff.before or "") + len(diff.after or "") > _MAX_DIFF:
        return _block(f"The change of {diff.path} is too large to show here.")
    return {"type": "diff", "path": str(diff.path), "oldText": diff.before, "newText": diff.after or ""}


def text_block(text: str, language: str | None = None) -> Update:
    """Text as tool content, in a code block where a language (or '') is given; a long one is cut."""
    if language is not None and not text.strip():
        return _block("(empty)")
    shown = text
    if len(text) > MAX_SHOWN_CHARS:
        shown = f"{text[:MAX_SHOWN_CHARS]}… ({len(text) - MAX_SHOWN_CHARS} more characters)"
    return _block(shown if language is None else _fenced(shown, language))


def image_block(image: ResultImage) -> Update:
    """An image as tool content."""
    data = base64.b64encode(image.data).decode()
    return {"type": "content", "content": {"type": "image", "mimeType": image.mime_type, "data": data}}


def live_block(tail: str) -> Update:
    """The last lines that a running call has printed."""
    printed = plain_text(tail)
    return _block(_fenced(printed, "") if printed.strip() else "(only blank lines so far)")


def terminal_block(terminal: str) -> Update:
    """A terminal, which is all that its card shows."""
    return {"type": "terminal", "terminalId": terminal}


def saved_blocks(facts: Mapping[str, Any]) -> list[Update]:
    """A link to the file that holds all of a result that was too long to show; none where there is no such file."""
    saved = facts.get("saved")
    if not isinstance(saved, Mapping):
        return []
    path, size = saved.get("path"), saved.get("size")
    if not isinstance(path, str) or not isinstance(size, int) or not Path(path).is_absolute():
        return []
    link = {
        "type": "resource_link",
        "name": f"Full output ({_readable(size)})",
        "uri": Path(path).as_uri(),
        "mimeType": "text/plain",
        "size": size,
    }
    return [{"type": "content", "content": link}]


def _both_ends(text: str) -> str:
    """The beginning and the end of a long output: how it ended tells most."""
    if len(text) <= MAX_SHOWN_CHARS:
        return text
    room = int(MAX_SHOWN_CHARS * _HEAD_SHARE)
    head, tail = text[:room], text[room - MAX_SHOWN_CHARS :]
    head = head[: head.rfind("\n") + 1] or f"{head}\n"
    return f"{head}[… the middle is left out here …]\n{tail[tail.find(chr(10)) + 1 :]}"


def _readable(size: int) -> str:
    return f"{size / _MEGA:.1f} MB" if size >= _MEGA else f"{max(1, round(size / _KILO))} kB"


def _fenced(text: str, language: str) -> str:
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.rstrip(chr(10))}\n{fence}"


def _block(text: str) -> Update:
    return {"type": "content", "content": {"type": "text", "text": text}}
