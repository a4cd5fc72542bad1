"""What `hermes-acp setup` writes: config.yaml and .env, with what was there kept beside; keys also to the keyring."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import os
import re
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml
from dotenv import dotenv_values
from dotenv.parser import parse_stream

from agent_core.errors import HermesError
from agent_core.home import Home
from agent_core.own_files import read_file, read_text, why_unreadable
from agent_core.settings import keyring
from agent_core.settings.keyring import MARK
from tools.locked_file import replace_file
from tools.os_compat import lock, open_to_lock, set_mode, set_owner_like

# A file gets a new content, and stays whose it is.

PRIVATE = 0o600


@dataclass(frozen=True, slots=True)
class NewFile:
    """A file as it is to be. `backup` is where its old content goes."""

    path: Path
    text: str
    mode: int
    backup: Path | None = None

    def write(self) -> None:
        """Put it into its place; a link to it stays one.

        Raises:
            OSError: it could not be written; what was there still is.
        """
        if self.backup is not None:
            _put(self.backup, self.path.read_bytes(), self.mode)
        _put(Path(os.path.realpath(self.path)), self.text.encode(), self.mode)


def _put(target: Path, data: bytes, mode: int) -> None:
    replace_file(target, data)
    with target.open("rb") as stream:
        # Who runs `sudo` leaves nothing that its owner cannot read.
        set_owner_like(stream.fileno(), target.parent)
        set_mode(stream.fileno(), mode)


def mode_of(path: Path, otherwise: int = PRIVATE) -> int:
    """A file's permissions; `otherwise` where there is none."""
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return otherwise


def free_backup(path: Path, suffix: str) -> Path:
    """A name beside the file for what it is now: what stands there under an earlier one is not written over.

    Raises:
        OSError: the file cannot be read.
    """
    content = path.read_bytes()
    names = (path.with_name(f"{path.name}{suffix}{number or ''}") for number in itertools.count())
    return next(name for name in names if not os.path.lexists(name) or _holds(name, content))


def _holds(path: Path, content: bytes) -> bool:
    try:
        return not path.is_symlink() and read_file(path) == content
    except OSError:
        return False


# config.yaml: `model` is changed, every other line stays as it is, with its comments.

_PLAIN_SCALAR = re.compile(r"[A-Za-z][A-Za-z0-9_./:@+-]*")
_MODEL_LINE = re.compile(r"(model\s*:)(?:\s+[^\s#'\"\[{&*|>!][^#]*?)?(\s*|\s+#.*)$")
_VALUE_LINE = re.compile(r"""(\s*[\w-]+\s*:)(?:\s+(?:'[^']*'|"[^"]*"|[^\s#'"][^#]*?))?(\s*|\s+\#.*)$""")
_KEY_LINE = re.compile(r"( *)([\w-]+)\s*:(?:\s|$)")
_INDENT = "  "


class NotEditable(Exception):
    """The text cannot be changed line by line so that it means what is wanted."""


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
    gone = frozenset(drop) - values.keys()
    old: dict[Any, Any] = yaml.safe_load(text) or {}
    model = old.get("model")
    kept = {key: value for key, value in model.items() if key not in gone} if isinstance(model, dict) else {}
    end = "\r\n" if "\r\n" in text else "\n"
    lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n") if text else []
    changed = "".join(f"{line}{end}" for line in _edited(lines, values, gone))
    try:
        if yaml.safe_load(changed) == {**old, "model": {**kept, **values}}:
            return changed
    except yaml.YAMLError:
        pass
    raise NotEditable("it is not written with a line for each setting below `model:`")


def model_lines(values: Mapping[str, str]) -> str:
    """The settings as lines for somebody to put in."""
    return "".join(f"{line}\n" for line in ("model:", *_children(values, _INDENT)))


def _edited(lines: Sequence[str], values: Mapping[str, str], gone: Collection[str]) -> Iterator[str]:
    """The lines with the values set: in their places, or as the first below `model:`; others may mean more by it."""
    start = next((number for number, line in enumerate(lines) if re.match(r"model\s*:", line)), None)
    if start is None:
        yield from (*lines, "model:", *_children(values, _INDENT))
        return
    inside = itertools.takewhile(lambda line: not line.strip() or line[0] in " #", lines[start + 1 :])
    block = list(inside)
    found = [_KEY_LINE.match(line) for line in block]
    indent = next((key[1] for key in found if key), _INDENT)
    names = [key[2] if key and key[1] == indent else "" for key in found]
    yield from lines[:start]
    yield _MODEL_LINE.sub(r"\1\2", lines[start])
    yield from _children({name: value for name, value in values.items() if name not in names}, indent)
    at = ""
    for number, line in enumerate(block):
        at = names[number] or at
        # The blank lines and comments before the next key are about that.
        says = (each for each in range(number, len(block)) if block[each].strip() and block[each].lstrip()[0] != "#")
        is_inside = names[number] == at or not names[next(says, number)]
        if at in gone and line.strip() and is_inside:
            yield f"{indent}# {line[len(indent) :]}"
        elif names[number] in values:
            yield _with_value(line, values[at])
        else:
            yield line
    yield from lines[start + 1 + len(block) :]


def _with_value(line: str, value: str) -> str:
    return _VALUE_LINE.sub(lambda found: f"{found[1]} {_scalar(value)}{found[2]}", line)


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

_PLAIN_VALUE = re.compile(r"[A-Za-z0-9_./:@%+=-]+")


def with_variable(text: str, name: str, value: str) -> str:
    """The file's text with `name` set to `value`: in the place where it was set before, else at the end.

    Raises:
        NotEditable: the file would not say so afterwards, or would say something else of other variables.
    """
    text, mark = text.removeprefix("\ufeff"), "\ufeff" if text.startswith("\ufeff") else ""
    end = "\r\n" if "\r\n" in text else "\n"
    line = f"{name}={_quoted(value)}{end}"
    parts: list[str] = []
    for binding in parse_stream(io.StringIO(text, newline="")):
        original = binding.original.string
        if binding.key != name:
            parts.append(original)
        elif line not in parts:
            # What the parser counts to a binding may begin with blank lines.
            parts += [original[: len(original) - len(original.lstrip())], line]
    if line not in parts:
        parts += [end if text and not text.endswith(("\n", "\r")) else "", line]
    changed = "".join(parts)
    if _values(changed) != {**_values(text), name: value}:
        raise NotEditable("a new line would not be read as one: something before it is not closed")
    return mark + changed


def _values(text: str) -> dict[str, str | None]:
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
    files: list[NewFile] = []
    path = home.env_file
    try:
        if variables:
            keys = _read(path)
            for name, value in variables.items():
                keys = with_variable(keys, name, value)
            files.append(NewFile(path, keys, PRIVATE))
        path = home.config_file
        before = _read(path)
        after = (with_model(before, values, drop) if before.strip() else first_config(values)) if values else before
        if after != before:
            backup = free_backup(path, ".bak") if before else None
            files.append(NewFile(path, after, mode_of(path), backup))
    except NotEditable as problem:
        by_hand = f"Put this into {home.config_file}:\n\n{model_lines(values)}" if values else ""
        if variables:
            lines = "".join(f"{name}=YOUR-KEY\n" for name in variables)
            by_hand += f"\nPut this into {home.env_file}:\n\n{lines}"
        stale = ", ".join(f"model.{name}" for name in sorted(set(drop) - values.keys()))
        also = f"\nWhere it has {stale}, take that out: it is another server's.\n" if values and stale else ""
        raise SetupFailed(f"{path} cannot be changed: {problem}. Nothing was changed. {by_hand}{also}") from problem
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
    """Put the files into their places, one after the other.

    Raises:
        SetupFailed: it could not be done; the message names the files that were written before.
    """
    written: list[str] = []
    try:
        home.make(home.root)
        for file in files:
            file.write()
            written.append(str(file.path))
    except OSError as problem:
        said = problem.strerror or type(problem).__name__
        at = f" ({problem.filename})" if problem.filename else ""
        kept = f" {', '.join(written)} was written before." if written else ""
        raise SetupFailed(
            f"The settings could not be written to {home.root}: {said}{at}.{kept} Make the directory yours and "
            "writable; where it is a link, or its files are, make what they lead to."
        ) from problem


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
