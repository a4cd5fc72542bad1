"""Bedrock's streams: when they are complete, what breaks them off and what ends them."""

from __future__ import annotations

import threading

import pytest

from agent_core.errors import (
    ProviderConnectionError,
    ProviderError,
)
from agent_core.providers.base import (
    Finished,
    TextDelta,
)
from tests.agent_core.providers.wire.conftest import REQUEST
from tests.support.agents import in_background
from tests.support.bedrock_server import Silence, Stream, delta, reply
from tests.support.model_replies import Gate
from tests.support.waiting import wait_until


def test_pieces_are_there_before_the_answer_is_complete(bedrock_server, connect_bedrock):
    gate = Gate()
    bedrock_server.add(Stream([delta(0, {"text": "one "}), *reply("two")], gate=gate))
    stream = iter(connect_bedrock().stream(REQUEST))
    assert next(stream) == TextDelta("one ")
    assert gate.reached.wait(5)
    assert not gate.is_set()
    gate.set()
    assert list(stream)[-1] == Finished("stop")


def test_a_message_of_the_stream_may_come_in_pieces(bedrock_server, ask_bedrock):
    whole = b"".join(reply("all of it"))
    bedrock_server.add(Stream([whole[at : at + 7] for at in range(0, len(whole), 7)]))
    assert ask_bedrock()[0] == TextDelta("all of it")


def test_two_requests_use_one_connection(bedrock_server, connect_bedrock, ask_bedrock):
    bedrock_server.add(Stream(reply("one")), Stream(reply("two")))
    provider = connect_bedrock()
    assert [ask_bedrock(provider)[0], ask_bedrock(provider)[0]] == [TextDelta("one"), TextDelta("two")]
    assert len({request.connection for request in bedrock_server.requests}) == 1


def test_an_answer_is_complete_with_its_count_even_if_the_server_never_ends_it(bedrock_server, ask_bedrock):
    bedrock_server.add(Stream(reply("all"), then="silence"))
    assert ask_bedrock()[-1] == Finished("stop")


@pytest.mark.parametrize(
    "answer",
    [
        Stream(reply("partial")[:2], then="cut"),
        Stream(reply("partial")[:2]),
        Stream([reply("partial")[1][:-3]]),
        Stream(),
    ],
    ids=["cut", "ended", "in the middle of a message", "empty"],
)
def test_an_answer_that_breaks_off_is_a_connection_error(bedrock_server, ask_bedrock, answer):
    bedrock_server.add(answer)
    with pytest.raises(ProviderConnectionError, match="broke off") as caught:
        ask_bedrock()
    assert caught.value.fault == "cut"


@pytest.mark.parametrize("answer", [Silence(), Stream(reply("hi")[:2], then="silence")], ids=["at once", "later"])
def test_an_answer_that_goes_silent_is_given_up(bedrock_server, connect_bedrock, ask_bedrock, answer):
    bedrock_server.add(answer)
    with pytest.raises(ProviderConnectionError, match=r"sent nothing.*0\.05 s") as caught:
        ask_bedrock(connect_bedrock(stall_after=0.05))
    assert caught.value.fault == "stall"


@pytest.mark.parametrize("answer", [Silence(), Stream(reply("hi")[:2], then="silence")], ids=["headers", "stream"])
def test_close_from_another_thread_ends_a_request_that_waits(bedrock_server, connect_bedrock, answer):
    bedrock_server.add(answer, Stream(reply("fine")))
    provider, first = connect_bedrock(), threading.Event()
    provider.warm()
    before = threading.enumerate()
    stream = provider.stream(REQUEST)

    def read():
        for _ in stream:
            first.set()

    running = in_background(read)
    request = bedrock_server.wait_for_request()
    if isinstance(answer, Stream):
        assert first.wait(5)
    stream.close()
    with pytest.raises(ProviderError):
        running.result(2)
    assert request.disconnected.wait(2)
    ours = {"background"}
    wait_until(lambda: not [t for t in threading.enumerate() if t not in before and t.name in ours])
    assert TextDelta("fine") in list(provider.stream(REQUEST))


def test_a_provider_can_be_used_again_after_it_was_closed(bedrock_server, connect_bedrock, ask_bedrock):
    bedrock_server.add(Stream(reply("one")), Stream(reply("two")))
    provider = connect_bedrock()
    ask_bedrock(provider)
    provider.close()
    provider.close()
    assert ask_bedrock(provider)[0] == TextDelta("two")
