"""Answers as the Responses API writes them: items that grow, each event with its name and number."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

from tests.support.model_replies import Recorded, Reply, Streamed, ToolCall, Usage, event, pieces

Payload = dict[str, Any]
Step = list[Payload]
"""The events that are sent together: a delta, and what has to be said before or after it."""

_CUT = {"length": "max_output_tokens", "content_filter": "content_filter"}
_WHOLE = {"stop": "completed", "tool_calls": "completed"}


class ResponsesDialect:
    """Implements `ServerDialect`. The paragraphs of a reply's reasoning are the parts of a summary."""

    path = "/v1/responses"

    def streamed(self, request: Recorded, reply: Reply) -> Streamed:
        numbers = count()
        begun = response(request, reply, "in_progress")
        opening: list[Step] = [
            [{"type": f"response.{name}", "response": begun}] for name in ("created", "in_progress")
        ]
        whole = response(request, reply)
        kind = "incomplete" if reply.ending in _CUT else "completed"
        ending: list[Step] = [[{"type": f"response.{kind}", "response": whole}]]
        return Streamed(*([_sent(step, numbers) for step in part] for part in (opening, list(steps(reply)), ending)))

    def whole(self, request: Recorded, reply: Reply) -> Payload:
        return response(request, reply)


def response(request: Recorded, reply: Reply, status: str = "") -> Payload:
    """The response object; without `status` the complete one."""
    cut = None if status else _CUT.get(reply.ending)
    return {
        "id": f"resp_{request.number}",
        "object": "response",
        "created_at": 1_700_000_000,
        "model": request.model,
        "status": status or ("incomplete" if cut else _WHOLE.get(reply.ending, reply.ending)),
        "error": None,
        "incomplete_details": {"reason": cut} if cut else None,
        "instructions": request.body.get("instructions"),
        "output": [] if status else output(reply),
        "parallel_tool_calls": True,
        "store": False,
        "tool_choice": "auto",
        "tools": [],
        "usage": None if status or reply.usage is None else _usage(reply.usage),
    }


def output(reply: Reply) -> list[Payload]:
    """The complete items."""
    items = [_reasoning(reply)] if reply.reasoning or reply.sealed_reasoning else []
    items += [_message(reply.text)] if reply.text else []
    items += [_call(call) for call in reply.tool_calls]
    if items and reply.ending == "length":
        items[-1]["status"] = "incomplete"
    return items


def steps(reply: Reply) -> Iterator[Step]:
    """The answer as a stream, without its opening and its end."""
    items = output(reply)
    first_call = len(items) - len(reply.tool_calls)
    for index, item in enumerate(items[:first_call]):
        parts = _summary(reply) if item["type"] == "reasoning" else [reply.text]
        deltas = list(_parts(index, item, parts, reply.split)) or [[]]
        deltas[0].insert(0, _added(index, _begun(item)))
        deltas[-1].append(_done(index, item))
        yield from deltas
    yield from _calls(items[first_call:], first_call, reply)


def _parts(index: int, item: Payload, parts: list[str], split: int) -> Iterator[Step]:
    """The parts of a message or of a summary, piece by piece."""
    thinks = item["type"] == "reasoning"
    name, part_name = (
        ("reasoning_summary_text", "reasoning_summary_part") if thinks else ("output_text", "content_part")
    )
    for number, text in enumerate(parts):
        at = {"item_id": item["id"], "output_index": index, "summary_index" if thinks else "content_index": number}
        found: list[Step] = [
            [{"type": f"response.{name}.delta", "delta": piece, **at, **({} if thinks else {"logprobs": []})}]
            for piece in pieces(text, split)
        ] or [[]]
        part = _summary_part if thinks else _text_part
        found[0].insert(0, {"type": f"response.{part_name}.added", "part": part(""), **at})
        found[-1].append(
            {"type": f"response.{name}.done", "text": text, **at, **({} if thinks else {"logprobs": []})}
        )
        found[-1].append({"type": f"response.{part_name}.done", "part": part(text), **at})
        yield from found


def _calls(items: list[Payload], first: int, reply: Reply) -> Iterator[Step]:
    """All calls begin, then their arguments come by turns."""
    streams = [pieces(call.arguments_text, reply.split) for call in reply.tool_calls]
    for index, (item, stream) in enumerate(zip(items, streams, strict=True), first):
        yield [_added(index, _begun(item)), *(() if stream else _call_done(index, item))]
    for turn in range(max(map(len, streams), default=0)):
        for index, (item, stream) in enumerate(zip(items, streams, strict=True), first):
            if turn < len(stream):
                at = {"item_id": item["id"], "output_index": index}
                delta = {"type": "response.function_call_arguments.delta", "delta": stream[turn], **at}
                yield [delta, *(_call_done(index, item) if turn == len(stream) - 1 else ())]


def _call_done(index: int, item: Payload) -> Step:
    at = {"item_id": item["id"], "output_index": index, "name": item["name"]}
    return [
        {"type": "response.function_call_arguments.done", "arguments": item["arguments"], **at},
        _done(index, item),
    ]


def _begun(item: Payload) -> Payload:
    """An item before anything of it was said. The seal of reasoning is not complete at that time."""
    empty: Payload = {"status": "in_progress"}
    match item["type"]:
        case "reasoning":
            empty |= {"summary": []} | ({"encrypted_content": "unfinished"} if "encrypted_content" in item else {})
        case "message":
            empty["content"] = []
        case _:
            empty["arguments"] = ""
    return item | empty


def _added(index: int, item: Payload) -> Payload:
    return {"type": "response.output_item.added", "output_index": index, "item": item}


def _done(index: int, item: Payload) -> Payload:
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def _summary(reply: Reply) -> list[str]:
    return reply.reasoning.split("\n\n") if reply.reasoning else []


def _reasoning(reply: Reply) -> Payload:
    item = {
        "id": "rs_1",
        "type": "reasoning",
        "status": "completed",
        "summary": [*map(_summary_part, _summary(reply))],
    }
    return item | ({"encrypted_content": reply.sealed_reasoning} if reply.sealed_reasoning else {})


def _message(text: str) -> Payload:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [_text_part(text)],
    }


def _call(call: ToolCall) -> Payload:
    names = {"id": f"fc_{call.id}", "call_id": call.id, "name": call.name}
    return {"type": "function_call", "status": "completed", "arguments": call.arguments_text, **names}


def _summary_part(text: str) -> Payload:
    return {"type": "summary_text", "text": text}


def _text_part(text: str) -> Payload:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _usage(usage: Usage) -> Payload:
    return {
        "input_tokens": usage.prompt,
        "input_tokens_details": {"cached_tokens": usage.cached, "cache_write_tokens": 0},
        "output_tokens": usage.completion,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.prompt + usage.completion,
    }


def _sent(step: Step, numbers: Iterator[int]) -> bytes:
    return b"".join(event({**payload, "sequence_number": next(numbers)}, payload["type"]) for payload in step)
