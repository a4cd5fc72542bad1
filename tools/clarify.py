"""The tool `clarify`: a question to the person, answered before the turn goes on where the editor has forms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tools import arguments
from tools.agent_ports import Field, PersonAnswer, PersonQuestion, wants_secret
from tools.context import require_context
from tools.errors import ToolError
from tools.registry import registry
from tools.result import ShownText, ToolResult, ok

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "question": {"type": "string"},
        "choices": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["question"],
}
DESCRIPTION = "Ask the person what only they can decide. They may also answer in their own words. Never for secrets."

_FIELD = "answer"
_MAX_CHARS = 4000
_MAX_CHOICES = 20
_MAX_CHOICE_CHARS = 400
_NOTES: Mapping[str, str] = {
    "unfit": "The answer that came is not one of the choices, nor words. Ask once more, or end your turn.",
    "declined": "The person chose not to answer. Decide by yourself, or do what needs no answer; do not ask again.",
    "dismissed": "The question was closed without an answer. Go on with the safest way, or end your turn.",
    "unavailable": "The question is shown to the person as text. End your turn now: their next prompt is the answer.",
}


def clarify(args: Mapping[str, Any], **kw: Any) -> ToolResult:
    """Ask the person.

    Args:
        args: question, choices as in SCHEMA.
        kw: `ctx`, the call's ToolContext.

    Returns:
        JSON: `answer`; or `outcome` (unfit, declined, dismissed, unavailable) and a `note` on how to go on.

    Raises:
        ToolError: the question is not valid, wants a secret, or there is nobody to ask.
    """
    ctx = require_context(kw)
    if ctx.agent is None:
        raise ToolError("There is nobody to ask: this tool needs a running agent.")
    text, choices = _question(args), _choices(args.get("choices", ()))
    if wants_secret(text):
        raise ToolError(
            "The person was not asked: a secret must not pass through a form or this conversation. Ask them to put "
            "it where the program reads it (an environment variable, .env, a key store), and use it from there."
        )
    answer = Field(_FIELD, "Your answer", "choice" if choices else "text", choices=choices)
    return _told(text, choices, ctx.agent.ask(PersonQuestion(text, (answer,), ctx.tool_call_id), ctx.interrupt))


def _question(args: Mapping[str, Any]) -> str:
    text = arguments.text(args, "question").strip()
    if not text:
        raise ToolError("The argument 'question' is empty; it has to be what the person shall answer.")
    if len(text) > _MAX_CHARS:
        raise ToolError(f"The question is longer than {_MAX_CHARS} characters; shorten it.")
    return text


def _choices(given: Sequence[str]) -> tuple[str, ...]:
    choices = tuple(dict.fromkeys(choice for item in given if (choice := item.strip())))
    if len(choices) > _MAX_CHOICES:
        raise ToolError(f"There are {len(choices)} choices; at most {_MAX_CHOICES} can be shown. Ask more narrowly.")
    if any(len(choice) > _MAX_CHOICE_CHARS for choice in choices):
        raise ToolError(f"A choice is longer than {_MAX_CHOICE_CHARS} characters; explain it in the question.")
    return choices


def _told(question: str, choices: Sequence[str], answer: PersonAnswer) -> ToolResult:
    if answer.outcome == "answered":
        value = answer.values.get(_FIELD, "")
        return ok({"answer": value}, ShownText(f"{question}\n\n{value}"), outcome="answered")
    shown = "\n".join([question, *(f"- {choice}" for choice in choices)])
    return ok({"outcome": answer.outcome, "note": _NOTES[answer.outcome]}, ShownText(shown), outcome=answer.outcome)


registry.register(
    name="clarify", toolset="planning", schema=SCHEMA, handler=clarify, description=DESCRIPTION, parallel="never"
)
