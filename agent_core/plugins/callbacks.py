"""Functions of plugins as hooks and commands: called with the arguments that they take, for a bounded time."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from agent_core.hooks.answers import verdict_of
from agent_core.hooks.bounded import bounded
from agent_core.hooks.hook import NOTHING, Hook, HookCall, HookFailed, Verdict
from agent_core.plugins.offers import CommandCall, Prompt
from agent_core.settings.hooks import OBSERVERS, event_of, near_names
from tools.ports import Interrupt

Callback = Callable[..., Any]

_COMMAND_SECONDS = 60.0


def hook_of(
    written: str, callback: Callback, source: str, seconds: float, *, matcher: str = "", background: bool = False
) -> Hook | None:
    """The hook that a function is; None where this program has no such event.

    Raises:
        TypeError: it cannot be called, or is `async`: its refusal would never be heard.
    """
    event = event_of(written)
    if event is None:
        return None
    if not callable(callback) or inspect.iscoroutinefunction(callback):
        raise TypeError(f"register_hook({written!r}, …) takes a function, and no async one")
    takes = _taken_by(callback)

    def run(call: HookCall, interrupt: Interrupt | None) -> Verdict:
        given = takes(_given(written, call))
        answer = bounded(lambda: callback(**given), seconds, interrupt, f"hook {source}")
        return NOTHING if written in OBSERVERS else verdict_of(call.event, _awaited_not(answer))

    return Hook(
        event=event,
        source=source,
        run=run,
        matcher=matcher,
        in_background=background,
        refuses_when_failing=event == "pre_tool_call" and not background,
    )


def command_of(handler: Callback, source: str) -> Callable[[CommandCall], str | Prompt]:
    """What runs a command: `handler(args)`, which may also take `session_id` and `cwd` by name.

    Raises:
        TypeError: it cannot be called so.
    """
    if not callable(handler) or inspect.iscoroutinefunction(handler):
        raise TypeError("register_command takes a function, and no async one")
    first = next(iter(inspect.signature(handler).parameters.values()), None)
    takes_words = first is not None and first.kind not in {first.VAR_KEYWORD, first.KEYWORD_ONLY}
    takes = _taken_by(handler)

    def run(call: CommandCall) -> str | Prompt:
        given = takes({"session_id": call.session_id, "cwd": call.cwd})
        words = (call.args,) if takes_words else ()
        answer = bounded(lambda: handler(*words, **given), _COMMAND_SECONDS, None, f"command of {source}")
        if isinstance(answer, Prompt):
            return answer
        return "" if answer is None else str(_awaited_not(answer))

    return run


def unknown_event(written: str) -> str:
    """What is said of a hook for an event that there is not."""
    return f"the hook {written}" + (f" ({near})" if (near := near_names(written)) else "")


def _given(written: str, call: HookCall) -> dict[str, Any]:
    """The facts, with the names that upstream has for some of them."""
    facts: dict[str, Any] = {
        **call.facts,
        "hook_event_name": written,
        "session_id": call.session_id,
        "cwd": call.cwd,
        "mode": call.mode,
    }
    for theirs, ours in _THEIR_NAMES.items():
        if ours in facts:
            facts.setdefault(theirs, facts[ours])
    if "failed" in facts:
        facts["status"] = "error" if facts["failed"] else "ok"
    return facts


_THEIR_NAMES: Mapping[str, str] = {
    "params": "args",
    "tool_input": "args",
    "user_message": "prompt",
    "assistant_response": "answer",
    "api_call_count": "iteration",
}


def _taken_by(callback: Callback) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Keeps those of the named arguments that `callback` takes."""
    parameters = inspect.signature(callback).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return lambda facts: facts
    names = {parameter.name for parameter in parameters}
    return lambda facts: {name: value for name, value in facts.items() if name in names}


def _awaited_not(answer: object) -> object:
    if inspect.iscoroutine(answer):
        answer.close()
        raise HookFailed("is async, which is of no use here: nobody would wait for it")
    return answer
