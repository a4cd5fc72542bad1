"""A Jupyter notebook (nbformat 4) as text: its cells in order, their outputs shortened."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tools.documents.unreadable import Unreadable
from tools.text.terminal_output import plain_text

_MAX_OUTPUT_LINES = 20
_MAX_OUTPUT_CHARS = 2000


def notebook_lines(data: bytes) -> list[str]:
    """The lines of a notebook: `# %% [markdown] cell 1`, its source, and `# output:` with what a code cell printed.

    Raises:
        Unreadable: it is no notebook.
    """
    try:
        book = json.loads(data)
    except (ValueError, RecursionError) as problem:
        raise Unreadable(f"it is no JSON ({problem})") from problem
    cells = book.get("cells") if isinstance(book, dict) else None
    if not isinstance(cells, list):
        raise Unreadable("it has no cells, as a notebook of format 4 has")
    return [line for number, cell in enumerate(cells, 1) if isinstance(cell, dict) for line in _cell(number, cell)]


def _cell(number: int, cell: Mapping[str, Any]) -> Iterator[str]:
    yield f"# %% [{cell.get('cell_type', 'unknown')}] cell {number}"
    yield from _joined(cell.get("source")).split("\n")
    outputs = cell.get("outputs")
    shown = [text for output in outputs if (text := _output(output))] if isinstance(outputs, list) else []
    if shown:
        yield "# output:"
        yield from _shortened("\n".join(shown))
    yield ""


def _output(output: object) -> str:
    if not isinstance(output, dict):
        return ""
    match output.get("output_type"):
        case "stream":
            return plain_text(_joined(output.get("text"))).rstrip("\n")
        case "error":
            trace = output.get("traceback")
            lines = [line for line in trace if isinstance(line, str)] if isinstance(trace, list) else []
            return plain_text("\n".join(lines)) or f"{output.get('ename')}: {output.get('evalue')}"
        case "execute_result" | "display_data":
            return _displayed(output.get("data"))
    return ""


def _displayed(data: object) -> str:
    if not isinstance(data, dict):
        return ""
    images = [f"[{kind}]" for kind in data if str(kind).startswith("image/")]
    text = _joined(data.get("text/plain"))
    return "\n".join([*([text.rstrip("\n")] if text else []), *images])


def _shortened(text: str) -> Sequence[str]:
    lines = [line[:_MAX_OUTPUT_CHARS] for line in text.split("\n")]
    kept, chars = 0, 0
    while kept < min(len(lines), _MAX_OUTPUT_LINES) and chars <= _MAX_OUTPUT_CHARS:
        chars += len(lines[kept])
        kept += 1
    left = len(lines) - kept
    return [*lines[:kept], f"[… {left} more lines of output]"] if left else lines


def _joined(source: object) -> str:
    """The text of a field, which is a string or a list of lines."""
    if isinstance(source, list):
        return "".join(part for part in source if isinstance(part, str))
    return source if isinstance(source, str) else ""
