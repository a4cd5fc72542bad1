"""Whether there is a model with its key, and whether it answers and calls tools."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from acp_adapter.cli.doctor.case import Case
from acp_adapter.cli.doctor.finding import Finding, failing, warning, well

if TYPE_CHECKING:
    from acp_adapter.cli.asking import Asked
    from agent_core.providers.choice import ModelChoice

MODEL_SECONDS = 60.0
_TOOL = "report"
_PARAMETERS = {
    "type": "object",
    "properties": {"state": {"type": "string", "enum": ["ready"]}},
    "required": ["state"],
}
_QUESTION = f"Call the tool `{_TOOL}` once, with the state `ready`. Write nothing else."
# Models that think do so before they call.
_LONGEST_ANSWER = 1024
_SET_UP = "Run `hermes-acp setup`."
_OTHER_MODEL = "Choose a model that is made for tools: `hermes-acp models` lists them, `hermes-acp setup` changes it."


def check_key(case: Case) -> Iterator[Finding]:
    """Which model is configured, and whether its key and those of its stand-ins are there. Keys are not shown."""
    config = case.config()
    if config is None:
        return
    from agent_core.errors import AuthRequired, KeyMissing, SettingsError  # noqa: PLC0415 - after the settings
    from agent_core.providers.resolve import resolve_fallbacks, resolve_model  # noqa: PLC0415 - the same
    from agent_core.signed_out import SignedOut  # noqa: PLC0415 - the same

    try:
        SignedOut(case.home).check()
        choice = resolve_model(config)
    except KeyMissing as problem:
        page = f" Keys are made at {problem.page}." if problem.page else ""
        yield failing("key", problem.public, f"{_SET_UP}{page}", variable=problem.variable)
        return
    except AuthRequired as problem:
        what = problem.cause[:1].upper() + problem.cause[1:]
        yield failing("key", what, f"{_SET_UP} docs/models.md lists every provider.")
        return
    except SettingsError as problem:
        what, _, step = problem.public.partition(". ")
        yield failing("key", what, step or _SET_UP)
        return
    count = 1 + len(choice.spare_keys) if choice.api_key else 0
    without = "a sign-in counts" if choice.sign_in is not None else "no key is set for it, or needed"
    keys = {0: without, 1: "a key is there"}.get(count, f"{count} keys are there")
    where = f" ({choice.endpoint.host})" if choice.base_url else ""
    facts: dict[str, Any] = {
        "provider": choice.provider,
        "model": choice.model,
        "source": choice.source,
        "keys": count,
    }
    yield well("key", f"{choice.name}{where}, chosen in {choice.source}: {keys}", **facts)
    for sentence in resolve_fallbacks(config, choice)[1]:
        what, _, step = sentence.partition(". ")
        yield warning("key", what, step)


def check_sign_in(case: Case) -> Iterator[Finding]:
    """Whether the cloud's sign-in works, where the model is asked with one. The model itself is not asked."""
    choice = _choice(case)
    if choice is None or choice.sign_in is None or choice.api_key:
        return
    from agent_core.errors import HermesError, SettingsError, TurnInterrupted  # noqa: PLC0415 - as above
    from agent_core.providers.catalog import SIGN_INS  # noqa: PLC0415 - the same
    from agent_core.providers.sdk.sign_ins import try_sign_in  # noqa: PLC0415 - the same

    where, ended = SIGN_INS[choice.sign_in], threading.Event()
    try:
        with case.endings.by(ended.set):
            try_sign_in(choice, ended.is_set)
    except TurnInterrupted:  # the check's time is over, which is told elsewhere
        return
    except SettingsError as problem:
        what, _, step = problem.public.partition(". ")
        yield failing("sign-in", what, step)
    except HermesError as problem:
        yield failing("sign-in", problem.public, "Sign in, then run `hermes-acp doctor` again.")
    else:
        yield well("sign-in", f"signed in at {where} for {choice.provider}", sign_in=choice.sign_in)


def check_model(case: Case) -> Iterator[Finding]:
    """Whether the model answers, and calls a tool when it is told to: one tiny request."""
    choice = _choice(case)
    if choice is None:  # told with the key
        return
    if choice.api_mode == "offline":
        yield well("model", "the offline stand-in answers without a server", model=choice.name)
        return
    from acp_adapter.cli.asking import ask  # noqa: PLC0415 - loads what asks models
    from agent_core.messages import user_message  # noqa: PLC0415 - the same
    from agent_core.providers.base import ModelRequest  # noqa: PLC0415 - the same

    tool = {"name": _TOOL, "description": "Tells that you are ready.", "parameters": _PARAMETERS}
    request = ModelRequest(
        choice.model,
        [user_message(_QUESTION)],
        tools=[{"type": "function", "function": tool}],
        max_tokens=_LONGEST_ANSWER,
        cache_ttl=None,
    )
    yield _judged(choice, ask(choice, request, MODEL_SECONDS, case.endings.by))


def _choice(case: Case) -> ModelChoice | None:
    from agent_core.errors import HermesError  # noqa: PLC0415 - as above
    from agent_core.providers.resolve import resolve_model  # noqa: PLC0415 - the same
    from agent_core.signed_out import SignedOut  # noqa: PLC0415 - the same

    config = case.config()
    if config is None or SignedOut(case.home).is_set():
        return None
    try:
        return resolve_model(config)
    except HermesError:
        return None


def _judged(choice: ModelChoice, asked: Asked) -> Finding:
    facts: dict[str, Any] = {"model": choice.name, "seconds": round(asked.seconds, 2)}
    if asked.error is not None:
        said = asked.error.public
        step = _OTHER_MODEL if _is_about_tools(said) else f"See what it says; {_SET_UP[0].lower()}{_SET_UP[1:]}"
        return failing("model", f"{choice.name} could not be asked: {said}", step, **facts)
    if not asked.ended:
        text = f"{choice.name} did not answer within {MODEL_SECONDS:g} s"
        return failing("model", text, "Look whether its server runs and is not overloaded; then try again.", **facts)
    called, arguments = _call(asked)
    if called != _TOOL:
        said = f"it called {called!r} instead" if called else "it called none"
        text = f"{choice.name} answers, but was told to call a tool, and {said}"
        return warning("model", text, _OTHER_MODEL, calls_tools=False, **facts)
    if not _is_object(arguments):
        text = f"{choice.name} calls tools, but with arguments that are no JSON object"
        return warning("model", text, _OTHER_MODEL, calls_tools=False, **facts)
    tokens = _tokens(asked)
    told = f", {tokens} tokens" if tokens else ""
    text = f"{choice.name} answers and calls tools ({asked.seconds:.1f} s{told})"
    return well("model", text, calls_tools=True, tokens=tokens, **facts)


def _call(asked: Asked) -> tuple[str, str]:
    """The first call's tool and arguments; '' where there is none."""
    from agent_core.providers.base import ToolCallArguments, ToolCallStarted  # noqa: PLC0415 - as above

    first = next((event for event in asked.events if isinstance(event, ToolCallStarted)), None)
    if first is None:
        return "", ""
    parts = [each for each in asked.events if isinstance(each, ToolCallArguments) and each.index == first.index]
    return first.name, "".join(part.text for part in parts)


def _is_object(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments), dict)
    except ValueError:
        return False


def _tokens(asked: Asked) -> int:
    from agent_core.providers.base import UsageReport  # noqa: PLC0415 - as above

    usage = [event.usage for event in asked.events if isinstance(event, UsageReport)]
    return sum((each.input_tokens or 0) + (each.output_tokens or 0) for each in usage[-1:])


def _is_about_tools(said: str) -> bool:
    return "tool" in said.lower() or "function call" in said.lower()
