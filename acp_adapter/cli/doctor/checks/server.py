"""The server as an editor starts it: does it answer, is its stdout pure, how long does it take."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from acp_adapter.cli.doctor.case import Case
from acp_adapter.cli.doctor.finding import Finding, failing, warning, well
from tools.environments.guardian import signal_group
from tools.os_compat import SIGKILL

SERVER_SECONDS = 20.0
# CodeCompanion gives an agent 20 s. One that needs 3 while nothing else is asked of it will not keep that on a
# machine that builds something; a usual start takes a few tenths of a second.
SLOW = 3.0
_SECONDS_TO_END = 5.0
_TOLD = 300
_STEP = "Run `hermes-acp --offline` by hand, and look into logs/hermes-acp.log of the home."


@dataclass(slots=True)
class _Start:
    """What came of it. `lines` is all of stdout; `answers` is by the request's id, with the seconds it took."""

    lines: list[bytes] = field(default_factory=list)
    answers: dict[object, float] = field(default_factory=dict)
    errors: str = ""
    late: bool = False
    code: int | None = None


def check_server(case: Case) -> Iterator[Finding]:
    """Start it once, in an empty home and with the offline stand-in: what it does does not depend on settings."""
    from acp_adapter.cli.editors.table import own_command  # noqa: PLC0415 - for this look only

    command = (*own_command(None, case.environ), "--offline")
    try:
        start = _started(command, case)
    except OSError as problem:
        yield failing("server", f"{command[0]} could not be started: {problem.strerror or problem}", _STEP)
        return
    yield from _judged(start, command)


def _judged(start: _Start, command: Sequence[str]) -> Iterator[Finding]:
    shown, stray = " ".join(command), [line for line in start.lines if not is_message(line)]
    if stray:
        text = f"{shown} writes to stdout what is no message of the protocol: {_excerpt(stray[0])}"
        step = "Something prints when Python starts (a .pth file, sitecustomize, a wrapper script): take it out."
        yield failing("stdout", text, step, stray=len(stray))
    elif start.lines:
        yield well("stdout", f"nothing but messages of the protocol ({len(start.lines)} lines)", stray=0)
    if 1 not in start.answers:
        why = "did not answer" if start.late else f"ended with exit code {start.code} before it answered"
        said = f"; it wrote to stderr: {_excerpt(start.errors.encode())}" if start.errors.strip() else ""
        yield failing("server", f"{shown} {why}{said}", _STEP)
        return
    first, whole = start.answers[1], start.answers.get(2)
    facts: dict[str, Any] = {
        "initialize_seconds": round(first, 3),
        "session_seconds": None if whole is None else round(whole, 3),
    }
    if whole is None:
        yield failing("server", f"{shown} answers initialize, but opens no session", _STEP, **facts)
    elif first >= SLOW:
        text = f"the first answer took {first:.1f} s; some editors give up after 20 s"
        step = "Look for a slow disk, a virus scanner, or a home or a Python on a network drive."
        yield warning("server", text, step, **facts)
    else:
        yield well("server", f"it answers after {first:.2f} s, and has a session after {whole:.2f} s", **facts)
    if start.errors.strip():
        text = f"{shown} writes to stderr, which some editors show as an error: {_excerpt(start.errors.encode())}"
        yield warning("server", text, "Look where that comes from.")


def _started(command: Sequence[str], case: Case) -> _Start:
    place, folder = case.scratch / "server-home", case.scratch / "server-folder"
    place.mkdir(mode=0o700)
    folder.mkdir()
    start, begun = _Start(), time.monotonic()
    with (case.scratch / "server-stderr").open("w+b") as errors:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            cwd=folder,
            env={**case.environ, "HERMES_HOME": str(place)},
            start_new_session=True,
        )
        assert process.stdin is not None  # noqa: S101 - asked for as pipes
        assert process.stdout is not None  # noqa: S101 - the same
        try:
            with case.endings.by(lambda: _kill(process)), _limited(process, start):
                _converse(process.stdin, process.stdout, start, begun, folder)
                start.code = process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            start.late = True
        finally:
            _kill(process)
            process.wait()
            process.stdout.close()
        errors.seek(0)
        start.errors = errors.read().decode("utf-8", "replace")
    return start


def _converse(into: IO[bytes], out: IO[bytes], start: _Start, begun: float, folder: Path) -> None:
    hello = {"protocolVersion": 1, "clientCapabilities": {}, "clientInfo": {"name": "doctor", "version": "1"}}
    with contextlib.suppress(OSError):  # it ended before it read
        into.write(_request(1, "initialize", hello))
        into.write(_request(2, "session/new", {"cwd": str(folder), "mcpServers": []}))
        into.flush()
    for line in out:
        start.lines.append(line)
        if is_message(line):
            start.answers.setdefault(json.loads(line).get("id"), time.monotonic() - begun)
        if 2 in start.answers:  # noqa: PLR2004 - the second request
            break
    with contextlib.suppress(OSError):
        into.close()
    start.lines.extend(out)


@contextlib.contextmanager
def _limited(process: subprocess.Popen[bytes], start: _Start) -> Iterator[None]:
    def give_up() -> None:
        start.late = True
        _kill(process)

    timer = threading.Timer(SERVER_SECONDS, give_up)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is not None:
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if os.name == "posix":
            signal_group(process.pid, SIGKILL)
        else:
            process.kill()


def is_message(line: bytes) -> bool:
    """Whether a line of output is one of JSON-RPC's messages."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and value.get("jsonrpc") == "2.0" and line.endswith(b"\n")


def _request(number: int, method: str, params: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n"


def _excerpt(text: bytes) -> str:
    words = " ".join(text.decode("utf-8", "replace").split())
    return words if len(words) <= _TOLD else f"{words[:_TOLD]} …"
