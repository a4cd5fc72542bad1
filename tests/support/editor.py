"""A fake editor for a real agent process, or for an agent at the other end of two pipes."""
# ruff: noqa: ASYNC109 - a test says at each place how long it waits

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from tests.support.editor_connection import AgentGone, Connection
from tests.support.editor_frames import Frame, merged_cards, summary
from tests.support.editor_host import RpcError
from tests.support.editor_pipes import Inbox, Outbox
from tests.support.editor_policies import OnPermission, allow
from tests.support.editor_profiles import JETBRAINS, MINIMAL, PLAIN, PROFILES, ZED, name_of
from tests.support.waiting import PATIENCE

__all__ = ["JETBRAINS", "MINIMAL", "PLAIN", "PROFILES", "ZED", "AgentGone", "Editor", "Frame", "RpcError"]

Content = str | Sequence[Mapping[str, Any]]


class Editor(Connection):
    """An editor with a person before it.

    Attributes:
        on_permission: answers permission requests (see `editor_policies`).
        answer_twice: send each permission answer a second time.
        answers_on_cancel: `cancel` answers the open permission requests with `cancelled`, as an editor must.
        opened: the answers to session/new, by session id.
        process: the agent, where `spawn` started one.
    """

    def __init__(self, inbox: Inbox, outbox: Outbox, *, check: bool = True) -> None:
        super().__init__(inbox, outbox, check=check)
        self.on_permission: OnPermission = allow
        self.answer_twice = False
        self.answers_on_cancel = True
        self.opened: dict[str, dict[str, Any]] = {}
        self.process: asyncio.subprocess.Process | None = None
        self._permissions: dict[str, tuple[Any, str, asyncio.Task[None]]] = {}
        self._stderr: IO[bytes] | None = None
        self._closed = False

    @classmethod
    async def over(cls, reader_fd: int, writer_fd: int, *, check: bool = True) -> Self:
        """An editor that reads and writes these pipe ends, which it then owns."""
        return cls(await Inbox.open(reader_fd), await Outbox.open(writer_fd), check=check)

    @classmethod
    async def spawn(
        cls,
        *args: str,
        env: Mapping[str, str] | None = None,
        cwd: str | Path | None = None,
        home: str | Path | None = None,
        command: Sequence[str] | None = None,
        check: bool = True,
    ) -> Self:
        """Start the agent over pipes. `env` is laid over this process's environment, `home` is its HERMES_HOME."""
        words = [*(command or (sys.executable, "-P", "-m", "acp_adapter")), *args]
        surroundings = {**os.environ, **({"HERMES_HOME": str(home)} if home else {}), **(env or {})}
        agent_in, ours_out = os.pipe()
        ours_in, agent_out = os.pipe()
        stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the editor
        try:
            process = await asyncio.create_subprocess_exec(
                *words, stdin=agent_in, stdout=agent_out, stderr=stderr, env=surroundings, cwd=cwd
            )
        except BaseException:
            os.close(ours_in)
            os.close(ours_out)
            stderr.close()
            raise
        finally:
            os.close(agent_in)
            os.close(agent_out)
        editor = await cls.over(ours_in, ours_out, check=check)
        editor.process, editor._stderr = process, stderr
        return editor

    async def initialize(
        self, profile: Mapping[str, Any] = PLAIN, *, version: Any = 1, name: str = "", **changes: Any
    ) -> Any:
        """initialize with the capabilities of `profile`, with `changes` to their top level.

        Args:
            name: of the editor; without one it is that of the editor which offers so much.
        """
        params = {
            "protocolVersion": version,
            "clientCapabilities": {**profile, **changes},
            "clientInfo": {"name": name or name_of(profile), "version": "1.0.0"},
        }
        return await self.request("initialize", params)

    async def new_session(self, cwd: str | Path, **params: Any) -> str:
        """session/new; its id (the whole answer is in `opened`)."""
        opened = await self.request("session/new", {"cwd": str(cwd), "mcpServers": [], **params})
        self.opened[opened["sessionId"]] = opened
        return str(opened["sessionId"])

    async def load_session(self, session_id: str, cwd: str | Path, **params: Any) -> Any:
        return await self.request(
            "session/load", {"sessionId": session_id, "cwd": str(cwd), "mcpServers": [], **params}
        )

    def begin_prompt(self, session_id: str, content: Content, **params: Any) -> asyncio.Future[Any]:
        """Send session/prompt now, and go on while it runs."""
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
        return self.begin("session/prompt", {"sessionId": session_id, "prompt": blocks, **params})

    async def prompt(self, session_id: str, content: Content, timeout: float = PATIENCE, **params: Any) -> Any:
        return await self.answer(self.begin_prompt(session_id, content, **params), "session/prompt", timeout)

    def cancel(self, session_id: str) -> None:
        self.notify("session/cancel", {"sessionId": session_id})
        if not self.answers_on_cancel:
            return
        for key, (request_id, of_session, task) in list(self._permissions.items()):
            if of_session == session_id:
                del self._permissions[key]
                task.cancel()
                self._answer(request_id, _outcome("cancelled"))

    def answer_late(self, session_id: str, option: str) -> None:
        """Answer a session's permission requests that are still open, whether anybody waits for them or not."""
        for key, (request_id, of_session, task) in list(self._permissions.items()):
            if of_session == session_id:
                del self._permissions[key]
                task.cancel()
                self._answer(request_id, _outcome(option))

    async def wait_for_update(
        self, session_id: str, kind: str, timeout: float = PATIENCE, *, since: int = 0, **fields: Any
    ) -> dict[str, Any]:
        """The first update of `kind` whose named fields have these values."""

        def fits(frame: Frame) -> bool:
            update = frame.update
            return frame.is_update(session_id, kind) and all(update.get(key) == fields[key] for key in fields)

        return (await self.wait_for(fits, timeout, since=since, what=f"{kind} {fields or ''}")).update

    async def wait_for_call(self, method: str, timeout: float = PATIENCE, *, since: int = 0) -> Frame:
        """The agent's first call of `method`."""
        return await self.wait_for(lambda f: not f.ours and f.method == method, timeout, since=since, what=method)

    def updates(self, session_id: str, kind: str | None = None) -> list[dict[str, Any]]:
        return [frame.update for frame in self.frames if frame.is_update(session_id, kind)]

    def text(self, session_id: str, kind: str = "agent_message_chunk") -> str:
        """All chunks of a kind, joined."""
        return "".join(update["content"].get("text", "") for update in self.updates(session_id, kind))

    def cards(self, session_id: str) -> dict[str, dict[str, Any]]:
        """The tool calls as the editor shows them now, by id, in the order of their appearance."""
        return merged_cards(self.updates(session_id))

    @property
    def stderr(self) -> str:
        """What the process wrote there so far."""
        if self._stderr is None:
            return ""
        # The child writes at the same file offset, so it must not be moved.
        descriptor = self._stderr.fileno()
        return os.pread(descriptor, os.fstat(descriptor).st_size, 0).decode("utf-8", "replace")

    async def kill(self) -> None:
        """kill -9, and wait until the process is gone."""
        if self.process is not None and self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self.process.kill()
        await self.exit_code()

    async def exit_code(self, timeout: float = PATIENCE) -> int:
        """The process's exit code, once it has ended.

        Raises:
            AssertionError: it still runs after `timeout` seconds.
        """
        if self.process is None:
            raise AssertionError("this editor started no process")
        try:
            return await asyncio.wait_for(self.process.wait(), timeout)
        except TimeoutError:
            raise AssertionError(f"the agent still runs after {timeout} s. {self._state()}") from None

    async def close(self, *, expect: int | None = None, within: float = 5) -> None:
        """End the connection; a process that outlives `within` seconds is killed.

        Raises:
            AssertionError: with `expect`, the process did not end in time or with that exit code.
            WireViolation: the agent broke a rule, and no other call has said so yet.
        """
        if self._closed:
            return
        self._closed = True
        self.close_stdin()
        try:
            if self.process is not None:
                await self._end_process(expect, within)
        finally:
            await self._let_go()
        if not self._reported:
            self._report()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _end_process(self, expect: int | None, within: float) -> None:
        try:
            code = await self.exit_code(within)
        except AssertionError:
            await self.kill()
            if expect is not None:
                raise
            return
        if expect is not None and code != expect:
            raise AssertionError(f"the agent ended with exit code {code}, not {expect}. {self._state()}")

    async def _let_go(self) -> None:
        await super()._let_go()
        if self._stderr is not None:
            self._stderr.close()
            self._stderr = None

    def _called(self, message: dict[str, Any]) -> None:
        if message["method"] != "session/request_permission":
            super()._called(message)
            return
        task = self._start(self._decide(message))
        self._permissions[json.dumps(message["id"])] = (message["id"], message["params"]["sessionId"], task)

    async def _decide(self, message: dict[str, Any]) -> None:
        decision = await self.on_permission(message["params"])
        if decision is None:
            return
        self._permissions.pop(json.dumps(message["id"]), None)
        for _ in range(2 if self.answer_twice else 1):
            self._answer(message["id"], decision if isinstance(decision, dict) else _outcome(decision))

    def _state(self) -> str:
        return summary(self.frames, self.process.returncode if self.process else None, self.stderr)


def _outcome(decision: str) -> dict[str, Any]:
    if decision == "cancelled":
        return {"outcome": {"outcome": "cancelled"}}
    return {"outcome": {"outcome": "selected", "optionId": decision}}
