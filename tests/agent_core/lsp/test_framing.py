"""Messages with headers, however their bytes come."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_core.lsp.client import LspFailure, framed, read_message
from tests.support.each import each

_messages = st.lists(
    st.dictionaries(st.text(max_size=5), st.text(max_size=20) | st.integers(), max_size=4), max_size=5
)


async def read(*pieces: bytes, longest: int = 1024 * 1024) -> list[Mapping[str, Any]]:
    """The messages that come in these pieces."""
    reader, found = asyncio.StreamReader(limit=4096), []

    async def feed() -> None:
        for piece in pieces:
            reader.feed_data(piece)
            await asyncio.sleep(0)
        reader.feed_eof()

    feeding = asyncio.create_task(feed())
    while (message := await read_message(reader, longest)) is not None:
        found.append(message)
    await feeding
    return found


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_messages, st.lists(st.integers(min_value=1, max_value=40), max_size=60))
def test_messages_come_out_as_they_went_in(messages: list[dict[str, object]], sizes: list[int]) -> None:
    data = b"".join(map(framed, messages))
    pieces = []
    for size in (*sizes, len(data)):
        pieces.append(data[:size])
        data = data[size:]
    assert asyncio.run(read(*pieces)) == messages


async def test_other_headers_are_passed_over() -> None:
    data = b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\ncontent-length:2\r\n\r\n{}"
    assert await read(data) == [{}]


@each(
    ("data", "said"),
    [
        (b"Hello\n" * 1000, "something else than messages"),
        (b"Content-Type: x\r\n\r\n{}", "without its length"),
        (b"Content-Length: -1\r\n\r\n{}", "without its length"),
        (b"Content-Length: 2000000\r\n\r\n", "more than 1 MB"),
        (b"Content-Length: 2\r\n\r\n{]", "no JSON"),
        (b"Content-Length: 2\r\n\r\n[]", "no JSON object"),
        (b"Content-Length: 2\r\n\r\n\xff\xfe", "no JSON"),
    ],
)
def test_what_is_not_the_protocol_is_an_error(data: bytes, said: str) -> None:
    with pytest.raises(LspFailure, match=said):
        asyncio.run(read(data))


async def test_lone_surrogates_can_be_sent() -> None:
    assert await read(framed({"text": "\ud800"})) == [{"text": "\ud800"}]
