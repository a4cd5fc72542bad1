"""`hermes-acp prompt --record FILE`: the conversation is kept in a file, whichever agent it is with."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from acp_adapter.cli.client.client import Trace
from agent_core.errors import RequestError, SettingsError

if TYPE_CHECKING:
    from tools.redaction import Redactor

_CLOSE_SECONDS = 5.0


@contextlib.contextmanager
def recorded(path: Path | None, profile: str | None, trace: Trace | None) -> Iterator[Trace | None]:
    """`trace`, which also records to `path` until the block is left; itself where `path` is None.

    Args:
        profile: whose keys the recording must not show, beside everything that looks like a secret.

    Raises:
        RequestError: the file cannot be written to.
    """
    if path is None:
        yield trace
        return
    from acp_adapter.recording.recorder import Recorder  # noqa: PLC0415 - few record

    try:
        recorder = Recorder(path, lambda: _redactor(profile), "hermes-acp prompt")
    except OSError as problem:
        why = problem.strerror or problem
        raise RequestError(f"--record: {path} cannot be written to: {why}. Name another file.") from problem

    def both(direction: Literal["in", "out"], t: float, frame: dict[str, Any]) -> None:
        recorder.put(direction, json.dumps(frame).encode())
        if trace is not None:
            trace(direction, t, frame)

    try:
        yield both
    finally:
        recorder.close(_CLOSE_SECONDS)


def _redactor(profile: str | None) -> Redactor:
    from agent_core.config import load  # noqa: PLC0415 - few record
    from agent_core.home import find_home  # noqa: PLC0415 - the same
    from agent_core.known_secrets import secrets_of  # noqa: PLC0415 - the same
    from tools.redaction import Redactor  # noqa: PLC0415 - the same

    try:
        return Redactor(secrets_of(load(find_home(os.environ, profile))))
    except SettingsError:  # shapes are known without them
        return Redactor()
