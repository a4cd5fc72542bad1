"""A session as a trajectory to train with: ShareGPT form, made from the messages that the model saw, but for secrets.

The form is that of the Hermes agents: reasoning as `<think>`, tool calls as `<tool_call>`, all results that follow an
answer as `<tool_response>`s in one `tool` turn; every `gpt` turn begins with a `<think>` block, if an empty one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from acp_adapter.export.markup import whole
from agent_core.events import ContextCompacted, SessionEvent
from agent_core.messages import Content, Message, Part, ToolCall, parse_arguments, repaired
from agent_core.sessions.records import COMMAND, COMPACTED, RESET, Transcript
from tools.redaction.redactor import Redact, redact

_CALLING = """\
The functions below can be called. Their signatures are within <tools> </tools>:
<tools>
{tools}
</tools>
A call is one JSON object with the function's name and arguments, within <tool_call> </tool_call>:
<tool_call>
{{"name": <function-name>, "arguments": <arguments-object>}}
</tool_call>
What a call came to is told within <tool_response> </tool_response>."""


def is_completed(transcript: Transcript) -> bool:
    """Whether the session's last turn came to its end by itself."""
    outcomes = [turn.outcome for turn in transcript.turns if turn.outcome not in {COMMAND, RESET, COMPACTED}]
    return bool(outcomes) and outcomes[-1] == "end_turn"


def to_trajectory(
    transcript: Transcript,
    system: str | None = None,
    tools: Sequence[Mapping[str, Any]] | None = None,
    redacting: Redact = redact,
) -> str:
    """The session as one line of JSON, without a line feed at its end.

    Args:
        system: the system prompt that the model had; None if it is not known.
        tools: the tool definitions that it had, as they were sent.
        redacting: takes the secrets out of each text.
    """
    session, messages = (
        transcript.session,
        repaired([each.message for each in transcript.messages if not each.hidden]),
    )
    conversations = [*_system(system, tools), *_conversation(messages)]
    spent = session.spent
    line = {
        "conversations": [{**each, "value": redacting(each["value"])} for each in conversations],
        "timestamp": datetime.fromtimestamp(session.updated_at, UTC).isoformat(),
        "model": session.model,
        "completed": is_completed(transcript),
        "session_id": session.id,
        "cwd": session.cwd,
        "turns": len(transcript.turns),
        "compressions": sum(
            isinstance(event, ContextCompacted) and event.state == "done" for event in _events(transcript)
        ),
        "api_calls": spent.requests,
        "input_tokens": spent.usage.input_tokens,
        "output_tokens": spent.usage.output_tokens,
        "cost_usd": spent.cost,
    }
    return whole(json.dumps(line, ensure_ascii=False))


def _events(transcript: Transcript) -> Iterator[SessionEvent]:
    return (event for stored in transcript.events for event in stored.events)


def _system(system: str | None, tools: Sequence[Mapping[str, Any]] | None) -> Iterator[dict[str, str]]:
    parts = [system] if system else []
    if tools:
        functions = [tool.get("function", tool) for tool in tools]
        parts.append(_CALLING.format(tools=json.dumps(functions, ensure_ascii=False)))
    if parts:
        yield {"from": "system", "value": "\n\n".join(parts)}


def _conversation(messages: Sequence[Message]) -> Iterator[dict[str, str]]:
    answers: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            answers.append(_response(message))
            continue
        if answers:
            yield {"from": "tool", "value": "\n".join(answers)}
            answers = []
        match message["role"]:
            case "assistant":
                yield {"from": "gpt", "value": _answer(message)}
            case "user":
                yield {"from": "human", "value": _text(message["content"])}
            case "system":
                yield {"from": "system", "value": _text(message["content"])}
    if answers:
        yield {"from": "tool", "value": "\n".join(answers)}


def _answer(message: Message) -> str:
    reasoning = message.get("reasoning", "").strip()
    thought = f"<think>\n{reasoning}\n</think>" if reasoning else "<think>\n</think>"
    calls = (f"<tool_call>\n{_call(call)}\n</tool_call>" for call in message.get("tool_calls", ()))
    return "\n".join(part for part in (thought, _text(message["content"]), *calls) if part)


def _call(call: ToolCall) -> str:
    written = call["function"]["arguments"]
    try:
        return _json({"name": call["function"]["name"], "arguments": parse_arguments(written)})
    except ValueError:
        return _json({"name": call["function"]["name"], "arguments": written})


def _response(message: Message) -> str:
    body = {"tool_call_id": message.get("tool_call_id", ""), "name": message.get("name", "")}
    text = _text(message["content"])
    try:
        told = _json({**body, "content": json.loads(text) if text[:1] in {"{", "["} else text})
    except (ValueError, RecursionError):
        told = _json({**body, "content": text})
    return f"<tool_response>\n{told}\n</tool_response>"


def _json(value: Mapping[str, object]) -> str:
    """`value` as JSON.

    Raises:
        ValueError: it holds a number that JSON has not.
    """
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _text(content: Content | None) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(_part(part) for part in content)


def _part(part: Part) -> str:
    match part["type"]:
        case "text":
            return part["text"]
        case "image_url":
            return "<image>"
        case "file":
            return f"<file {part['file']['filename']}>"
        case "input_audio":
            return f"<audio {part['input_audio']['format']}>"
