"""What `hermes-acp setup` writes: config.yaml and .env, both whole or neither; keys also to the keyring."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import yaml

from acp_adapter.cli.setup.replacing import PRIVATE, NewFile, free_backup, mode_of, replace_files
from agent_core.errors import HermesError
from agent_core.home import Home
from agent_core.own_files import read_text, why_unreadable
from agent_core.settings import keyring
from agent_core.settings.keyring import MARK
from tools.os_compat import lock, open_to_lock

# config.yaml: `model` is changed, every other line stays as it is, with its comments.

_PLAIN_SCALAR = re.compile(r"[A-Za-z][A-Za-z0-9_./:@+-]*")
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
    if _PLAIN_SCALAR.fullmatch(text) and not text.endswith(":") and yaml.safe_load(text) == text:
        return text
    return json.dumps(text, ensure_ascii=False)


# The first config.yaml of a home: what was chosen, and comments that say what else there is.

_HEAD = """\
# The settings of hermes-acp. docs/configuration.md lists them all; `hermes-acp doctor` looks whether they are right.
# Keys stand in .env beside this file, or in the system's keyring.

# Who serves the model, and which one it is; `hermes-acp models` lists what there is.
"""
_REST = """
# Asked when that one cannot answer:
# fallback_providers:
#   - ollama:qwen3:8b

# When you are asked: auto (as the session's mode says), all (whatever is not proven harmless).
# approvals:
#   mode: auto

# How much the model thinks, where it can: none, minimal, low, medium, high, xhigh.
# agent:
#   reasoning_effort: medium

# MCP servers, for every session:
# mcp_servers:
#   files: {command: npx, args: ["-y", "@modelcontextprotocol/server-filesystem", "/srv"]}
"""


def first_config(values: Mapping[str, str]) -> str:
    """The file's text, with these values below `model`."""
    return f"{_HEAD}{model_lines(values)}{_REST}"


# .env: one variable is set, every other line stays as it is.

# Editors of Windows put it at the beginning.
_MARK = "\ufeff"
_PLAIN_VALUE = re.compile(r"[A-Za-z0-9_./:@%+=-]+")


class EnvNotEditable(Exception):
    """The text cannot be changed so that it means what is wanted."""


def with_variable(text: str, name: str, value: str) -> str:
    """The file's text with `name` set to `value`: in the place where it was set before, else at the end.

    Raises:
        EnvNotEditable: the file would not say so afterwards, or would say something else of other variables.
    """
    from dotenv.parser import parse_stream  # noqa: PLC0415 - for those who have a key to store

    if text.startswith(_MARK):
        return _MARK + with_variable(text.removeprefix(_MARK), name, value)
    end = "\r\n" if "\r\n" in text else "\n"
    line = f"{name}={_quoted(value)}{end}"
    parts: list[str] = []
    is_set = False
    for binding in parse_stream(io.StringIO(text, newline="")):
        original = binding.original.string
        if binding.key != name:
            parts.append(original)
        elif not is_set:
            # What the parser counts to a binding may begin with blank lines.
            parts.append(original[: len(original) - len(original.lstrip())] + line)
            is_set = True
    changed = "".join(parts)
    if not is_set:
        changed += ("" if not changed or changed.endswith(("\n", "\r")) else end) + line
    if _values(changed) != {**_values(text), name: value}:
        raise EnvNotEditable
    return changed


def _values(text: str) -> dict[str, str | None]:
    from dotenv import dotenv_values  # noqa: PLC0415 - as above

    return dict(dotenv_values(stream=io.StringIO(text), interpolate=False))


def _quoted(value: str) -> str:
    if _PLAIN_VALUE.fullmatch(value):
        return value
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


# Both files are written, and what was there stays beside.


class SetupFailed(HermesError):
    """The settings were not written; the text says what to do."""


def planned_files(
    home: Home, values: Mapping[str, str], drop: Collection[str], variables: Mapping[str, str]
) -> tuple[NewFile, ...]:
    """The files that change, the one with the key first.

    Args:
        values, drop: of `model` in config.yaml, as `with_model` takes them; without values it stays as it is.
        variables: what .env is to hold beside what it holds.

    Raises:
        SetupFailed: one of them cannot be changed; the text has the lines to put in.
    """
    by_hand = f"Put this into {home.config_file}:\n\n{model_lines(values)}"
    if variables:
        lines = "".join(f"{name}=YOUR-KEY\n" for name in variables)
        by_hand = f"{by_hand if values else ''}\nPut this into {home.env_file}:\n\n{lines}"
    files: list[NewFile] = []
    if variables:
        after = _read(home.env_file)
        try:
            for name, value in variables.items():
                after = with_variable(after, name, value)
        except EnvNotEditable as problem:
            raise SetupFailed(
                f"A new line in {home.env_file} would not be read as one: something before it is not closed. "
                f"Nothing was changed. {by_hand}"
            ) from problem
        files.append(NewFile(home.env_file, after, PRIVATE))
    if not values:
        return tuple(files)
    before = _read(home.config_file)
    try:
        after = with_model(before, values, drop) if before.strip() else first_config(values)
    except NotEditable as problem:
        stale = ", ".join(f"model.{name}" for name in _present(before, set(drop) - values.keys()))
        also = f"\nTake out of it what is another server's: {stale}.\n" if stale else ""
        raise SetupFailed(
            f"{home.config_file} cannot be changed line by line: {problem}. Nothing was changed. {by_hand}{also}"
        ) from problem
    if after != before:
        old = free_backup(home.config_file, ".bak") if before else None
        files.append(NewFile(home.config_file, after, mode_of(home.config_file), old))
    return tuple(files)


@contextlib.contextmanager
def alone(home: Home) -> Iterator[None]:
    """No other setup plans and writes meanwhile: the later one keeps what the earlier one has written."""
    with contextlib.ExitStack() as stack:
        # A file system without locks, or a home that cannot be made, which the writing tells.
        with contextlib.suppress(OSError):
            home.make(home.root)
            descriptor = open_to_lock(home.root)
            stack.callback(os.close, descriptor)
            lock(descriptor, waits=True)
        yield


def write(home: Home, files: Collection[NewFile]) -> None:
    """Put the files into their places. They are complete on the disk before the first is put there.

    Raises:
        SetupFailed: it could not be done.
    """
    try:
        home.make(home.root)
        replace_files(files)
    except OSError as problem:
        said = problem.strerror or type(problem).__name__
        at = f" ({problem.filename})" if problem.filename else ""
        raise SetupFailed(
            f"The settings could not be written to {home.root}: {said}{at}. Make the directory yours and writable; "
            "where it is a link, or its files are, make what they lead to."
        ) from problem


def _present(text: str, drop: Collection[str]) -> list[str]:
    model = (yaml.safe_load(text) or {}).get("model")
    return sorted(name for name in drop if name in model) if isinstance(model, dict) else []


def _read(path: Path) -> str:
    try:
        return read_text(path)
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as problem:
        said = why_unreadable(problem)
        raise SetupFailed(f"{path} could not be read: {said}. Make it readable, or move it away.") from problem


# Keys: into .env, or into the system's keyring with a line in .env that says so.

Store = Literal["file", "keyring"]


@contextlib.contextmanager
def stored(home: Home, keys: Mapping[str, str], store: Store) -> Iterator[Mapping[str, str]]:
    """Put the keys there, and give what .env is to say; where the block fails, the keyring is as it was.

    Raises:
        KeyringFailed: the keyring does not take them.
    """
    if store == "file":
        yield keys
        return
    service = keyring.service_of(home)
    before: dict[str, str | None] = {}
    try:
        for name, value in keys.items():
            before[name] = keyring.read(service, name, seconds=keyring.SECONDS_OF_A_PERSON)
            keyring.write(service, name, value)
        yield dict.fromkeys(keys, f"{MARK}{service}")
    except BaseException:
        for name, old in before.items():
            with contextlib.suppress(keyring.KeyringFailed):
                _put_back(service, name, old)
        raise


def forget(home: Home, name: str) -> str:
    """Take a key out of the keyring that .env holds from now on; why it is still there, '' where it is not."""
    try:
        keyring.remove(keyring.service_of(home), name)
    except keyring.KeyringFailed as problem:
        return f"{name} is still in the system's keyring, too. {problem.public}"
    return ""


def _put_back(service: str, name: str, old: str | None) -> None:
    if old is None:
        keyring.remove(service, name)
    else:
        keyring.write(service, name, old)
