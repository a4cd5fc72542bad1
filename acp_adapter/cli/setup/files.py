"""Writes what `hermes-acp setup` has planned: both files whole, or neither, and what was there stays beside."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from acp_adapter.cli.setup.config_yaml import NotEditable, model_lines, with_model
from acp_adapter.cli.setup.env import EnvNotEditable, with_variable
from acp_adapter.cli.setup.first_config import first_config
from acp_adapter.cli.setup.replacing import PRIVATE, NewFile, free_backup, mode_of, replace_files
from agent_core.errors import HermesError
from agent_core.own_files import read_text, why_unreadable
from tools.os_compat import lock, open_to_lock

if TYPE_CHECKING:
    from agent_core.home import Home


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
    import yaml  # noqa: PLC0415 - only for this message

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
