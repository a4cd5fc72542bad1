"""What model servers do wrong, in each wire protocol: the turn goes on, or it ends with one readable error.

Either way nothing is shown twice, nothing of the history is lost, and the session takes the next prompt.
"""

from __future__ import annotations

import email.utils
import json
import re
import threading
from dataclasses import replace

import pytest

from agent_core.callbacks import Status
from agent_core.errors import ModelFailed
from agent_core.messages import assistant_message, user_message
from agent_core.providers.choice import Dialect
from tests.support.agents import Ears, assert_well_formed, in_background, roles
from tests.support.model_replies import Gate
from tests.support.model_server import Disconnect, Garbage, Hang, ModelServer, Reply, ToolCall, Usage
from tests.support.model_server import Status as Answer
from tests.support.raw_server import RawServer, event_stream
from tests.support.strict_protocols import PROBLEMS
from tests.support.waiting import wait_until
from tests.support.wire_agents import KEY, patient, wired

TEXT = "Hello there, all is well."


def refusal(status, message, headers=None, **more):
    return Answer(status, {"error": {"message": message, "type": "error"} | more}, headers or {})


def soon(http_date=False):
    if http_date:
        return {"Retry-After": email.utils.formatdate(0, usegmt=True)}
    return {"Retry-After": "0"}


PASSING = {
    "429 with seconds": [refusal(429, "Rate limit reached", soon())],
    "429 with a date": [refusal(429, "Rate limit reached", soon(http_date=True))],
    "429 with milliseconds": [refusal(429, "Rate limit reached", {"retry-after-ms": "1"})],
    "429 twice": [refusal(429, "Rate limit reached", soon())] * 2,
    "408": [refusal(408, "Request timeout")],
    "500": [refusal(500, "The server had an error while processing your request")],
    "500 three times": [refusal(500, "The server had an error")] * 3,
    "502 in HTML": [Answer(502, "<html><h1>502 Bad Gateway</h1></html>")],
    "503": [refusal(503, "The model is overloaded")],
    "529": [refusal(529, "Overloaded", type="overloaded_error")],
    "cut before the headers": [Disconnect(before_headers=True)],
    "cut before the first token": [Disconnect(Reply(TEXT, split=4), after=0)],
    "garbage": [Garbage(b'data: {"choi\n\n')],
    "garbage and bytes": [Garbage(b"data: \xff\xfe\n\n")],
    "an empty body": [Garbage(b"")],
    "an empty answer": [Reply("")],
    "an answer of spaces": [Reply("  \n")],
    "an answer of thoughts": [Reply("", reasoning="hm")],
}


@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING)
def test_a_fault_that_passes_is_outlasted_and_the_person_sees_it(model_server, over, protocol, fault):
    model_server.add(*fault, Reply(TEXT, split=4))
    ears, agent = Ears(), over(wired(model_server.base_url, protocol))
    result = agent.run_conversation("hello", callbacks=ears.callbacks())
    assert (result["final_response"], result["stop_reason"]) == (TEXT, "end_turn")
    assert "".join(ears.of("text")).strip() == TEXT
    notices = ears.of("status")
    assert [notice.kind for notice in notices] == ["retry"] * len(fault)
    assert all("Trying again" in notice.text and "attempt" in notice.text for notice in notices)
    assert_well_formed(result["messages"])
    assert len(model_server.requests) == len(fault) + 1
    assert all(request.body == model_server.requests[0].body for request in model_server.requests)


LASTING = {
    "401": (refusal(401, "Incorrect API key provided"), "key", 1),
    "402": (refusal(402, "Insufficient Balance"), "credit", 1),
    "403": (refusal(403, "You do not have access to this model"), "key", 1),
    "404 model": (refusal(404, "The model `test-model` does not exist", code="model_not_found"), "model.default", 1),
    "413": (refusal(413, "Request entity too large"), "large", 1),
    "500 for ever": (refusal(500, "The server had an error"), "tried 4 times", 4),
    "OpenAI's window": (
        refusal(400, "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 "
                "tokens.", code="context_length_exceeded"), "window", 1),
    "Anthropic's window": (refusal(400, "prompt is too long: 210000 tokens > 200000 maximum"), "window", 1),
    "Gemini's window": (
        refusal(400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
        "window", 1),
    "llama.cpp's window": (
        refusal(400, "the request exceeds the available context size. try increasing the context size or enable "
                "context shift", type="exceed_context_size_error"), "window", 1),
    "Bedrock's window": (refusal(400, "Input is too long for requested model."), "window", 1),
    "a redirect": (Answer(307, "", {"Location": "http://elsewhere.example/v1"}), "model.base_url", 1),
    "a wrong address": (Answer(404, "<html>not found</html>"), "model.base_url", 1),
}  # fmt: skip


@pytest.mark.parametrize(("fault", "said", "asked"), LASTING.values(), ids=LASTING)
def test_a_fault_that_lasts_ends_the_turn_with_one_error_and_not_the_session(
    model_server, over, protocol, fault, said, asked
):
    model_server.add(Reply("Good day."), *([fault] * asked), Reply(TEXT))
    agent = over(wired(model_server.base_url, protocol))
    agent.chat("first")
    with pytest.raises(ModelFailed) as caught:
        agent.run_conversation("second")
    text = caught.value.public
    for part in ("custom", model_server.base_url, "test-model", said):
        assert part in text
    assert KEY not in text
    assert len(text.splitlines()) == 1
    result = agent.run_conversation("third")
    assert result["final_response"] == TEXT
    assert_well_formed(result["messages"])
    assert [message["content"] for message in result["messages"]][:2] == ["first", "Good day."]
    assert agent.services.prefix.breaks in ([], ["withdrawn"])


def test_a_stream_that_is_cut_goes_on_where_it_stopped(model_server, over, protocol):
    model_server.add(Disconnect(Reply("Hello there, all is well.", split=6), after=2), Reply("all is well."))
    ears, agent = Ears(), over(wired(model_server.base_url, protocol))
    result = agent.run_conversation("hello", callbacks=ears.callbacks())
    assert "".join(ears.of("text")) == "Hello there,all is well."[:12] + "all is well."
    assert result["final_response"] == "".join(ears.of("text"))
    assert roles(result["messages"]) == ["user", "assistant", "user", "assistant"]
    assert result["messages"][1]["unfinished"]
    assert result["messages"][2]["injected"]
    assert agent.services.prefix.breaks == []


def test_a_stream_that_is_cut_inside_a_tool_call_runs_the_call_once(model_server, over, protocol, tmp_path):
    call = ToolCall("call_1", "write_file", {"path": "out.txt", "content": "complete"})
    again = replace(call, id="call_2")
    model_server.add(Disconnect(Reply("", tool_calls=[call], split=8), after=3), Reply("", tool_calls=[again]))
    model_server.add(Reply("Written."))
    ears = Ears()
    result = over(wired(model_server.base_url, protocol)).run_conversation("write", callbacks=ears.callbacks())
    assert result["final_response"] == "Written."
    assert (tmp_path / "out.txt").read_text() == "complete"
    assert_well_formed(result["messages"])
    announced = [call_id for call_id, _ in ears.of("tool_gen")]
    assert [ears.finished(call_id).ran for call_id in announced] == [False, True]


def test_what_was_seen_before_a_cancel_is_told_with_the_next_prompt(model_server, over, protocol):
    gate = Gate()
    model_server.add(Reply("Half of it and more", "a thought", split=10, gate=gate, gate_after=2), Reply("Fine."))
    ears, agent = Ears(), over(wired(model_server.base_url, protocol))
    turn = in_background(lambda: agent.run_conversation("hello", callbacks=ears.callbacks()))
    wait_until(lambda: "Half of it" in "".join(ears.of("text")))
    agent.interrupt()
    assert turn.result(10)["stop_reason"] == "cancelled"
    gate.set()
    assert agent.chat("go on") == "Fine."
    body = model_server.requests[-1].body
    assert "Half of it" in str(body)
    assert "interrupted" in str(body)
    assert "thought" not in str(body)
    assert list(PROBLEMS[protocol](body)) == []


def test_a_stalled_answer_is_given_up_and_asked_again(model_server, over, protocol):
    model_server.add(Hang(Reply(TEXT, split=4), after=0), Hang(before_headers=True), Reply(TEXT))
    agent = over(wired(model_server.base_url, protocol, stall_after=0.5))
    assert agent.chat("hello") == TEXT


def test_an_answer_that_stalls_halfway_goes_on_where_it_stopped(model_server, over, protocol):
    model_server.add(Hang(Reply("one two three", split=4), after=2), Reply("three"))
    agent = over(wired(model_server.base_url, protocol, stall_after=0.5))
    assert agent.chat("count") == "one two three"


def test_the_second_key_is_used_when_the_first_is_refused_and_stays_in_use(model_server, over, protocol):
    model_server.add(refusal(401, "Incorrect API key provided"), Reply(TEXT), Reply("again"))
    agent = over(wired(model_server.base_url, protocol, spare_keys=("sk-second-0123456789",)))
    assert agent.chat("hello") == TEXT
    assert agent.chat("once more") == "again"
    sent = [request.headers.get("x-api-key") or request.headers["authorization"] for request in model_server.requests]
    assert [key.removeprefix("Bearer ") for key in sent] == [KEY, *["sk-second-0123456789"] * 2]


def test_a_402_that_names_a_time_is_a_limit_and_the_next_key_is_used(model_server, over, protocol):
    model_server.add(refusal(402, "Usage limit reached, try again in 5 minutes"), Reply(TEXT))
    agent = over(wired(model_server.base_url, protocol, spare_keys=("sk-second-0123456789",)))
    assert agent.chat("hello") == TEXT


def test_the_fallback_answers_and_the_next_turn_begins_with_the_first_again(model_server, over, protocol):
    with ModelServer(Reply("from the second")) as second:
        model_server.add(refusal(429, "Rate limit reached"), Reply("from the first"))
        ears = Ears()
        agent = over(
            wired(model_server.base_url, protocol), wired(second.base_url, provider="other", model="other-model")
        )
        result = agent.run_conversation("hello", callbacks=ears.callbacks())
        assert (result["final_response"], result["model"]) == ("from the second", "other-model")
        notice = next(status for status in ears.of("status") if status.kind == "fallback")
        assert "other:other-model" in notice.text
        assert agent.chat("again") == "from the first"
        assert len(second.requests) == 1
    assert agent.services.prefix.breaks == []


def test_when_every_model_fails_the_error_names_them(model_server, over, protocol):
    with ModelServer(default=refusal(401, "no")) as second:
        model_server.add(refusal(402, "Insufficient Balance"))
        agent = over(wired(model_server.base_url, protocol), wired(second.base_url, provider="other", model="m2"))
        with pytest.raises(ModelFailed) as caught:
            agent.chat("hello")
    assert "other" in caught.value.public
    assert "custom:test-model" in caught.value.public


def test_in_the_middle_of_a_turn_old_results_make_room_and_the_history_stays_whole(
    model_server, over, protocol, tmp_path
):
    for number in range(4):
        (tmp_path / f"big{number}.txt").write_text(f"a word of file {number}, " * 150)
        model_server.add(Reply("", tool_calls=[ToolCall(f"c{number}", "read_file", {"path": f"big{number}.txt"})]))
    model_server.add(refusal(400, "prompt is too long: 210000 tokens > 200000 maximum"), Reply(TEXT), Reply("next"))
    agent = over(wired(model_server.base_url, protocol))
    result = agent.run_conversation("read it again and again")
    assert result["final_response"] == TEXT
    overflowed, compressed = (request.raw.decode() for request in model_server.requests[-2:])
    assert len(compressed) < len(overflowed) - 1500
    assert "a word of file 0" not in compressed
    assert "read it again and again" in compressed
    assert all(
        "a word of file" in str(message["content"]) for message in result["messages"] if message["role"] == "tool"
    )
    agent.chat("and now")
    assert agent.services.prefix.breaks == ["compression"]


@pytest.mark.parametrize(
    ("arguments", "ran"),
    [('{"path": "note.txt",}', True), ("{'path': 'note.txt'}", True), ('{"path": "note', False), ("no JSON", False)],
)
def test_broken_arguments_are_mended_or_answered_and_later_requests_are_valid(
    model_server, over, protocol, tmp_path, arguments, ran
):
    (tmp_path / "note.txt").write_text("remember\n")
    model_server.add(Reply("", tool_calls=[ToolCall("c", "read_file", arguments)]), Reply(TEXT))
    result = over(wired(model_server.base_url, protocol)).run_conversation("read")
    assert result["final_response"] == TEXT
    assert ("remember" in str(result["messages"][2]["content"])) == ran
    json.loads(result["messages"][1]["tool_calls"][0]["function"]["arguments"])


def test_an_unknown_tool_is_answered_with_the_nearest_real_one(model_server, over, protocol):
    model_server.add(Reply("", tool_calls=[ToolCall("c", "read_fil", {"path": "x"})]), Reply(TEXT))
    result = over(wired(model_server.base_url, protocol)).run_conversation("read")
    assert "Did you mean: read_file" in str(result["messages"][2]["content"])


def test_a_long_answer_is_continued_and_read_as_one(model_server, over, protocol):
    model_server.add(Reply("one two ", finish_reason="length"), Reply("three"))
    ears, agent = Ears(), over(wired(model_server.base_url, protocol))
    result = agent.run_conversation("count", callbacks=ears.callbacks())
    assert (result["final_response"], result["stop_reason"]) == ("one two three", "end_turn")
    assert "".join(ears.of("text")) == "one two three"
    assert_well_formed(result["messages"])


def test_an_answer_that_stays_too_long_ends_with_max_tokens(model_server, over, protocol):
    model_server.add(*[Reply(f"{number} ", finish_reason="length") for number in range(4)])
    result = over(wired(model_server.base_url, protocol)).run_conversation("count")
    assert (result["final_response"], result["stop_reason"]) == ("0 1 2 3 ", "max_tokens")
    assert len(model_server.requests) == 4


def test_a_call_that_the_output_limit_cut_is_not_run_and_the_others_are(model_server, over, protocol, tmp_path):
    (tmp_path / "note.txt").write_text("remember\n")
    calls = [
        ToolCall("a", "read_file", {"path": "note.txt"}),
        ToolCall("b", "write_file", '{"path": "o", "content": "ha'),
    ]
    model_server.add(Reply("", tool_calls=calls, finish_reason="length"), Reply(TEXT))
    result = over(wired(model_server.base_url, protocol)).run_conversation("go")
    assert result["final_response"] == TEXT
    assert "remember" in str(result["messages"][2]["content"])
    assert "output limit" in str(result["messages"][3]["content"])
    assert not (tmp_path / "o").exists()


def test_a_refusal_is_said_as_one_and_is_not_shown_to_the_model_again(model_server, over, protocol):
    model_server.add(
        Reply("Good day."), Reply("I cannot help with that.", finish_reason="content_filter"), Reply(TEXT)
    )
    agent = over(wired(model_server.base_url, protocol))
    agent.chat("first")
    outcome = agent.run_conversation("something bad")
    assert (outcome["stop_reason"], outcome["final_response"]) == ("refusal", "I cannot help with that.")
    result = agent.run_conversation("third")
    assert [message["content"] for message in result["messages"]] == ["first", "Good day.", "third", TEXT]
    assert "something bad" not in model_server.requests[-1].raw.decode()


def test_a_server_without_tls_behind_https_is_a_readable_error(model_server, over, protocol):
    address = model_server.base_url.replace("http:", "https:")
    with pytest.raises(ModelFailed) as caught:
        over(wired(address, protocol)).chat("hello")
    for part in ("custom", address, "test-model"):
        assert part in caught.value.public


TOO_LONG = refusal(400, "prompt is too long: 210000 tokens > 200000 maximum")
FAULTS = {
    "limit": refusal(429, "Rate limit reached"),
    "server error": refusal(500, "no"),
    "cut": Disconnect(before_headers=True),
    "cut in the text": Disconnect(Reply(TEXT, split=4), after=2),
    "silence": Hang(before_headers=True),
    "silence in the text": Hang(Reply(TEXT, split=4), after=2),
    "garbage": Garbage(b"data: x\n\n"),
    "empty": Reply(""),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_cancel_ends_the_turn_during_each_fault_and_the_next_turn_works(model_server, over, protocol, fault):
    model_server.add(fault)
    ears, agent = Ears(), over(wired(model_server.base_url, protocol), patience=patient())
    running = in_background(lambda: agent.run_conversation("hello", callbacks=ears.callbacks()))
    model_server.wait_for_request()
    agent.interrupt()
    assert running.result(timeout=20)["stop_reason"] == "cancelled"
    model_server.add(Reply(TEXT))
    result = agent.run_conversation("again")
    assert result["final_response"] == TEXT
    assert_well_formed(result["messages"])


def test_many_cancels_on_a_silent_server_leave_no_thread_behind(over, protocol):
    with ModelServer(default=Hang(before_headers=True)) as server:
        agent = over(wired(server.base_url, protocol))
        before = threading.active_count()
        for number in range(30):
            running = in_background(lambda: agent.run_conversation("hello"))
            server.wait_for_request(number + 1)
            agent.interrupt()
            assert running.result(timeout=20)["stop_reason"] == "cancelled"
        ours = [thread for thread in threading.enumerate() if "background" in thread.name]
        for thread in ours:
            thread.join()
    assert threading.active_count() <= before


def test_a_retry_says_what_failed_how_often_and_how_long(model_server, over):
    model_server.add(refusal(503, "The model is overloaded"), Reply(TEXT))
    ears = Ears()
    over(wired(model_server.base_url)).run_conversation("hello", callbacks=ears.callbacks())
    (notice,) = ears.of("status")
    assert isinstance(notice, Status)
    for part in ("custom", "overloaded", "attempt 2 of 4"):
        assert part in notice.text


def test_keys_whose_limit_is_over_at_once_are_each_tried_once_and_then_waited_for(model_server, over, protocol):
    model_server.add(*[refusal(429, "Rate limit reached", soon())] * 5, Reply(TEXT))
    agent = over(wired(model_server.base_url, protocol, spare_keys=("sk-second-0123456789",)))
    with pytest.raises(ModelFailed, match="tried 4 times"):
        agent.chat("hello")
    assert len(model_server.requests) == 5
    assert agent.chat("again") == TEXT


def test_an_answer_that_was_complete_before_its_stream_broke_is_shown_once(over):
    said, ended = {"choices": [{"delta": {"content": "all"}}]}, {"choices": [{"finish_reason": "stop"}]}
    with RawServer(event_stream(said, ended, b"zzz", ended=False) + b"zzz\r\n") as server:
        ears = Ears()
        agent = over(wired(f"{server.origin}/v1", stall_after=0.2))
        assert agent.run_conversation("hello", callbacks=ears.callbacks())["final_response"] == "all"
    assert ears.of("text") == ["all"]


def test_an_answer_that_is_complete_but_never_ends_is_not_waited_for(over):
    said, ended = {"choices": [{"delta": {"content": "all"}}]}, {"choices": [{"finish_reason": "stop"}]}
    with RawServer(event_stream(said, ended, ended=False)) as server:
        assert over(wired(f"{server.origin}/v1", stall_after=0.2)).chat("hello") == "all"


def test_a_model_that_has_nothing_to_add_has_ended_its_answer(model_server, over, protocol):
    model_server.add(Reply("the whole answer.", finish_reason="length"), Reply(""), Reply("next"))
    agent = over(wired(model_server.base_url, protocol))
    result = agent.run_conversation("hello")
    assert (result["final_response"], result["stop_reason"]) == ("the whole answer.", "end_turn")
    assert_well_formed(result["messages"])
    assert agent.chat("again") == "next"


def test_text_that_was_shown_is_in_the_final_answer_also_at_the_end_of_the_budget(model_server, over, protocol):
    model_server.add(Reply("the first part ", finish_reason="length"), Reply("and the rest"))
    result = over(wired(model_server.base_url, protocol), max_iterations=1).run_conversation("hello")
    assert result["stop_reason"] == "max_turn_requests"
    assert result["final_response"] == "the first part and the rest"


def test_results_that_are_too_large_for_the_window_make_room_too(model_server, over, protocol, tmp_path):
    (tmp_path / "big.txt").write_text(f"{'x' * 80}\n" * 300)
    calls = [ToolCall(name, "read_file", {"path": "big.txt"}) for name in ("c1", "c2")]
    small_window = [lambda request: TOO_LONG if len(request.raw) > 40_000 else Reply(TEXT)] * 4
    model_server.add(Reply("", tool_calls=calls), *small_window)
    agent = over(wired(model_server.base_url, protocol))
    assert agent.run_conversation("read both")["final_response"] == TEXT
    assert agent.chat("again") == TEXT


def test_a_filter_in_the_middle_of_an_answer_takes_the_prompt_out_of_the_conversation(model_server, over):
    filtered = b'data: {"error": {"message": "filtered", "code": "content_filter"}}\n\n'
    model_server.add(Garbage(b'data: {"choices": [{"delta": {"content": "Sure, "}}]}\n\n' + filtered), Reply(TEXT))
    agent = over(wired(model_server.base_url))
    assert agent.run_conversation("something bad")["stop_reason"] == "refusal"
    assert agent.chat("hello") == TEXT
    assert "something bad" not in model_server.requests[-1].raw.decode()


def test_after_a_withdrawn_turn_a_new_image_is_shown(model_server, over, protocol):
    picture = [{"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}]
    refused = Reply("no", finish_reason="content_filter")
    model_server.add(Reply("hello"), refusal(400, "image exceeds 5 MB maximum"), refused, Reply("a cat"))
    agent = over(wired(model_server.base_url, protocol))
    agent.chat("first")
    assert agent.run_conversation(picture)["stop_reason"] == "refusal"
    assert agent.run_conversation(picture)["final_response"] == "a cat"
    assert "iVBORw0KGgo=" in model_server.requests[-1].raw.decode()


@pytest.mark.parametrize(
    "answer",
    [
        Answer(500, "not gzip", {"Content-Encoding": "gzip"}),
        Garbage(b"data: " + b"[" * 200_000 + b"\n\n"),
        Answer(400, '{"error":' * 50_000),
        Answer(400, "[" * 200_000),
    ],
    ids=["encoding", "depth", "depth of an error", "depth of a list"],
)
def test_an_answer_that_breaks_a_library_is_a_readable_error(model_server, over, protocol, answer):
    model_server.add(*[answer] * 4, Reply(TEXT))
    agent = over(wired(model_server.base_url, protocol))
    with pytest.raises(ModelFailed):
        agent.chat("hello")
    assert_well_formed(agent.messages or [user_message("x"), assistant_message("y")])


def test_an_attempt_that_came_to_nothing_is_paid_for_as_well(model_server, over, protocol):
    used = Usage(prompt=1000, completion=10)
    model_server.add(Reply("", usage=used), Reply("ok", usage=used))
    result = over(wired(model_server.base_url, protocol)).run_conversation("hello")
    assert result["usage"]["input_tokens"] == 2000


@pytest.mark.parametrize("key", ["sk-secret-aaaa\nbbbbbbbb", "sk-secret-aaaa\x00bbbb", "sk-secret-aaaa…"])
def test_a_key_that_cannot_be_sent_is_not_shown_and_not_stored(model_server, over, protocol, key):
    agent = over(wired(model_server.base_url, protocol, api_key=key))
    model_server.add(refusal(401, "no"))
    with pytest.raises(ModelFailed) as caught:
        agent.chat("hello")
    assert "sk-secret" not in str(caught.value)
    assert "sk-secret" not in str(agent.messages)


def test_calls_that_another_model_made_fit_a_server_with_rules_of_its_own(model_server, over):
    strange = ToolCall("call_" + "x" * 60, "functions.read file", {"path": "a"})
    with ModelServer(Reply("done")) as second:
        model_server.add(Reply("", tool_calls=[strange]), refusal(401, "no"))
        agent = over(
            wired(model_server.base_url),
            wired(second.base_url, provider="mistral", dialect=Dialect(nine_in_ids=True)),
        )
        assert agent.chat("go") == "done"
        _, _, called, result = second.requests[0].body["messages"]
    call = called["tool_calls"][0]
    assert re.fullmatch("[a-zA-Z0-9]{9}", call["id"])
    assert re.fullmatch("[a-zA-Z0-9_-]{1,64}", call["function"]["name"])
    assert result["tool_call_id"] == call["id"]
    assert len(model_server.requests[1].body["messages"][2]["tool_calls"][0]["id"]) <= 40


def test_an_error_in_plain_json_with_a_good_status_is_read(model_server, over, protocol):
    body = json.dumps({"error": {"message": "Insufficient Balance", "code": "insufficient_quota"}}).encode()
    model_server.add(Garbage(body, "application/json"), Reply(TEXT))
    agent = over(wired(model_server.base_url, protocol, spare_keys=("sk-second-0123456789",)))
    assert agent.chat("hello") == TEXT


def test_content_in_parts_is_text_and_thought(model_server, over):
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "Hmm"}]}
    parts = [[thinking], [{"type": "text", "text": "hi"}]]
    stream = b"".join(
        b"data: " + json.dumps({"choices": [{"delta": {"content": content}}]}).encode() + b"\n\n" for content in parts
    )
    model_server.add(Garbage(stream + b"data: [DONE]\n\n"))
    ears = Ears()
    assert (
        over(wired(model_server.base_url)).run_conversation("x", callbacks=ears.callbacks())["final_response"] == "hi"
    )
    assert ears.of("reasoning") == ["Hmm"]
