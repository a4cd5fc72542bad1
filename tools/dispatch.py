"""Calls a tool by name; whatever happens inside, a well-formed `ToolResult` comes out."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import threading
import time
from collections.abc import Awaitable, Collection, Mapping
from dataclasses import replace
from typing import Any

from tools.calling.hooks import run_post_hooks, run_pre_hooks
from tools.calling.overflow import bounded
from tools.calling.remarks import remarked, with_value
from tools.calling.validation import checked
from tools.context import CallRefused, ToolContext
from tools.errors import Denied, ToolError, ToolInterrupted
from tools.registry import ToolEntry, registry
from tools.result import ShownText, ToolResult, error, from_text
from tools.text.encoding import with_escapes
from tools.toolbox import Toolbox
from tools.untrusted.results import as_data, with_hidden_told, without_secrets

log = logging.getLogger(__name__)

_REFUSALS = (Denied, CallRefused)


def dispatch(
    name: str,
    arguments: Mapping[str, Any],
    ctx: ToolContext,
    toolbox: Toolbox | None = None,
    *,
    for_program: bool = False,
) -> ToolResult:
    """Run the tool `name` of `toolbox` (None: of the registry) with `arguments`, put right by its schema.

    Args:
        for_program: a program gets the result, as it is and all of it: what only a model needs is not done.

    Raises:
        ToolInterrupted: the turn was cancelled; every other failure comes back as a failed result.
    """
    entry = (toolbox or Toolbox()).get(name)
    if entry is None:
        return unknown_tool(name, [known.name for known in registry.entries()], toolbox)
    ready = checked(entry, arguments)
    if ready.problem:
        return error(ready.problem)
    is_its_own = True
    try:
        result = _hooked(entry, ready.arguments, ctx)
    except ToolInterrupted:
        raise
    except (ToolError, CallRefused) as problem:
        is_its_own = False
        shown = (ShownText(told),) if (told := getattr(problem, "shown", "")) else ()
        result = replace(error(str(problem)), shown=shown, denied=isinstance(problem, _REFUSALS))
    except (Exception, asyncio.CancelledError, SystemExit) as problem:
        log.exception("tool %s failed", name)
        result = error(f"{name} failed: {type(problem).__name__}: {problem}")
    finally:
        if ctx.hooks is not None:
            ctx.hooks.over(ctx.tool_call_id)
    result = remarked(result, ctx.fs.remarks())
    # Names and texts with bytes that are not UTF-8 must get to the model so that it can give them back.
    if (text := with_escapes(result.text)) != result.text:
        result = replace(result, text=text)
    if ready.note:
        result = with_value(replace(result, text=_with_note(result.text, ready.note)), ready.note, "ignored")
    if for_program:
        return result
    # A tool that has a limit of its own shares its answer's room all the same.
    limit = min(entry.max_result_size_chars or ctx.settings.max_result_chars, ctx.settings.max_answer_chars)
    result = bounded(result, limit, ctx)
    if ctx.settings.redact_results:
        result = without_secrets(result, name)
    # What we say ourselves (a refusal, wrong arguments) is no stranger's word.
    is_data = is_its_own and (entry.untrusted or result.untrusted)
    return as_data(result, name, ctx.session_id) if is_data else with_hidden_told(result)


def unknown_tool(name: str, known: Collection[str], toolbox: Toolbox | None = None) -> ToolResult:
    """The answer to a tool that does not exist: what to call in its place."""
    from tools.calling.meaning import instead  # noqa: PLC0415 - not before the first call

    return error(instead(name, known, (toolbox or Toolbox()).get))


def _hooked(entry: ToolEntry, arguments: dict[str, Any], ctx: ToolContext) -> ToolResult:
    """The call with the user's hooks around it; arguments that a hook has changed are looked at again."""
    changed = run_pre_hooks(registry, entry.name, arguments, ctx)
    if ctx.hooks is not None:
        changed = ctx.hooks.before(entry.name, changed, ctx)
    if changed is not arguments:
        again = checked(entry, changed)
        if again.problem:
            raise CallRefused(f"A hook of the user's changed the arguments, and now: {again.problem}")
        arguments = again.arguments
    # The handler may change its arguments; the hooks that follow see what it was called with.
    began = time.monotonic()
    result = _as_result(entry.name, _call(entry, dict(arguments), ctx))
    seconds = time.monotonic() - began
    result = run_post_hooks(registry, entry.name, arguments, result, ctx)
    return result if ctx.hooks is None else ctx.hooks.after(entry.name, arguments, result, ctx, seconds)


def _call(entry: ToolEntry, arguments: dict[str, Any], ctx: ToolContext) -> object:
    if entry.source:
        ctx.ask_own(entry.name)
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


def _with_note(text: str, note: str) -> str:
    """The text with a note of ours: in its JSON object, or after it."""
    if text.startswith("{") and text.endswith("}"):
        comma = ", " if text[1:-1].strip() else ""
        return f'{text[:-1]}{comma}"ignored": {json.dumps(note, ensure_ascii=False)}}}'
    return f"{text}\n[ignored: {note}]"
