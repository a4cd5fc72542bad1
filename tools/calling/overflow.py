"""Results that are too long: a bounded part of them, and a file with all of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tools.context import ToolContext
from tools.environments.output_file import save_text
from tools.result import MAX_SHOWN_CHARS, ShownText, ToolResult

_HEAD, _TAIL = 0.7, 0.2
_FOR_MODEL = ".result.txt"
_INDENT = "  "


def bounded(result: ToolResult, limit: int, ctx: ToolContext) -> ToolResult:
    """The result with at most about `limit` characters for the model, and with files of what is too long.

    What the person is shown and the facts stay; the fact `saved` is added where a card cannot show everything.
    """
    if len(result.text) <= limit:
        return _saved(result, ctx)
    own = result.facts.get("saved")
    if isinstance(own, Mapping) and own.get("path"):
        # The tool has written it out itself, as it came; its lines are not those of this text.
        return _saved(replace(result, text=_cut(result.text, limit, f"All of it is in {own['path']}")), ctx)
    if ctx.output_file is None:
        return replace(result, text=_cut(result.text, limit, "The result was too long"))
    text = _wrapped(_readable(result.text), ctx.settings.read.max_line_chars)
    # Without anything else to show, the card leads to the same file.
    file = ctx.output_file.with_suffix(_FOR_MODEL) if result.shown else ctx.output_file
    whole = save_text(text, file)
    if whole is None:
        return _saved(replace(result, text=_cut(result.text, limit, "The result was too long")), ctx)
    cut = replace(result, text=_cut(text, limit, f"All {text.count(chr(10)) + 1} lines are in {file}", file))
    if result.shown:
        return _saved(cut, ctx)
    return replace(cut, facts={**cut.facts, "saved": whole.facts()})


def shortened(result: ToolResult, limit: int, file: Path | None, longest_line: int) -> ToolResult:
    """A result that is bounded already, cut further because those of its answer share their room.

    Args:
        limit: characters for the model.
        file: the call's file for output; None: nothing is saved.
        longest_line: characters of a line of it that read_file shows.
    """
    if len(result.text) <= limit:
        return result
    text = _wrapped(_readable(result.text), longest_line)
    own = result.facts.get("saved")
    copy = None if file is None else file.with_suffix(_FOR_MODEL)
    if copy is not None and copy.exists():  # of the first cut
        return replace(result, text=_cut(text, limit, f"All of it is in {copy}"))
    if isinstance(own, Mapping) and own.get("path"):
        return replace(result, text=_cut(text, limit, f"All of it is in {own['path']}"))
    if copy is None or save_text(text, copy) is None:
        return replace(result, text=_cut(text, limit, "The results of this answer were too long together"))
    return replace(result, text=_cut(text, limit, f"All {text.count(chr(10)) + 1} lines are in {copy}", copy))


def _saved(result: ToolResult, ctx: ToolContext) -> ToolResult:
    """The result with a file of all that it has to show, where that is too long for a card."""
    # What is a file's content needs no copy; a search names the files that it has found.
    is_in_a_file = "path" in result.facts and "locations" not in result.facts
    if ctx.output_file is None or is_in_a_file or "saved" in result.facts:
        return result
    texts = [shown.text for shown in result.shown if isinstance(shown, ShownText)] if result.shown else [result.text]
    if all(len(text) <= MAX_SHOWN_CHARS for text in texts):
        return result
    saved = save_text("\n\n".join(texts), ctx.output_file)
    return result if saved is None else replace(result, facts={**result.facts, "saved": saved.facts()})


def _cut(text: str, limit: int, where: str, file: Path | None = None) -> str:
    head, tail = text[: int(limit * _HEAD)], text[-int(limit * _TAIL) :]
    left_out = len(text) - len(head) - len(tail)
    more = f": go on with read_file from line {head.count(chr(10)) + 1}" if file is not None else ""
    return f"{head}\n[… {left_out} characters left out here. {where}{more} …]\n{tail}"


def _readable(text: str) -> str:
    """JSON as lines: a page of one endless line could not be read."""
    if text[:1] not in {"{", "["}:
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return "\n".join(_lines(value, ""))


def _lines(value: Any, indent: str) -> Iterator[str]:
    match value:
        case dict() if value:
            for key, part in value.items():
                yield from _item(f"{indent}{key}:", part, indent)
        case list() if value:
            for part in value:
                yield from _item(f"{indent}-", part, indent)
        case str():
            yield from (f"{indent}{line}" for line in value.split("\n"))
        case _:
            yield f"{indent}{json.dumps(value, ensure_ascii=False)}"


def _item(head: str, part: Any, indent: str) -> Iterator[str]:
    is_short = not isinstance(part, (dict, list)) or not part
    if is_short and not (isinstance(part, str) and "\n" in part):
        yield f"{head} {part if isinstance(part, str) else json.dumps(part, ensure_ascii=False)}"
        return
    yield head
    yield from _lines(part, indent + _INDENT)


def _wrapped(text: str, longest: int) -> str:
    """The text with no line over `longest` characters: read_file shows no more of one."""
    if all(len(line) <= longest for line in text.split("\n")):
        return text
    return "\n".join(piece for line in text.split("\n") for piece in _pieces(line, longest))


def _pieces(line: str, longest: int) -> Iterator[str]:
    return (line[start : start + longest] for start in range(0, len(line) or 1, longest))
