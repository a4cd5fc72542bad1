"""A conversation in ShareGPT form, to train with: as the model saw it, but for what was only for one run.

The form is that of the Hermes agents: reasoning as `<think>`, tool calls as `<tool_call>`, all results that follow an
answer as `<tool_response>`s in one `tool` turn; every `gpt` turn begins with a `<think>` block, if an empty one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agent_core.messages import Content, Message, Part, ToolCall, parse_arguments, repaired, said_in
from tools.redaction import Redact

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


def conversations(
    messages: Sequence[Message],
    system: str | None,
    tools: Sequence[Mapping[str, Any]] | None,
    redacting: Redact,
) -> list[dict[str, str]]:
    """The turns of a conversation, as objects with `from` and `value`.

    Args:
        system: the system prompt, without what is never stored; None if it is not known.
        tools: the tool definitions, as they were sent.
        redacting: takes the secrets out of each text.
    """
    turns = [*_system(system, tools), *_conversation(repaired(messages))]
    return [{**each, "value": redacting(each["value"])} for each in turns]


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
                yield {"from": "human", "value": _text(said_in(message))}
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
