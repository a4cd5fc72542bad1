"""The fake model server, as the real SDK sees it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from tests.support.model_server import (
    Hang,
    ModelServer,
    Reply,
    ToolCall,
    Usage,
)

if TYPE_CHECKING:
    from openai import OpenAI

QUESTION = [{"role": "user", "content": "hello"}]


@pytest.fixture(scope="module")
def openai() -> ModuleType:
    import openai  # noqa: PLC0415 - a second, which only who runs these tests should wait

    return openai


@pytest.fixture
def client(model_server: ModelServer, openai: ModuleType) -> Iterator[OpenAI]:
    with openai.OpenAI(base_url=model_server.base_url, api_key="test-key", max_retries=0, timeout=10) as client:
        yield client


def ask(client: OpenAI, **options):
    return client.chat.completions.create(
        model="test-model", messages=QUESTION, stream=True, stream_options={"include_usage": True}, **options
    )


def test_text_arrives_in_deltas_of_the_asked_size_with_finish_and_usage(model_server, client):
    model_server.add(Reply("Grüße an dich", split=4, usage=Usage(prompt=7, completion=3, cached=2)))
    chunks = list(ask(client))
    texts = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices and chunk.choices[0].delta.content]
    assert texts == ["Grüß", "e an", " dic", "h"]
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert chunks[-1].choices == []
    assert chunks[-1].usage.prompt_tokens == 7
    assert chunks[-1].usage.prompt_tokens_details.cached_tokens == 2


def test_parallel_tool_calls_interleave_by_index(model_server, client):
    calls = [ToolCall("call_a", "read_file", {"path": "a.py"}), ToolCall("call_b", "read_file", {"path": "b.py"})]
    model_server.add(Reply(tool_calls=calls, split=5))
    indexes: list[int] = []
    arguments = {0: "", 1: ""}
    names: dict[int, str] = {}
    finish = None
    for chunk in ask(client):
        for choice in chunk.choices:
            finish = choice.finish_reason or finish
            for part in choice.delta.tool_calls or []:
                indexes.append(part.index)
                names.setdefault(part.index, f"{part.id} {part.function.name}")
                arguments[part.index] += part.function.arguments
    assert names == {0: "call_a read_file", 1: "call_b read_file"}
    assert [json.loads(text) for text in arguments.values()] == [{"path": "a.py"}, {"path": "b.py"}]
    assert indexes[:6] == [0, 1, 0, 1, 0, 1]
    assert finish == "tool_calls"


def test_reasoning_travels_in_its_own_field(model_server, client):
    model_server.add(Reply("four", reasoning="two and two", split=100))
    deltas = [chunk.choices[0].delta for chunk in ask(client) if chunk.choices]
    assert [delta.reasoning_content for delta in deltas if hasattr(delta, "reasoning_content")] == ["two and two"]


def test_a_request_without_streaming_gets_one_completion(model_server, client):
    model_server.add(Reply("hi", tool_calls=[ToolCall("call_a", "todo", {})]))
    answer = client.chat.completions.create(model="test-model", messages=QUESTION)
    assert answer.choices[0].message.content == "hi"
    assert answer.choices[0].message.tool_calls[0].function.name == "todo"
    assert answer.choices[0].finish_reason == "tool_calls"


def test_a_request_beyond_the_script_fails_with_a_readable_message(client, openai):
    with pytest.raises(openai.BadRequestError, match="no reply for model request 1"):
        ask(client)


async def test_a_hanging_reply_does_not_keep_the_server_from_closing():
    with ModelServer(Hang(before_headers=True)) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
        request = await server.arrived()
    assert await reader.read() == b""
    assert not request.disconnected.is_set()
    writer.close()
    await writer.wait_closed()
