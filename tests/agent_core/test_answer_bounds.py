"""What a server may send of an answer, and when it counts as silent: in each wire protocol."""

from __future__ import annotations

import itertools
import json
import logging
from collections.abc import Callable, Iterable, Iterator

import pytest

from agent_core.errors import ProviderConnectionError
from agent_core.messages import user_message
from agent_core.model_request import response as replies
from agent_core.model_request.fallback_chain import make_provider
from agent_core.providers.base import Finished, ModelRequest
from agent_core.providers.http_provider import LONGEST_PIECE
from tests.support.agents import Ears, assert_well_formed
from tests.support.bedrock_server import Stream, delta, frame
from tests.support.bedrock_server import reply as bedrock_reply
from tests.support.choices import choice_for
from tests.support.dripping import HEAD, Dripping
from tests.support.model_anthropic import sse
from tests.support.model_replies import Garbage, Reply, ToolCall, event
from tests.support.wire_agents import KEY, wired

NOTE = "too large"


def chat(text: str) -> bytes:
    return event({"choices": [{"index": 0, "delta": {"content": text}}]})


def anthropic(text: str) -> bytes:
    start = sse("content_block_start", index=0, content_block={"type": "text", "text": ""})
    return start + sse("content_block_delta", index=0, delta={"type": "text_delta", "text": text})


def responses(text: str) -> bytes:
    return event({"type": "response.output_text.delta", "output_index": 0, "item_id": "m", "delta": text})


SAID: dict[str, Callable[[str], bytes]] = {
    "chat_completions": chat,
    "anthropic_messages": anthropic,
    "codex_responses": responses,
}


def assert_ended(outcome, ears, kept: str) -> None:
    """The answer ended with `kept`, and both the person and the model are told so."""
    assert outcome["stop_reason"] == "max_tokens"
    said = outcome["messages"][-1]["content"]
    assert said.startswith(f"{kept}\n\n[The answer was ended here") or (not kept and said.startswith("[The answer"))
    assert NOTE in said
    assert [notice.kind for notice in ears.of("status")] == ["oversized"]
    assert NOTE in ears.of("status")[0].text
    assert "".join(ears.of("text")) == kept
    assert_well_formed(outcome["messages"])


def test_an_answer_over_the_bound_ends_with_what_was_seen_and_the_session_goes_on(over, model_server):
    piece = "four words of text. " * 52_500  # a MiB
    model_server.add(Garbage(b"".join(chat(piece) for _ in range(34))), Reply("Fine."))
    ears, agent = Ears(), over(wired(model_server.base_url))
    assert_ended(agent.run_conversation("go", callbacks=ears.callbacks()), ears, piece * 32)
    assert agent.chat("and now") == "Fine."
    assert NOTE in model_server.requests[1].raw.decode()


@pytest.mark.parametrize("part", ["text", "reasoning", "arguments", "wide"])
def test_every_part_of_an_answer_counts(over, model_server, protocol, monkeypatch, tmp_path, part):
    monkeypatch.setattr(replies, "LARGEST_ANSWER", 100_000)
    call = ToolCall("c", "write_file", {"path": "out", "content": "x" * 400_000})
    model_server.add(
        {
            "text": Reply("x" * 400_000, split=2000),
            "wide": Reply("字" * 130_000, split=2000),
            "reasoning": Reply("never", reasoning="x" * 400_000, split=2000),
            "arguments": Reply("", tool_calls=[call], split=2000),
        }[part],
        Reply("Fine."),
    )
    ears, agent = Ears(), over(wired(model_server.base_url, protocol))
    outcome = agent.run_conversation("go", callbacks=ears.callbacks())
    assert [notice.kind for notice in ears.of("status")] == ["oversized"]
    if part == "arguments":
        assert "Nothing was run" in str(outcome["messages"][2]["content"])
        assert outcome["final_response"] == "Fine."
    else:
        shown = "".join((*ears.of("text"), *ears.of("reasoning")))
        assert 100_000 < len(shown.encode()) < 300_000
        assert NOTE in str(outcome["messages"][1]["content"])
        assert agent.chat("and now") == "Fine."
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("said", ["", "What was seen."], ids=["at once", "after some text"])
def test_a_piece_that_is_too_long_ends_the_answer(over, model_server, protocol, said):
    endless = b"data: " + b"x" * (LONGEST_PIECE + 200_000)
    model_server.add(Garbage((SAID[protocol](said) if said else b"") + endless), Reply("Fine."))
    ears, agent = Ears(), over(wired(model_server.base_url, protocol))
    assert_ended(agent.run_conversation("go", callbacks=ears.callbacks()), ears, said)
    assert agent.chat("and now") == "Fine."


def test_a_long_piece_that_is_within_the_bound_is_read(over, model_server):
    text = "x" * (LONGEST_PIECE - 1000)
    model_server.add(Reply(text))
    assert over(wired(model_server.base_url)).chat("go") == text


def test_at_bedrock_a_piece_is_bounded_too(over, bedrock_server):
    endless = frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "x" * (LONGEST_PIECE + 200_000)}})
    bedrock_server.add(Stream([delta(0, {"text": "Seen."}), endless]), Stream(bedrock_reply("Fine.")))
    choice = choice_for(bedrock_server.url, api_mode="bedrock_converse", api_key=KEY, provider="bedrock", model="m")
    ears, agent = Ears(), over(choice)
    assert_ended(agent.run_conversation("go", callbacks=ears.callbacks()), ears, "Seen.")
    assert agent.chat("and now") == "Fine."


def test_a_refusal_without_end_is_read_only_at_its_start(protocol):
    """The server goes on until the client has left; a client that wanted all of it would never have it."""
    head = HEAD.replace(b"200 OK", b"400 Bad") + b"\r\n"
    with Dripping(itertools.chain([head, b"no such model "], itertools.repeat(b"x" * 65_536)), pause=0) as server:
        with pytest.raises(Exception, match="no such model") as caught:
            ask(server, protocol)
        assert len(str(caught.value)) < 1000
        assert server.left.wait(10)


def ask(server: Dripping, protocol: str, patience: float = 0.2) -> list[object]:
    provider = make_provider(wired(f"{server.origin}/v1", protocol, stall_after=patience))
    try:
        return list(provider.stream(ModelRequest("test-model", [user_message("hello")])))
    finally:
        provider.close()


def singly(data: bytes) -> Iterator[bytes]:
    return (bytes([byte]) for byte in data)


# Each goes on for five seconds: whoever counts any byte as an answer waits for the end, which is another failure.
DRIPS: dict[str, Iterable[bytes]] = {
    "bytes of an event": [HEAD, b"\r\n", b"data: ", *[b"x"] * 500],
    "bytes of a comment": [HEAD, b"\r\n", b":", *[b"x"] * 500],
    "comments": [HEAD, b"\r\n", *[b": keep-alive, and a word more\n\n"] * 500],
    "long comments": [HEAD, b"\r\n", *[b":" + b"x" * 1000 + b"\n\n"] * 500],
    "empty lines": [HEAD, b"\r\n", *[b"\n"] * 500],
    "pings": [HEAD, b"\r\n", *[b'event: ping\ndata: {"type": "ping"}\n\n'] * 500],
    "bytes of the head": [HEAD, b"X-More: ", *[b"x"] * 500],
    "bytes of a chunk's head": [HEAD, b"Transfer-Encoding: chunked\r\n\r\n", b"5;", *[b"x"] * 500],
    "comments in chunks": [HEAD, b"Transfer-Encoding: chunked\r\n\r\n", *[b"3\r\n:x\n\r\n"] * 500],
}


@pytest.mark.parametrize("drip", DRIPS.values(), ids=DRIPS)
def test_a_server_that_only_keeps_its_connection_open_counts_as_silent(protocol, drip):
    with Dripping(drip) as server:
        with pytest.raises(ProviderConnectionError, match=r"sent nothing of its answer for 0\.2 s") as caught:
            ask(server, protocol)
        assert caught.value.fault == "stall"


def test_at_bedrock_bytes_alone_are_silence_too(aws_settings):
    head = HEAD.replace(b"text/event-stream", b"application/vnd.amazon.eventstream") + b"\r\n"
    with Dripping([head, *singly(b"".join(bedrock_reply("x" * 500)))]) as server:
        choice = choice_for(
            server.origin, api_mode="bedrock_converse", api_key=KEY, provider="bedrock", model="m", stall_after=0.2
        )
        provider = make_provider(choice)
        with pytest.raises(ProviderConnectionError, match="sent nothing of its answer"):
            list(provider.stream(ModelRequest("m", [user_message("hello")])))
        provider.close()


def test_an_answer_may_take_longer_than_the_patience_if_its_events_come(protocol):
    """Thirty events, a hundredth of a second apart each, with comments between them: longer than 0.2 s in all."""
    said = [each for number in range(30) for each in (b": on it\n\n", SAID[protocol](f"{number} "))]
    end = {
        "chat_completions": event("[DONE]"),
        "anthropic_messages": sse("message_stop"),
        "codex_responses": event({"type": "response.completed", "response": {}}),
    }[protocol]
    with Dripping([HEAD, b"\r\n", *said, end]) as server:
        assert ask(server, protocol)[-1] == Finished("stop")


UNCOUNTED = {
    "too large for the database": 2**63,
    "far too large": 10**30,
    "a sum that would be": 2**62,
    "negative": -5,
    "a float": 7.5,
    "a text": "12",
    "a truth": True,
    "nested": {"tokens": 5},
    "a list": [5],
}


@pytest.mark.parametrize("count", UNCOUNTED.values(), ids=UNCOUNTED)
def test_a_count_of_tokens_that_is_none_is_ignored_with_a_line_in_the_log(
    over, model_server, protocol, count, caplog
):
    model_server.add(Garbage(counted(protocol, count)), Reply("Fine."))
    agent = over(wired(model_server.base_url, protocol))
    with caplog.at_level(logging.WARNING):
        outcome = agent.run_conversation("go")
    assert outcome["final_response"] == "Hello."
    assert (outcome["usage"]["input_tokens"], outcome["usage"]["output_tokens"]) == (0, 7)
    assert "count of tokens" in caplog.text
    assert agent.chat("and now") == "Fine."


@pytest.mark.parametrize("usage", [[1], "many", 5])
def test_usage_that_is_none_is_ignored_too(over, model_server, protocol, usage):
    model_server.add(Garbage(counted(protocol, usage, whole=True)))
    outcome = over(wired(model_server.base_url, protocol)).run_conversation("go")
    assert (outcome["final_response"], outcome["usage"]["input_tokens"]) == ("Hello.", 0)


def counted(protocol: str, count: object, *, whole: bool = False) -> bytes:
    """An answer whose input has this count of tokens, and its output 7; or all of its usage is `count`."""
    if protocol == "chat_completions":
        usage = {"prompt_tokens": count, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": count}}
        end = {"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": count if whole else usage}
        return chat("Hello.") + event(end) + event("[DONE]")
    usage = {"input_tokens": count, "output_tokens": 7, "cache_read_input_tokens": count}
    if protocol == "anthropic_messages":
        end = sse("message_delta", delta={"stop_reason": "end_turn"}, usage=count if whole else usage)
        return anthropic("Hello.") + end + sse("message_stop")
    response = {"usage": count if whole else usage | {"input_tokens_details": count}}
    return responses("Hello.") + event({"type": "response.completed", "response": json.loads(json.dumps(response))})
