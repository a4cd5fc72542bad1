"""Runs the command of a hook: in a group of its own, told on its input, heard on its outputs, gone at the end."""

from __future__ import annotations

import contextlib
import os
import secrets
import selectors
import subprocess
import time
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from agent_core.hooks.bounded import in_background
from agent_core.hooks.hook import HookFailed
from tools.environments.command_watch import open_exit_watch
from tools.environments.guardian import VARIABLE, Guardian, kill_marked, signal_group
from tools.errors import ToolInterrupted
from tools.light_dataclass import dataclass
from tools.os_compat import SIGKILL
from tools.ports import Interrupt

_READ_BYTES = 64 * 1024
_MOST_BYTES = 1024 * 1024
# The command waits for a first line until its group is registered with the guardian; if we die before, its input ends
# and it never begins. A shell reads a pipe byte by byte: the command gets all that follows.
_AFTER_GO = 'IFS= read -r _ && eval "shift; $1"'
_GO = b"\n"


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended. `exit_code` is negative where a signal ended it."""

    exit_code: int
    stdout: str
    stderr: str


@dataclass(slots=True)
class _Talk:
    """What is still to be written, and what was read; more than a megabyte of an output is left out."""

    rest: memoryview
    heard: dict[str, bytearray] = field(default_factory=lambda: {"out": bytearray(), "err": bytearray()})


def run_command(
    command: str,
    told: bytes,
    *,
    cwd: Path,
    env: Mapping[str, str],
    seconds: float,
    interrupt: Interrupt | None,
    guardian: Guardian,
) -> Ran:
    """Run `command` with a shell. What it leaves running is ended with it.

    Args:
        told: what it gets on its standard input.

    Raises:
        HookFailed: it could not be started, or has not ended after `seconds`.
        ToolInterrupted: the turn is over.
    """
    mark = f"{guardian.mark}.{secrets.token_hex(4)}"
    process = _started(command, cwd, {**env, VARIABLE: mark}, guardian)
    talk = _Talk(memoryview(_GO + told))

    def kill() -> None:
        signal_group(process.pid, SIGKILL)

    forget = interrupt.on_cancel(kill) if interrupt is not None else lambda: None
    try:
        ended = _talked(process, talk, time.monotonic() + seconds)
    finally:
        forget()
        kill()
        exit_code = process.wait()
        guardian.discard(process.pid)
        # What has left the group; nobody waits for the look through all processes.
        in_background(lambda: kill_marked(mark), "what a hook has left running")
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
    if interrupt is not None and interrupt.is_set():
        raise ToolInterrupted
    if not ended:
        raise HookFailed(f"has not ended within {seconds:g} seconds, and was ended")
    out, err = (bytes(talk.heard[name]).decode("utf-8", "replace") for name in ("out", "err"))
    return Ran(exit_code, out, err)


def _started(command: str, cwd: Path, env: Mapping[str, str], guardian: Guardian) -> subprocess.Popen[bytes]:
    guardian.ready()
    try:
        process = subprocess.Popen(
            ["/bin/sh", "-c", _AFTER_GO, "hermes-acp-hook", command],
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            close_fds=True,
            start_new_session=True,
        )
    except (OSError, ValueError) as problem:
        raise HookFailed(f"could not be started in {cwd}: {problem}") from problem
    guardian.add(process.pid)
    return process


def _talked(process: subprocess.Popen[bytes], talk: _Talk, deadline: float) -> bool:
    """Write and read until it has exited; False where it has not by the deadline."""
    watch = open_exit_watch(process)
    try:
        with selectors.DefaultSelector() as selector:
            selector.register(watch, selectors.EVENT_READ, "exit")
            for pipe, event, name in (
                (process.stdin, selectors.EVENT_WRITE, "in"),
                (process.stdout, selectors.EVENT_READ, "out"),
                (process.stderr, selectors.EVENT_READ, "err"),
            ):
                if pipe is not None:
                    os.set_blocking(pipe.fileno(), False)
                    selector.register(pipe, event, name)
            while (left := deadline - time.monotonic()) > 0:
                for key, _ in selector.select(left):
                    if key.data == "exit":
                        _read_rest(process, talk)
                        return True
                    if not _step(key, talk):
                        selector.unregister(key.fileobj)
                        if key.data == "in" and process.stdin is not None:
                            process.stdin.close()
        return False
    finally:
        os.close(watch)


def _step(key: selectors.SelectorKey, talk: _Talk) -> bool:
    """Write to a pipe, or read from it; False where that is over."""
    if key.data != "in":
        return _read(key.fd, talk.heard[key.data])
    try:
        talk.rest = talk.rest[os.write(key.fd, talk.rest[:_READ_BYTES]) :]
    except BlockingIOError:
        return True
    except OSError:  # it does not read, and need not
        talk.rest = talk.rest[:0]
    return bool(talk.rest)


def _read(descriptor: int, into: bytearray) -> bool:
    try:
        data = os.read(descriptor, _READ_BYTES)
    except BlockingIOError:
        return True
    except OSError:
        return False
    into += data[: max(0, _MOST_BYTES - len(into))]
    return bool(data)


def _read_rest(process: subprocess.Popen[bytes], talk: _Talk) -> None:
    """What is in the pipes at its end; what it has left running may keep them open."""
    for pipe, name in ((process.stdout, "out"), (process.stderr, "err")):
        if pipe is None:
            continue
        before = -1
        while len(talk.heard[name]) not in {before, _MOST_BYTES}:
            before = len(talk.heard[name])
            _read(pipe.fileno(), talk.heard[name])
