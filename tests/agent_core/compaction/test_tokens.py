"""The estimate of tokens, and what is learnt from servers' counts. The counts are those of real tokenizers."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from agent_core.compaction.tokens import TokenMeter, message_tokens, text_tokens, tools_tokens
from agent_core.messages import assistant_message, tool_call, tool_message, user_message
from agent_core.providers.base import ModelRequest, Usage
from tests.support.each import each

DATA = Path(__file__).parents[2] / "data" / "tokens" / "counts.json"
TEXTS = json.loads(DATA.read_text(encoding="utf-8"))["texts"]
VOCABULARIES = ("o200k", "cl100k")
TOOLS = [
    {"type": "function", "function": {"name": f"tool_{n}", "description": "Does a thing.\n" * 9}} for n in range(9)
]


def error(estimate, count):
    return abs(estimate / count - 1)


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_uncalibrated_the_estimate_is_about_a_tenth_off_and_the_sum_less(vocabulary):
    errors = [error(text_tokens(entry["text"]), entry[vocabulary]) for entry in TEXTS]
    assert sum(errors) / len(errors) < 0.11
    whole = sum(text_tokens(entry["text"]) for entry in TEXTS)
    assert error(whole, sum(entry[vocabulary] for entry in TEXTS)) < 0.06


@pytest.mark.parametrize("entry", TEXTS, ids=lambda entry: entry["kind"])
def test_no_kind_of_text_is_far_off(entry):
    between = (entry["o200k"] * entry["cl100k"]) ** 0.5
    assert error(text_tokens(entry["text"]), between) < 0.2


@pytest.mark.parametrize("entry", TEXTS, ids=lambda entry: entry["kind"])
def test_of_a_long_text_pieces_are_enough(entry):
    text = "\n".join([entry["text"]] * 8)
    between = (entry["o200k_eight"] * entry["cl100k_eight"]) ** 0.5
    assert error(text_tokens(text), between) < 0.25


def history_of(vocabulary, seed, turns=12):
    """Messages in chunks of a request each, with what a server counts of each message."""
    dice = random.Random(seed)
    number = 0
    english = TEXTS[0]
    yield [(user_message(english["text"]), english[vocabulary] + 4)] * 25
    for _ in range(turns):
        yield [said(user_message, dice, vocabulary, [entry for entry in TEXTS if "prose" in entry["kind"]])]
        for _ in range(dice.randint(1, 5)):
            number += 1
            call = tool_call(f"call_{number}", "read_file", '{"path": "app/orders.py"}')
            chunk = [(assistant_message("", [call]), 20)]
            chunk.append(said(lambda text, call=call: tool_message(call, text), dice, vocabulary, TEXTS, 8))
            yield chunk
        yield [said(assistant_message, dice, vocabulary, TEXTS[:1])]


def said(make, dice, vocabulary, texts, overhead=4):
    entry = dice.choice(texts)
    if dice.random() < 0.5:
        return make(entry["text"]), entry[vocabulary] + overhead
    return make("\n".join([entry["text"]] * 8)), entry[f"{vocabulary}_eight"] + overhead


@each("seed", range(10))
@each(("vocabulary", "scale"), [("o200k", 1.0), ("cl100k", 1.0), ("o200k", 1.35)])
def test_after_the_first_turn_a_request_is_known_to_five_percent(vocabulary, scale, seed):
    meter, messages, counted, errors = TokenMeter(), [], 800 * scale, []
    for chunk in history_of(vocabulary, f"{vocabulary} {seed}"):
        messages += [message for message, _ in chunk]
        counted += scale * sum(count for _, count in chunk)
        request = ModelRequest("m", tuple(messages), TOOLS)
        errors.append(error(meter.tokens("p:m", request), counted))
        meter.learn("p:m", request, Usage(input_tokens=round(counted)))
    later = errors[8:]
    assert max(later) < 0.05
    assert sum(later) / len(later) < 0.01


def test_what_was_counted_is_not_estimated_again():
    meter, request = TokenMeter(), ModelRequest("m", [user_message("hello " * 500)])
    meter.learn("p:m", request, Usage(input_tokens=777))
    assert meter.tokens("p:m", request) == 777
    more = ModelRequest("m", [*request.messages, assistant_message("yes")])
    assert 777 < meter.tokens("p:m", more) < 800


def test_another_beginning_is_estimated_by_the_ratio_that_was_learnt():
    meter, text = TokenMeter(), "hello there " * 500
    plain = meter.measure("p:m")([user_message(text)])
    meter.learn("p:m", ModelRequest("m", [user_message(text)]), Usage(input_tokens=plain * 2))
    other = ModelRequest("m", [user_message("something else " * 300)])
    untold = TokenMeter().tokens("p:m", other)
    assert meter.tokens("p:m", other) == pytest.approx(2 * untold, rel=0.01)
    assert meter.fixed("p:m", "system " * 90, TOOLS) == pytest.approx(
        2 * TokenMeter().fixed("p:m", "system " * 90, TOOLS), rel=0.01
    )


def test_each_model_has_a_ratio_of_its_own():
    meter, request = TokenMeter(), ModelRequest("m", [user_message("hello there " * 500)])
    plain = meter.tokens("p:two", request)
    meter.learn("p:one", request, Usage(input_tokens=plain * 2))
    assert meter.tokens("p:one", request) == plain * 2
    assert meter.tokens("p:two", request) == plain


@pytest.mark.parametrize(
    "usage",
    [Usage(), Usage(input_tokens=0), Usage(input_tokens=3), Usage(input_tokens=10**7), Usage(0, cached_tokens=2)],
    ids=["none", "zero", "tiny", "huge", "little cached"],
)
def test_a_count_that_cannot_be_teaches_nothing(usage):
    meter, request = TokenMeter(), ModelRequest("m", [user_message("hello there " * 500)])
    plain = meter.tokens("p:m", request)
    meter.learn("p:m", request, usage)
    assert meter.tokens("p:m", request) == plain


def test_a_request_that_goes_on_from_another_is_not_smaller_than_it():
    meter, request = TokenMeter(), ModelRequest("m", [user_message("hello there " * 500)])
    meter.learn("p:m", request, Usage(input_tokens=1_000))
    more = ModelRequest("m", [*request.messages, assistant_message("well " * 100)])
    meter.learn("p:m", more, Usage(input_tokens=400))
    assert meter.tokens("p:m", more) > 1_000


def test_a_server_that_counts_only_what_was_not_cached_is_understood():
    meter, request = TokenMeter(), ModelRequest("m", [user_message("hello there " * 500)])
    plain = meter.tokens("p:m", request)
    meter.learn("p:m", request, Usage(input_tokens=50, cached_tokens=plain))
    assert meter.tokens("p:m", request) == plain + 50


def test_images_recordings_and_documents_count():
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    assert 1_000 < message_tokens(user_message([image])) < 1_500
    document = {"type": "file", "file": {"filename": "a.pdf", "file_data": "A" * 400_000}}
    assert message_tokens(user_message([document])) == pytest.approx(16_004)
    audio = {"type": "input_audio", "input_audio": {"data": "A" * 400_000, "format": "wav"}}
    assert message_tokens(user_message([audio])) == pytest.approx(204)


def test_calls_tools_and_reasoning_that_goes_back_count():
    bare = message_tokens(assistant_message("hello"))
    assert message_tokens(assistant_message("hello", [tool_call("c", "read_file", '{"path": "a"}')])) > bare + 9
    sealed = {**assistant_message("hello", (), "thinking " * 90), "sealed": {"items": []}}
    assert message_tokens(sealed) > bare + 80
    assert message_tokens(assistant_message("hello", (), "thinking " * 90)) == bare
    assert tools_tokens(TOOLS) > 200


@each("text", ["", "\ud800", "\x00" * 9, "é" * 5000, "𝔘" * 5000])
def test_any_text_has_a_count(text):
    assert text_tokens(text) >= (1 if text else 0)
