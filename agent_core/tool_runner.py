"""Runs the tool calls of one answer: side by side where that is safe, results in call order."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent_core.callbacks import CallFinished, CallOutput, CallRequested, CallRunning, ToolProgress
from agent_core.errors import TurnInterrupted
from agent_core.interrupt import CancelToken
from agent_core.messages import INTERRUPTED_RESULT, ToolCall, parse_arguments
from agent_core.tool_batches import PlannedCall, plan_batches
from agent_core.workspace import CallIdentity, Workspace
from tools.approval.actions import Action, ReadPath
from tools.context import AgentServices
from tools.dispatch import dispatch, unknown_tool
from tools.errors import ToolInterrupted
from tools.result import ToolResult, error

Listener = Callable[[ToolProgress], None]


@dataclass(slots=True)
class _Call:
    """A tool call on its way. `started` and `finished` are each told once."""

    source: ToolCall
    arguments: dict[str, Any]
    problem: str | None = None
    started: bool = False
    finished: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def id(self) -> str:
        return self.source["id"]

    @property
    def name(self) -> str:
        return self.source["function"]["name"]


class ToolRunner:
    """Runs tool calls of one turn in one workspace."""

    def __init__(
        self,
        workspace: Workspace,
        services: AgentServices,
        offered: frozenset[str],
        *,
        token: CancelToken,
        session_id: str,
        turn_id: str,
        task_id: str,
        listener: Listener | None,
    ) -> None:
        self._workspace = workspace
        self._services = services
        self._offered = offered
        self._token = token
        self._session_id = session_id
        self._turn_id = turn_id
        self._task_id = task_id
        self._listener = listener

    def run(
        self, tool_calls: Sequence[ToolCall], problems: Mapping[str, str] | None = None
    ) -> Iterator[tuple[ToolCall, ToolResult]]:
        """Run all calls; yields each call's result in call order, as soon as it and those before it are there.

        Args:
            problems: by call id, what is wrong with a call; it is answered with that, and not run.

        Raises:
            TurnInterrupted: the turn was cancelled; every call has been reported as finished.
        """
        calls = [_prepare(call, (problems or {}).get(call["id"])) for call in tool_calls]
        for call in calls:
            self._tell(CallRequested(call.id, call.name, call.arguments))
        try:
            for batch in plan_batches([self._plan(call) for call in calls]):
                yield from self._run_batch([calls[position] for position in batch])
        finally:
            for call in calls:
                self._finish(call, ToolResult(INTERRUPTED_RESULT, failed=True))

    def _run_batch(self, batch: list[_Call]) -> Iterator[tuple[ToolCall, ToolResult]]:
        if len(batch) == 1:
            yield batch[0].source, self._run_one(batch[0])
            return
        pool = ThreadPoolExecutor(len(batch), thread_name_prefix="tool")
        try:
            futures: list[Future[ToolResult]] = [pool.submit(self._run_one, call) for call in batch]
            for call, future in zip(batch, futures, strict=True):
                yield call.source, future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _run_one(self, call: _Call) -> ToolResult:
        if self._token.is_set():
            raise TurnInterrupted
        try:
            result = self._dispatch(call)
        except ToolInterrupted as stop:
            raise TurnInterrupted from stop
        # What was done is told as done, also when the cancel came meanwhile.
        self._finish(call, result)
        if self._token.is_set():
            raise TurnInterrupted
        return result

    def _dispatch(self, call: _Call) -> ToolResult:
        if call.name not in self._offered:
            return unknown_tool(call.name, sorted(self._offered))
        if call.problem is not None:
            return error(call.problem)
        context = self._workspace.context(
            CallIdentity(self._session_id, self._turn_id, self._task_id, call.id),
            self._token,
            self._services,
            on_allowed=lambda action: self._allowed(call, action),
            on_output=lambda text: self._output(call, text),
        )
        return dispatch(call.name, call.arguments, context, self._workspace.tools)

    def _allowed(self, call: _Call, action: Action) -> None:
        # A tool that changes files reads them first: its card runs once the change itself is allowed.
        entry = self._workspace.tools.get(call.name)
        if not isinstance(action, ReadPath) or (entry is not None and entry.parallel == "safe"):
            self._start(call)

    def _plan(self, call: _Call) -> PlannedCall:
        entry = self._workspace.tools.get(call.name)
        if entry is None or call.name not in self._offered:
            return PlannedCall("safe", None)
        path = call.arguments.get("path")
        if not isinstance(path, str):
            return PlannedCall(entry.parallel, self._workspace.cwd)
        try:
            full = os.path.realpath(os.path.join(self._workspace.cwd, os.path.expanduser(path)))  # noqa: PTH111, PTH118
        except ValueError:  # no path at all: a null byte, a lone surrogate; the tool will say so
            return PlannedCall("never", None)
        return PlannedCall(entry.parallel, Path(full))

    def _start(self, call: _Call) -> None:
        with call.lock:
            if call.started or call.finished:
                return
            call.started = True
            self._tell(CallRunning(call.id))

    def _output(self, call: _Call, text: str) -> None:
        self._start(call)
        with call.lock:
            if not call.finished:
                self._tell(CallOutput(call.id, text))

    def _finish(self, call: _Call, result: ToolResult) -> None:
        if not result.failed:
            self._start(call)
        with call.lock:
            if call.finished:
                return
            call.finished = True
            self._tell(CallFinished(call.id, call.name, call.arguments, result, call.started))

    def _tell(self, progress: ToolProgress) -> None:
        if self._listener is not None:
            self._listener(progress)


def _prepare(source: ToolCall, problem: str | None) -> _Call:
    try:
        return _Call(source, parse_arguments(source["function"]["arguments"]), problem)
    except ValueError as found:
        return _Call(source, {}, problem or str(found))
