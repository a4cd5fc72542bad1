"""The calls that tools make in a turn: programs call other tools, each under its own card and the same rules."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from agent_core.asking.reply import CallIds
from agent_core.calls.runner import ToolRunner
from agent_core.calls.side_by_side import SideBySide
from agent_core.errors import TurnInterrupted
from agent_core.interrupt import CancelToken
from agent_core.messages import ToolCall, tool_call
from agent_core.turn.turn import Turn
from tools.errors import ToolInterrupted
from tools.files.seen import FilesSeen, SeenByProgram
from tools.light_dataclass import dataclass
from tools.ports import Interrupt
from tools.registry import Toolbox
from tools.result import ToolResult

Refuse = Callable[[ToolCall], str]
MakeRunner = Callable[["NestedCalls", str, CancelToken, FilesSeen, Refuse], ToolRunner]


@dataclass(slots=True)
class _Maker:
    """A call that makes calls: what it knows of files, which of its calls run, and what is to be said of them."""

    seen: FilesSeen
    order: SideBySide = field(default_factory=SideBySide)
    count: int = 0
    warnings: dict[str, None] = field(default_factory=dict)


class NestedCalls:
    """One for the calls of one answer; safe to use from several threads.

    Args:
        offered: names of the tools that may be called.
        seen: what the session's model knows of files.
        make_runner: what runs the calls of one that makes them: these calls, its id, what ends it, what it knows of
            files, and who is asked right before a call runs.
        tools: the session's tools.
    """

    def __init__(
        self,
        turn: Turn,
        ids: CallIds,
        offered: frozenset[str],
        seen: FilesSeen,
        make_runner: MakeRunner,
        *,
        tools: Toolbox,
    ) -> None:
        self.offered = offered
        self._tools = tools
        self._turn = turn
        self._ids = ids
        self._seen = seen
        self._make_runner = make_runner
        self._lock = threading.Lock()
        self._makers: dict[str, _Maker] = {}

    def call(self, name: str, arguments: Mapping[str, Any], parent: str, interrupt: Interrupt) -> ToolResult:
        """Make one call for `parent`, once those that it cannot run beside have ended.

        Raises:
            ToolInterrupted: `interrupt` has ended it.
        """
        from tools.call_meaning import meant_call  # noqa: PLC0415 - not before the first call

        token = CancelToken()
        forget = interrupt.on_cancel(token.cancel)
        try:
            with self._lock:
                maker = self._makers.setdefault(parent, _Maker(SeenByProgram(self._seen)))
                maker.count += 1
                call_id = self._ids.unique(f"{parent}-{maker.count}")
            meant = meant_call(name, arguments, self.offered, self._tools.get)
            source = tool_call(call_id, meant.name, json.dumps(meant.arguments, ensure_ascii=False))
            runner = self._make_runner(self, parent, token, maker.seen, self._refusal)
            with maker.order.entered(runner.planned(source), token):
                ((_, result),) = runner.run((source,))
        except TurnInterrupted as stop:
            raise ToolInterrupted from stop
        finally:
            forget()
        self._see(source, result, maker)
        return result

    def take_warnings(self, parent: str) -> str:
        """What the model is to be told of the calls that `parent` has made, '' for nothing; once."""
        with self._lock:
            maker = self._makers.pop(parent, None)
        return "" if maker is None else " ".join(maker.warnings)

    def _refusal(self, call: ToolCall) -> str:
        with self._lock:
            return self._turn.repeats.refusal(call)

    def _see(self, call: ToolCall, result: ToolResult, maker: _Maker) -> None:
        with self._lock:
            self._turn.loose_ends.see(call, result)
            if warning := self._turn.repeats.see(call, result):
                maker.warnings[f"{call['function']['name']}: {warning}"] = None
