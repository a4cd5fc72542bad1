"""What the fake editor does for an agent that asks: files with unsaved buffers, terminals, forms."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from tests.support.editor_files import EditorFiles

Params = dict[str, Any]
Handler = Callable[[Params], Awaitable[Any]]

SHELL = "/bin/sh"
_LAST_OUTPUT = 0.1


class RpcError(Exception):
    """A JSON-RPC error, received or to be sent."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(f"{code}: {message}" + (f" ({data})" if data else ""))
        self.code = code
        self.message = message
        self.data = data

    def as_json(self) -> dict[str, Any]:
        return {"code": self.code, "message": self.message} | ({"data": self.data} if self.data is not None else {})


@dataclass(slots=True)
class Terminal:
    process: asyncio.subprocess.Process
    limit: int
    output: bytearray = field(default_factory=bytearray)
    truncated: bool = False
    reader: asyncio.Task[None] | None = None

    async def read(self) -> None:
        stream = self.process.stdout
        while stream is not None and (data := await stream.read(65536)):
            self.output += data
            if len(self.output) > self.limit:
                self.truncated = True
                del self.output[: len(self.output) - self.limit]
        await self.process.wait()

    async def exited(self) -> None:
        """Wait for the process alone: `process.wait` also waits for whoever holds its output."""
        with contextlib.suppress(ChildProcessError):  # it has ended, and is reaped
            await asyncio.to_thread(os.waitid, os.P_PID, self.process.pid, os.WEXITED | os.WNOWAIT)
        while self.process.returncode is None:  # noqa: ASYNC110 - the loop is about to be told
            await asyncio.sleep(0)

    def status(self) -> dict[str, Any] | None:
        code = self.process.returncode
        if code is None:
            return None
        if code < 0:
            return {"exitCode": None, "signal": signal.Signals(-code).name}
        return {"exitCode": code, "signal": None}

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)


class EditorHost:
    """The editor's own files, terminals and forms.

    `files` says how it treats files. `forms` answers elicitation/create.
    """

    def __init__(self) -> None:
        self.files = EditorFiles()
        self.terminals: dict[str, Terminal] = {}
        self.forms: Handler = _decline
        self._numbers = count(1)

    @property
    def buffers(self) -> dict[str, str]:
        """Files open in the editor: their text wins over the disk."""
        return self.files.buffers

    def handlers(self) -> dict[str, Handler]:
        return {
            "fs/read_text_file": self.read_text_file,
            "fs/write_text_file": self.write_text_file,
            "terminal/create": self.create_terminal,
            "terminal/output": self.terminal_output,
            "terminal/wait_for_exit": self.wait_for_exit,
            "terminal/kill": self.kill_terminal,
            "terminal/release": self.release_terminal,
            "elicitation/create": self.fill_form,
        }

    async def read_text_file(self, params: Params) -> Any:
        lines = self._text(params["path"]).splitlines(keepends=True)
        start = max((params.get("line") or 1) - 1, 0)
        limit = params.get("limit")
        return {"content": "".join(lines[start : None if limit is None else start + limit])}

    async def write_text_file(self, params: Params) -> Any:
        try:
            self.files.write(params["path"], params["content"])
        except OSError as error:
            raise RpcError(-32603, f"cannot write {params['path']}: {type(error).__name__}") from None
        return {}

    async def create_terminal(self, params: Params) -> Any:
        # An editor hands a command without arguments to the shell.
        words = [params["command"], *(params.get("args") or ())]
        if len(words) == 1:
            words = [SHELL, "-c", *words]
        process = await asyncio.create_subprocess_exec(
            *words,
            cwd=params.get("cwd"),
            env={**os.environ, **{item["name"]: item["value"] for item in params.get("env") or ()}},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        terminal = Terminal(process, params.get("outputByteLimit") or 1 << 20)
        terminal.reader = asyncio.create_task(terminal.read())
        terminal_id = f"term-{next(self._numbers)}"
        self.terminals[terminal_id] = terminal
        return {"terminalId": terminal_id}

    async def terminal_output(self, params: Params) -> Any:
        terminal = self._terminal(params)
        text = terminal.output.decode("utf-8", "replace")
        return {"output": text, "truncated": terminal.truncated, "exitStatus": terminal.status()}

    async def wait_for_exit(self, params: Params) -> Any:
        terminal = self._terminal(params)
        await terminal.exited()
        if terminal.reader is not None:
            # What a child in the background still prints is not waited for.
            await asyncio.wait({terminal.reader}, timeout=_LAST_OUTPUT)
        return terminal.status()

    async def kill_terminal(self, params: Params) -> Any:
        self._terminal(params).kill()
        return {}

    async def release_terminal(self, params: Params) -> Any:
        await _end(self._terminal(params))
        del self.terminals[params["terminalId"]]
        return {}

    async def fill_form(self, params: Params) -> Any:
        return await self.forms(params)

    async def close(self) -> None:
        for terminal in self.terminals.values():
            await _end(terminal)
        self.terminals.clear()

    def _text(self, path: str) -> str:
        try:
            return self.files.read(path)
        except FileNotFoundError:
            raise RpcError(-32002, f"Resource not found: {path}") from None
        except (OSError, UnicodeDecodeError) as error:
            raise RpcError(-32603, f"cannot read {path}: {type(error).__name__}") from None

    def _terminal(self, params: Params) -> Terminal:
        try:
            return self.terminals[params["terminalId"]]
        except KeyError:
            raise RpcError(-32002, f"no terminal {params['terminalId']}") from None


async def _decline(params: Params) -> Any:
    return {"action": "decline"}


async def _end(terminal: Terminal) -> None:
    terminal.kill()
    if terminal.reader is not None:
        await terminal.reader
