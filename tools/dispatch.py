"""Calls a tool by name: its arguments checked, the hooks around it, a long result cut.

Whatever happens inside, a well-formed `ToolResult` comes out.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import threading
import time
from collections.abc import Awaitable, Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tools.arguments import checked
from tools.context import CallRefused, ToolContext
from tools.environments.output import save_text
from tools.errors import Denied, ToolError, ToolInterrupted
from tools.light_dataclass import dataclass
from tools.registry import Hook, Toolbox, ToolEntry, ToolRegistry, registry
from tools.result import MAX_SHOWN_CHARS, ShownText, ToolResult, error, from_text, remarked, with_value
from tools.settings import ToolSettings
from tools.text.encoding import with_escapes
from tools.untrusted.fence import as_data, with_hidden_told, without_secrets

log = logging.getLogger(__name__)

# Results that are too long: a bounded part of them, and a file with all of it.

_HEAD, _TAIL = 0.7, 0.2
_FOR_MODEL = ".result.txt"
_INDENT = "  "


def bounded(result: ToolResult, limit: int, ctx: ToolContext) -> ToolResult:
    """The result with at most about `limit` characters for the model, and with files of what is too long.

    What the person is shown and the facts stay; the fact `saved` is added where a card cannot show everything.
    """
    if len(result.text) <= limit:
        return _saved(result, ctx)
    own = result.facts.get("saved")
    if isinstance(own, Mapping) and own.get("path"):
        # The tool has written it out itself, as it came; its lines are not those of this text.
        return _saved(replace(result, text=_cut(result.text, limit, f"All of it is in {own['path']}")), ctx)
    if ctx.output_file is None:
        return replace(result, text=_cut(result.text, limit, "The result was too long"))
    text = _wrapped(_readable(result.text), ctx.settings.read.max_line_chars)
    # Without anything else to show, the card leads to the same file.
    file = ctx.output_file.with_suffix(_FOR_MODEL) if result.shown else ctx.output_file
    whole = save_text(text, file)
    if whole is None:
        return _saved(replace(result, text=_cut(result.text, limit, "The result was too long")), ctx)
    cut = replace(result, text=_cut(text, limit, f"All {text.count(chr(10)) + 1} lines are in {file}", file))
    if result.shown:
        return _saved(cut, ctx)
    return replace(cut, facts={**cut.facts, "saved": whole.facts()})


def shortened(result: ToolResult, limit: int, file: Path | None, longest_line: int) -> ToolResult:
    """A result that is bounded already, cut further because those of its answer share their room.

    Args:
        limit: characters for the model.
        file: the call's file for output; None: nothing is saved.
        longest_line: characters of a line of it that read_file shows.
    """
    if len(result.text) <= limit:
        return result
    text = _wrapped(_readable(result.text), longest_line)
    own = result.facts.get("saved")
    copy = None if file is None else file.with_suffix(_FOR_MODEL)
    if copy is not None and copy.exists():  # of the first cut
        return replace(result, text=_cut(text, limit, f"All of it is in {copy}"))
    if isinstance(own, Mapping) and own.get("path"):
        return replace(result, text=_cut(text, limit, f"All of it is in {own['path']}"))
    if copy is None or save_text(text, copy) is None:
        return replace(result, text=_cut(text, limit, "The results of this answer were too long together"))
    return replace(result, text=_cut(text, limit, f"All {text.count(chr(10)) + 1} lines are in {copy}", copy))


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


def _cut(text: str, limit: int, where: str, file: Path | None = None) -> str:
    head, tail = text[: int(limit * _HEAD)], text[-int(limit * _TAIL) :]
    left_out = len(text) - len(head) - len(tail)
    more = f": go on with read_file from line {head.count(chr(10)) + 1}" if file is not None else ""
    return f"{head}\n[… {left_out} characters left out here. {where}{more} …]\n{tail}"


def _readable(text: str) -> str:
    """JSON as lines: a page of one endless line could not be read."""
    if text[:1] not in {"{", "["}:
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return "\n".join(_lines(value, ""))


def _lines(value: Any, indent: str) -> Iterator[str]:
    match value:
        case dict() if value:
            for key, part in value.items():
                yield from _item(f"{indent}{key}:", part, indent)
        case list() if value:
            for part in value:
                yield from _item(f"{indent}-", part, indent)
        case str():
            yield from (f"{indent}{line}" for line in value.split("\n"))
        case _:
            yield f"{indent}{json.dumps(value, ensure_ascii=False)}"


def _item(head: str, part: Any, indent: str) -> Iterator[str]:
    is_short = not isinstance(part, (dict, list)) or not part
    if is_short and not (isinstance(part, str) and "\n" in part):
        yield f"{head} {part if isinstance(part, str) else json.dumps(part, ensure_ascii=False)}"
        return
    yield head
    yield from _lines(part, indent + _INDENT)


def _wrapped(text: str, longest: int) -> str:
    """The text with no line over `longest` characters: read_file shows no more of one."""
    if all(len(line) <= longest for line in text.split("\n")):
        return text
    return "\n".join(piece for line in text.split("\n") for piece in _pieces(line, longest))


def _pieces(line: str, longest: int) -> Iterator[str]:
    return (line[start : start + longest] for start in range(0, len(line) or 1, longest))


# How much of tool results a model gets: of one, and of all results of one answer, by the size of its window.

_CHARS_A_TOKEN = 4
_RESULT_PART, _ANSWER_PART = 0.15, 0.30
_MIN_RESULT, _MIN_ANSWER, _MIN_SHARE = 8_000, 16_000, 1_000
_PROMPT_TOKENS = 2_000
"""Of a small window, what the system prompt and the tools take."""
_FREE_RESULT_PART, _FREE_ANSWER_PART = 0.4, 0.67
_PAGE_PART = 0.9
"""Of a result's limit, what a page of a file may have: the rest is for what stands around it."""


def fitted(settings: ToolSettings, window: int | None) -> ToolSettings:
    """The settings with limits of results that fit a window of so many tokens; None: it is not known, all stays.

    One result gets 15 % of a window at most, the results of an answer 30 %; never less than 8,000 and 16,000
    characters, where a window has that much room beside the prompt, and never more than is set.
    """
    if window is None:
        return settings
    chars = window * _CHARS_A_TOKEN
    free = max(window - _PROMPT_TOKENS, _PROMPT_TOKENS) * _CHARS_A_TOKEN
    least_result, least_answer = (
        min(_MIN_RESULT, int(free * _FREE_RESULT_PART)),
        min(_MIN_ANSWER, int(free * _FREE_ANSWER_PART)),
    )
    result = min(settings.max_result_chars, max(least_result, int(chars * _RESULT_PART)))
    answer = min(settings.max_answer_chars, max(least_answer, int(chars * _ANSWER_PART)))
    if (result, answer) == (settings.max_result_chars, settings.max_answer_chars):
        return settings
    page = min(settings.read.max_chars, int(result * _PAGE_PART))
    line = min(settings.read.max_line_chars, page)
    return replace(
        settings,
        max_result_chars=result,
        max_answer_chars=answer,
        read=replace(settings.read, max_chars=page, max_line_chars=line),
    )


@dataclass(slots=True)
class AnswerShare:
    """What the results of one answer may still take; asked in call order.

    Each may have an equal share of what is left, so one that is no larger than that is never cut, and what a short
    one leaves goes to those behind it.

    Attributes:
        left: characters.
        calls: results that are still to come.
    """

    left: int
    calls: int

    def next_limit(self) -> int:
        """Characters that the next result may have."""
        return max(_MIN_SHARE, self.left // max(self.calls, 1))

    def took(self, chars: int) -> None:
        """The next result has so many."""
        self.left = max(0, self.left - chars)
        self.calls -= 1


# What plugins may do before and after each tool call. They never stand in for the gates: those ask all the same.
# `registry.add_hook("pre_tool_call", hook)` adds one for every session of the process: `hook(name, arguments, ctx)`
# gives None to let the call go on, a text to refuse it (the model reads it), a mapping to change its arguments. One
# for "post_tool_call" is `hook(name, arguments, result, ctx)`; it gives another result, or None to leave it as it is.
# A hook runs on the call's own thread, possibly beside others. Cards and parallel batches go by the arguments that
# the model sent. The hooks of one session come after them (`tools.context.SessionCallHooks`).


def run_pre_hooks(registry: ToolRegistry, name: str, arguments: dict[str, Any], ctx: ToolContext) -> dict[str, Any]:
    """The arguments after every hook has seen them, each what the one before it left.

    Raises:
        CallRefused: a hook said no, or failed: one that cannot be asked may have been there to refuse.
    """
    for hook in registry.hooks("pre_tool_call"):
        try:
            answer = hook(name, dict(arguments), ctx)
        except ToolInterrupted:
            raise
        except Exception as problem:
            log.exception("the hook %s failed before a call of %s", _name_of(hook), name)
            raise CallRefused(_failed(hook, name, f"{type(problem).__name__}: {problem}")) from problem
        match answer:
            case None:
                continue
            case str():
                raise CallRefused(answer or f"A hook of the user's refuses this call of {name}.")
            case Mapping():
                arguments = dict(answer)
            case _:
                raise CallRefused(_failed(hook, name, f"it returned {type(answer).__name__}"))
    return arguments


def run_post_hooks(
    registry: ToolRegistry, name: str, arguments: Mapping[str, Any], result: ToolResult, ctx: ToolContext
) -> ToolResult:
    """The result after every hook has seen it. One that fails is passed over: what was done is done."""
    for hook in registry.hooks("post_tool_call"):
        try:
            answer = hook(name, dict(arguments), result, ctx)
        except ToolInterrupted:
            raise
        except Exception:
            log.exception("the hook %s failed after a call of %s", _name_of(hook), name)
            continue
        if isinstance(answer, ToolResult):
            # What a hook has written in place of the text, programs get as well.
            result = answer if answer.text == result.text else replace(answer, value=None)
        elif answer is not None:
            log.warning("the hook %s returned %s, not a ToolResult", _name_of(hook), type(answer).__name__)
    return result


def _failed(hook: Hook, name: str, what: str) -> str:
    return (
        f"The call of {name} was not made: a hook of the user's that is asked before calls failed "
        f"({_name_of(hook)}: {what}). Tell the person; it has to be mended or removed."
    )


def _name_of(hook: Hook) -> str:
    return f"{getattr(hook, '__module__', '')}.{getattr(hook, '__qualname__', type(hook).__name__)}"


# The call itself.

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
    from tools.call_meaning import instead  # noqa: PLC0415 - not before the first call

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
    if entry.source:
        ctx.ask_own(entry.name)
    outcome = entry.handler(dict(arguments), task_id=ctx.task_id, ctx=ctx)
    if inspect.isawaitable(outcome):
        outcome = _thread_loop().run_until_complete(_awaited(outcome))
    result = _as_result(entry.name, outcome)
    seconds = time.monotonic() - began
    result = run_post_hooks(registry, entry.name, arguments, result, ctx)
    return result if ctx.hooks is None else ctx.hooks.after(entry.name, arguments, result, ctx, seconds)


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
