"""Calls a tool by name; whatever happens inside, a well-formed `ToolResult` comes out."""

from __future__ import annotations

import asyncio
import difflib
import inspect
import json
import logging
import threading
from collections.abc import Awaitable, Mapping
from dataclasses import replace
from typing import Any

from tools.context import ToolContext
from tools.environments.output_file import save_text
from tools.errors import ToolError, ToolInterrupted
from tools.registry import ToolEntry, registry
from tools.result import MAX_SHOWN_CHARS, ShownText, ToolResult, error, from_text
from tools.toolbox import Toolbox

log = logging.getLogger(__name__)


def dispatch(name: str, arguments: Mapping[str, Any], ctx: ToolContext, toolbox: Toolbox | None = None) -> ToolResult:
    """Run the tool `name` of `toolbox` (None: of the registry) with `arguments`.

    Raises:
        ToolInterrupted: the turn was cancelled; every other failure comes back as a failed result.
    """
    entry = (toolbox or Toolbox()).get(name)
    if entry is None:
        return unknown_tool(name, [known.name for known in registry.entries()])
    if missing := _missing(entry, arguments):
        return error(f"{name}: the argument {missing!r} is missing.")
    try:
        result = _as_result(name, _call(entry, dict(arguments), ctx))
    except ToolInterrupted:
        raise
    except ToolError as problem:
        return error(str(problem))
    except (Exception, asyncio.CancelledError, SystemExit) as problem:
        log.exception("tool %s failed", name)
        return error(f"{name} failed: {type(problem).__name__}: {problem}")
    return _capped(_saved(result, ctx), entry.max_result_size_chars or ctx.settings.max_result_chars)


def unknown_tool(name: str, known: list[str]) -> ToolResult:
    """The answer to a tool that does not exist: the nearest real names."""
    if not known:
        return error(f"There is no tool {name!r}: no tools are available.")
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.4) or known
    return error(f"There is no tool {name!r}. Did you mean: {', '.join(near)}?")


def _missing(entry: ToolEntry, arguments: Mapping[str, Any]) -> str | None:
    return next((field for field in entry.schema.get("required", ()) if field not in arguments), None)


def _call(entry: ToolEntry, arguments: dict[str, Any], ctx: ToolContext) -> object:
    outcome = entry.handler(arguments, task_id=ctx.task_id, ctx=ctx)
    if inspect.isawaitable(outcome):
        return _thread_loop().run_until_complete(_awaited(outcome))
    return outcome


async def _awaited(outcome: Awaitable[object]) -> object:
    return await outcome


class _LoopOfThread:
    """A pool thread's event loop, kept: clients made by an async handler stay bound to a loop that lives."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()

    def __del__(self) -> None:
        # The thread is over and its locals go.
        self.loop.close()


_threads = threading.local()


def _thread_loop() -> asyncio.AbstractEventLoop:
    holder: _LoopOfThread | None = getattr(_threads, "holder", None)
    if holder is None or holder.loop.is_closed():
        holder = _LoopOfThread()
        _threads.holder = holder
    return holder.loop


def _as_result(name: str, outcome: object) -> ToolResult:
    match outcome:
        case ToolResult():
            return outcome
        case str():
            return from_text(outcome)
        case _:
            log.warning("tool %s returned %s, not a string", name, type(outcome).__name__)
            return from_text(json.dumps(outcome, ensure_ascii=False, default=str))


def _saved(result: ToolResult, ctx: ToolContext) -> ToolResult:
    """The result with a file of all that it has to show, where that is too long for a card."""
    # What is a file's content needs no copy; a search names the files that it has found.
    is_in_a_file = "path" in result.facts and "locations" not in result.facts
    if ctx.output_file is None or is_in_a_file or "saved" in result.facts:
        return result
    texts = [shown.text for shown in result.shown if isinstance(shown, ShownText)] if result.shown else [result.text]
    if all(len(text) <= MAX_SHOWN_CHARS for text in texts):
        return result
    saved = save_text("\n\n".join(texts), ctx.output_file)
    return result if saved is None else replace(result, facts={**result.facts, "saved": saved.facts()})


def _capped(result: ToolResult, limit: int) -> ToolResult:
    if len(result.text) <= limit:
        return result
    head, tail = int(limit * 0.7), int(limit * 0.2)
    cut = len(result.text) - head - tail
    text = f"{result.text[:head]}\n[… {cut} characters left out: the result was too long …]\n{result.text[-tail:]}"
    return replace(result, text=text)
