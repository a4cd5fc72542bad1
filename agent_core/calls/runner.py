"""Runs the tool calls of one answer: side by side where that is safe, results in call order."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from agent_core.callbacks import CallFinished, CallOutput, CallRequested, CallRunning, ToolProgress
from agent_core.calls.batches import PlannedCall, plan_batches
from agent_core.errors import TurnInterrupted
from agent_core.interrupt import CancelToken
from agent_core.messages import INTERRUPTED_RESULT, ToolCall, parse_arguments
from agent_core.workspace import CallIdentity, Workspace
from tools.approval.actions import Action, ReadPath
from tools.context import AgentServices
from tools.dispatch import AnswerShare, dispatch, fitted, shortened, unknown_tool
from tools.errors import ToolInterrupted
from tools.light_dataclass import dataclass
from tools.os_compat import absolute
from tools.registry import ToolEntry
from tools.result import ToolResult, error

Listener = Callable[[ToolProgress], None]
Refuse = Callable[[ToolCall], str]

_AT_ONCE = 8
"""So many calls run at the same time at most."""


@dataclass(slots=True)
class _Call:
    """A tool call on its way. `started` and `finished` are each told once."""

    source: ToolCall
    arguments: dict[str, Any]
    problem: str = ""
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
        images: bool = False,
        window: int | None = None,
        refuse: Refuse = lambda _: "",
        parent: str = "",
        for_program: bool = False,
    ) -> None:
        """Make it.

        Args:
            offered: the names of the tools that the model was told of.
            images: the model sees images, so tools may give them.
            window: tokens that the model takes, if known: what one result, and all of an answer, may have.
            refuse: asked right before a call runs; what it says is the model's answer, and the call is not run.
            parent: the call that makes these, '' for the model itself.
            for_program: a program gets the results, as `tools.dispatch` has it.
        """
        self._workspace = workspace
        self._services = services
        self._offered = offered
        self._token = token
        self._session_id = session_id
        self._turn_id = turn_id
        self._task_id = task_id
        self._listener = listener
        self._images = images
        self._settings = fitted(workspace.settings, window)
        self._refuse = refuse
        self._parent = parent
        self._for_program = for_program

    def run(
        self, tool_calls: Sequence[ToolCall], problems: Mapping[str, str] | None = None
    ) -> Iterator[tuple[ToolCall, ToolResult]]:
        """Run all calls; yields each call's result in call order, as soon as it and those before it are there.

        Args:
            problems: by call id, what is wrong with a call; it is answered with that, and not run.

        Raises:
            TurnInterrupted: the turn was cancelled; every call has been reported as finished.
        """
        share = AnswerShare(self._settings.max_answer_chars, len(tool_calls))
        calls = [_prepare(call, (problems or {}).get(call["id"], "")) for call in tool_calls]
        for call in calls:
            self._tell(CallRequested(call.id, call.name, call.arguments, self._parent))
        try:
            # What a call alone works on keeps no other from running beside it.
            batches = plan_batches([self._plan(call) for call in calls]) if len(calls) != 1 else [[0]]
            for batch in batches:
                together = [calls[position] for position in batch]
                for call in together:
                    call.problem = call.problem or self._refuse(call.source)
                for source, result in self._run_batch(together):
                    yield source, result if self._for_program else self._shared(source, result, share)
        finally:
            for call in calls:
                self._finish(call, ToolResult(INTERRUPTED_RESULT, failed=True))

    def planned(self, call: ToolCall) -> PlannedCall:
        """What decides beside which others a call may run."""
        return self._plan(_prepare(call, ""))

    def _shared(self, source: ToolCall, result: ToolResult, share: AnswerShare) -> ToolResult:
        """The result, as much of it as its answer has room for; all of it is in a file."""
        limit = share.next_limit()
        if len(result.text) > limit:
            file = self._workspace.output_file(self._identity(source["id"]))
            result = shortened(result, limit, file, self._settings.read.max_line_chars)
            # Lines that were left out have to be shown when they are asked for again.
            self._workspace.seen.forget_all()
        share.took(len(result.text))
        return result

    def _identity(self, call_id: str) -> CallIdentity:
        return CallIdentity(self._session_id, self._turn_id, self._task_id, call_id, self._parent)

    def _run_batch(self, batch: list[_Call]) -> Iterator[tuple[ToolCall, ToolResult]]:
        if len(batch) == 1:
            yield batch[0].source, self._run_one(batch[0])
            return
        pool = ThreadPoolExecutor(min(len(batch), _AT_ONCE), thread_name_prefix="tool")
        try:
            with self._workspace.approvals.in_order([call.id for call in batch]):
                futures: list[Future[ToolResult]] = [
                    pool.submit(copy_context().run, self._run_one, call) for call in batch
                ]
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
        entry = self._workspace.tools.get(call.name)
        by_others = entry is not None and entry.untrusted and not result.denied
        if by_others or result.untrusted or result.has_fenced:
            self._workspace.approvals.note_others()
        # What was done is told as done, also when the cancel came meanwhile.
        self._finish(call, result)
        if self._token.is_set():
            raise TurnInterrupted
        return result

    def _dispatch(self, call: _Call) -> ToolResult:
        if call.name not in self._offered:
            return unknown_tool(call.name, self._offered, self._workspace.tools)
        if call.problem:
            return error(call.problem)
        context = self._workspace.context(
            self._identity(call.id),
            self._token,
            self._services,
            on_allowed=lambda action: self._allowed(call, action),
            on_output=lambda text: self._output(call, text),
        )
        context = replace(context, images=self._images, settings=self._settings)
        return dispatch(call.name, call.arguments, context, self._workspace.tools, for_program=self._for_program)

    def _allowed(self, call: _Call, action: Action) -> None:
        # A tool that changes files reads them first: its card runs once the change itself is allowed.
        entry = self._workspace.tools.get(call.name)
        if not isinstance(action, ReadPath) or (entry is not None and entry.parallel == "safe"):
            self._start(call)

    def _plan(self, call: _Call) -> PlannedCall:
        entry = self._workspace.tools.get(call.name)
        if entry is None or call.name not in self._offered:
            return PlannedCall(call.name, "safe")
        try:
            paths = self._paths(entry, call.arguments)
        except Exception:  # noqa: BLE001 - arguments are whatever the model sent; the tool will say what is wrong
            return PlannedCall(call.name, "never")
        return PlannedCall(call.name, entry.parallel, paths)

    def _paths(self, entry: ToolEntry, arguments: Mapping[str, Any]) -> tuple[Path, ...]:
        """What a call works on: as its tool says, else its `path`; without one, the session's directory."""
        if entry.paths_fn is not None:
            return tuple(self._real(path) for path in entry.paths_fn(arguments))
        path = arguments.get("path")
        return (self._real(path),) if isinstance(path, str) else (self._workspace.cwd,)

    def _real(self, path: str) -> Path:
        return Path(os.path.realpath(absolute(path, self._workspace.cwd)))

    def _start(self, call: _Call) -> None:
        with call.lock:
            if call.started or call.finished:
                return
            call.started = True
            self._tell(CallRunning(call.id))
        self._workspace.approvals.asks_no_more(call.id)

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
        self._workspace.approvals.asks_no_more(call.id)

    def _tell(self, progress: ToolProgress) -> None:
        if self._listener is not None:
            self._listener(progress)


def _prepare(source: ToolCall, problem: str) -> _Call:
    try:
        return _Call(source, parse_arguments(source["function"]["arguments"]), problem)
    except ValueError as found:
        return _Call(source, {}, problem or str(found))
