"""The rules that strict model servers hold requests to, a function a protocol: what is wrong with a conversation."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

Body = dict[str, Any]
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def chat_problems(body: Body) -> Iterator[str]:
    """Chat Completions: turns alternate, each call is answered right after it, once, and nothing is empty."""
    system, *messages = body["messages"]
    yield from _unless(system["role"] in {"system", "developer"}, "the first message is no system prompt")
    seen: set[str] = set()
    open_calls: list[str] = []
    before = "system"
    for message in messages:
        role, calls = message["role"], message.get("tool_calls") or []
        if role == "tool":
            yield from _unless(message["tool_call_id"] in open_calls, "a result without its call")
            open_calls.remove(message["tool_call_id"])
        else:
            yield from _unless(not open_calls, f"calls without a result: {open_calls}")
            yield from _unless(role != before, f"{role} after {before}")
            yield from _unless(bool(calls or (message["content"] and str(message["content"]).strip())), "empty")
        for call in calls:
            yield from _call_problems(call["id"], call["function"]["name"], call["function"]["arguments"], seen, 40)
        open_calls += [call["id"] for call in calls]
        before = role
    yield from _unless(before in {"user", "tool"} and not open_calls, "nobody waits for an answer")


def anthropic_problems(body: Body) -> Iterator[str]:
    """Anthropic Messages: user first, strict alternation, results at the head of the next message."""
    messages = body["messages"]
    seen: set[str] = set()
    for position, message in enumerate(messages):
        yield from _unless(message["role"] == ("user", "assistant")[position % 2], "no alternation")
        yield from _unless(bool(message["content"]), "an empty message")
        for block in message["content"]:
            if block["type"] == "text":
                yield from _unless(bool(block["text"].strip()), "an empty text")
        calls = [block for block in message["content"] if block["type"] == "tool_use"]
        for call in calls:
            yield from _call_problems(call["id"], call["name"], json.dumps(call["input"]), seen, 64)
        following = messages[position + 1]["content"] if position + 1 < len(messages) else []
        answered = [block["tool_use_id"] for block in following if block["type"] == "tool_result"]
        if message["role"] == "assistant":
            yield from _unless(answered == [call["id"] for call in calls], f"calls and results differ: {answered}")
            head = [block["type"] for block in following[: len(calls)]]
            yield from _unless(head == ["tool_result"] * len(calls), "results are not at the head")
    yield from _unless(messages[-1]["role"] == "user", "nobody waits for an answer")


def bedrock_problems(body: Body) -> Iterator[str]:
    """Bedrock Converse: as Anthropic Messages in its own words; blank texts and empty contents are refused."""
    messages = body["messages"]
    seen: set[str] = set()
    for position, message in enumerate(messages):
        yield from _unless(message["role"] == ("user", "assistant")[position % 2], "no alternation")
        yield from _unless(bool(message["content"]), "an empty message")
        for block in message["content"]:
            yield from _unless(len(block) == 1, f"a block of several kinds: {sorted(block)}")
            yield from _unless("text" not in block or bool(block["text"].strip()), "a blank text")
        calls = [block["toolUse"] for block in message["content"] if "toolUse" in block]
        for call in calls:
            yield from _call_problems(call["toolUseId"], call["name"], json.dumps(call["input"]), seen, 64)
        following = messages[position + 1]["content"] if position + 1 < len(messages) else []
        results = [block["toolResult"] for block in following if "toolResult" in block]
        if message["role"] == "assistant":
            ids = [result["toolUseId"] for result in results]
            yield from _unless(ids == [call["toolUseId"] for call in calls], f"calls and results differ: {ids}")
            yield from _unless(all(result["content"] for result in results), "a result without content")
    yield from _unless(messages[-1]["role"] == "user", "nobody waits for an answer")


def responses_problems(body: Body) -> Iterator[str]:
    """Responses: each call has one output after it; nothing is empty."""
    seen: set[str] = set()
    open_calls: list[str] = []
    for item in body["input"]:
        match item["type"]:
            case "function_call":
                yield from _call_problems(item["call_id"], item["name"], item["arguments"], seen, 64)
                open_calls.append(item["call_id"])
            case "function_call_output":
                yield from _unless(item["call_id"] in open_calls, "an output without its call")
                open_calls.remove(item["call_id"])
            case "message":
                yield from _unless(not open_calls, f"calls without an output: {open_calls}")
                yield from _unless(bool(item["content"]), "an empty message")
    yield from _unless(not open_calls, f"calls without an output: {open_calls}")


PROBLEMS: dict[str, Callable[[Body], Iterator[str]]] = {
    "chat_completions": chat_problems,
    "anthropic_messages": anthropic_problems,
    "codex_responses": responses_problems,
}


def _call_problems(call_id: str, name: str, arguments: str, seen: set[str], longest: int) -> Iterator[str]:
    yield from _unless(0 < len(call_id) <= longest, f"an id of {len(call_id)} characters")
    yield from _unless(call_id not in seen, f"the id {call_id} twice")
    yield from _unless(_NAME.fullmatch(name) is not None, f"the name {name!r}")
    yield from _unless(isinstance(json.loads(arguments), dict), f"the arguments {arguments!r}")
    seen.add(call_id)


def _unless(holds: bool, problem: str) -> Iterator[str]:
    if not holds:
        yield problem
