"""Changes `model` in the text of a config.yaml and leaves every other line, with its comments, as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Any

import yaml

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./:@+-]*")
_INDENT = "  "
_KEY = "model"


class NotEditable(Exception):
    """The text is written in a way that cannot be changed line by line; the text of the error says which."""


def with_model(text: str, values: Mapping[str, str], drop: Collection[str] = ()) -> str:
    """The settings with these values below `model`.

    The result is parsed and compared before it is returned: it differs in nothing else.

    Args:
        text: valid YAML that holds a mapping, or nothing.
        values: what is set, by key.
        drop: keys whose lines become comments, because they belonged to what was there before.

    Raises:
        NotEditable: it cannot be done so.
    """
    dropped = frozenset(drop) - values.keys()
    changed = _changed(text, values, dropped)
    expected = _expected(_loaded(text), values, dropped)
    try:
        same = _loaded(changed) == expected
    except yaml.YAMLError as problem:
        raise NotEditable("a changed line would break it") from problem
    if not same:
        raise NotEditable("a changed line would change other settings too")
    return changed


def model_lines(values: Mapping[str, str]) -> str:
    """The settings as lines for somebody to put in."""
    return "".join(f"{line}\n" for line in (f"{_KEY}:", *_children(values, _INDENT)))


def _loaded(text: str) -> dict[Any, Any]:
    return yaml.safe_load(text) or {}


def _expected(old: Mapping[Any, Any], values: Mapping[str, str], dropped: Collection[str]) -> dict[Any, Any]:
    before = old.get(_KEY)
    kept = {key: value for key, value in before.items() if key not in dropped} if isinstance(before, dict) else {}
    return {**old, _KEY: {**kept, **values}}


def _changed(text: str, values: Mapping[str, str], dropped: Collection[str]) -> str:
    end = "\r\n" if "\r\n" in text else "\n"
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if root is None:
        return _appended(text, values, end)
    if not isinstance(root, yaml.MappingNode) or root.flow_style:
        raise NotEditable("its settings stand in braces")
    found = [(key, value) for key, value in root.value if key.value == _KEY]
    if not found:
        return _appended(text, values, end)
    (key, value), *more = found
    if more:
        raise NotEditable(f"it has the key {_KEY!r} twice")
    if isinstance(value, yaml.ScalarNode) and value.style is None:
        return _from_scalar(text, key, value, values, end)
    if not isinstance(value, yaml.MappingNode) or value.flow_style or value.start_mark.line == key.start_mark.line:
        raise NotEditable(f"the value of {_KEY!r} does not stand in lines of its own below it")
    return _in_block(text, value, values, dropped, end)


def _appended(text: str, values: Mapping[str, str], end: str) -> str:
    before = text if not text or text.endswith(("\n", "\r")) else f"{text}{end}"
    return before + "".join(f"{line}{end}" for line in (f"{_KEY}:", *_children(values, _INDENT)))


def _from_scalar(text: str, key: yaml.Node, value: yaml.ScalarNode, values: Mapping[str, str], end: str) -> str:
    """`model: NAME`, or `model:` with nothing: the name goes, the lines come below."""
    lines = text.splitlines(keepends=True)
    at = key.start_mark.line
    line = lines[at]
    if value.value and value.start_mark.line == at:
        line = line[: value.start_mark.column].rstrip() + line[value.end_mark.column :]
    elif value.value:
        raise NotEditable(f"the value of {_KEY!r} does not stand beside it")
    if not line.endswith(("\n", "\r")):
        line += end
    indent = " " * key.start_mark.column + _INDENT
    lines[at : at + 1] = [line, *(f"{child}{end}" for child in _children(values, indent))]
    return "".join(lines)


def _in_block(
    text: str, block: yaml.MappingNode, values: Mapping[str, str], dropped: Collection[str], end: str
) -> str:
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith(("\n", "\r")):
        lines[-1] += end
    first = block.value[0][0].start_mark
    starts = [key.start_mark.line for key, _ in block.value]
    for (key, value), until in zip(block.value, [*starts[1:], block.end_mark.line or len(lines)], strict=True):
        if key.value in dropped:
            _comment_out(lines, key.start_mark.line, until, first.column)
        elif key.value in values:
            lines[key.start_mark.line] = _with_value(lines[key.start_mark.line], key, value, values[key.value])
    there = {key.value for key, _ in block.value}
    new = {key: value for key, value in values.items() if key not in there}
    lines[first.line : first.line] = [f"{child}{end}" for child in _children(new, " " * first.column)]
    return "".join(lines)


def _with_value(line: str, key: yaml.Node, value: yaml.Node, wanted: str) -> str:
    start, stop = value.start_mark, value.end_mark
    if not isinstance(value, yaml.ScalarNode) or (value.value and not start.line == stop.line == key.start_mark.line):
        raise NotEditable(f"the value of {_KEY}.{key.value} does not stand beside it")
    if value.value == wanted:
        return line
    if value.value or value.style:
        return line[: start.column] + _scalar(wanted) + line[stop.column :]
    before, colon, after = line[: key.end_mark.column], *line[key.end_mark.column :].partition(":")[1:]
    return f"{before}{colon} {_scalar(wanted)}{after}"


def _comment_out(lines: list[str], start: int, until: int, column: int) -> None:
    """Make comments of a key's lines, without the blank lines and comments after them."""
    stop = min(until, len(lines))
    while stop > start + 1 and (not lines[stop - 1].strip() or lines[stop - 1].lstrip().startswith("#")):
        stop -= 1
    for at in range(start, stop):
        if lines[at].strip():
            lines[at] = f"{lines[at][:column]}# {lines[at][column:]}"


def _children(values: Mapping[str, str], indent: str) -> list[str]:
    return [f"{indent}{key}: {_scalar(value)}" for key, value in values.items()]


def _scalar(text: str) -> str:
    """`text` as YAML has it: plain where that cannot mean anything else."""
    if _PLAIN.fullmatch(text) and not text.endswith(":") and yaml.safe_load(text) == text:
        return text
    return json.dumps(text, ensure_ascii=False)
