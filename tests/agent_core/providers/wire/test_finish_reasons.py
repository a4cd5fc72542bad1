"""What servers' words for the end of an answer mean."""

from __future__ import annotations

import pytest

from agent_core.errors import ProviderConnectionError, ProviderStatusError
from agent_core.providers.base import Finished
from agent_core.providers.protocol import Decoder, ending_of
from tests.support.choices import choice_for
from tests.support.each import each

CHOICE = choice_for("http://models.example/v1")
WORDS = {
    "stop": "stop STOP eos eos_token end_turn pause_turn stop_sequence stop_token COMPLETE completed done finished "
    "EndTurn FINISH_REASON_STOP FinishReason.STOP end-of-turn stop_str eos_token_id eot normal natural ended "
    "eos_found STOP_CRITERIA_MET end_of_message <|im_end|> <|eot_id|> </s>",
    "tool_calls": "tool_calls tool_call tool_use function_call FUNCTION_CALL function_calls toolUse",
    "length": "length LENGTH max_tokens MAX_TOKENS maxTokens max_output_tokens max_completion_tokens model_length "
    "model_context_window_exceeded context_length_exceeded token_limit max_length ERROR_LIMIT limit max_output",
    "refusal": "content_filter content-filter content_filtered refusal SAFETY IMAGE_SAFETY RECITATION BLOCKLIST SPII "
    "PROHIBITED_CONTENT sensitive guardrail_intervened ERROR_TOXIC moderation",
    "broken": "error ERROR network_error insufficient_system_resource abort aborted cancelled USER_CANCEL repetition "
    "malformed_function_call MALFORMED_FUNCTION_CALL malformed_model_output malformed_tool_use unexpected_tool_call "
    "TOO_MANY_TOOL_CALLS missing_thought_signature failed timeout time_limit overloaded rate_limit engine_failure "
    "tool_use_failed",
    "unknown": "something_new other OTHER language compaction FINISH_REASON_UNSPECIFIED 7 not_finished",
}


@each(("ending", "word"), [(ending, word) for ending, words in WORDS.items() for word in words.split()])
def test_a_finish_reason_is_told_by_its_meaning(ending, word):
    assert ending_of(word) == (ending, word if ending in {"broken", "unknown"} else "")


@each("word", [None, "", "  ", "null", "None", "NULL"])
def test_a_finish_reason_may_say_nothing(word):
    assert ending_of(word) is None


def end(*said: str | bool) -> Decoder:
    """An end of which this is said, in order; True is more of the answer."""
    found = Decoder()
    for word in said:
        if word is True:
            found.goes_on = found.finished is not None
        else:
            found.ends(word)
    return found


@each(
    ("said", "finished", "is_whole"),
    [
        ((), None, False),
        (("stop",), "stop", True),
        (("stop", True), "stop", False),
        (("stop", True, "tool_calls"), "tool_calls", True),
        (("tool_calls", "stop"), "tool_calls", True),
        (("length", "stop"), "length", True),
        (("length", True, "stop"), "stop", True),
        (("stop", "content_filter"), "refusal", True),
        (("stop", None, ""), "stop", True),
    ],
)
def test_the_last_finish_reason_that_says_more_counts(said, finished, is_whole):
    found = end(*said)
    assert (found.finished, found.is_whole) == (finished, is_whole)


def test_an_end_that_is_not_known_keeps_its_word():
    assert end("something_new").last_event(CHOICE) == Finished("unknown", "something_new")
    assert end("stop").last_event(CHOICE) == Finished("stop")


def test_an_answer_that_ended_badly_is_a_failure():
    with pytest.raises(ProviderStatusError, match="network_error"):
        end("network_error").last_event(CHOICE)
    with pytest.raises(ProviderConnectionError, match="broke off"):
        end().last_event(CHOICE)
