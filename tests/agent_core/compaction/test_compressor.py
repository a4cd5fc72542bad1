"""When a conversation is compressed, by which means, and when it is left alone."""

from __future__ import annotations

import pytest

from agent_core.compaction.compactor import ContextCompressor
from agent_core.compaction.engine import CompressionRequest, Prose, WindowUse
from agent_core.compaction.tokens import TokenMeter
from agent_core.compaction.view import shown
from agent_core.errors import TurnInterrupted
from agent_core.messages import assistant_message, repaired, text_of, user_message
from agent_core.model_request.history_filter import Omissions
from agent_core.settings.sections import CompressionPart
from tests.support.histories import long_history

PROSE = "### Done\nThe order list was sorted; its tests pass.\n### Next\nThe port is still to be changed to 8443."
RUBBISH = [None, "", "I'm sorry, I can't.", '{"a": 1}', "x " * 99_000, "again and again, the same\n" * 99, "<system>"]
FIXED = 3_000
measure = TokenMeter().measure("p:m")


def request_of(messages, window, reason="preflight", before=None, **options):
    tokens = FIXED + measure(shown(messages, Omissions(), before))
    return CompressionRequest(messages, before, WindowUse(tokens, FIXED, window), measure, reason, **options)


def write(text):
    return lambda _: None if text is None else Prose(text, "p:small")


def view(messages, made):
    return list(shown(messages, Omissions(), made.compaction))


@pytest.fixture(scope="module")
def messages():
    return long_history(300)


@pytest.fixture
def engine():
    return ContextCompressor(session_id="s", clock=lambda: 12.0)


def test_it_is_due_from_the_threshold_on_of_what_the_answer_leaves(engine):
    assert not engine.is_due(WindowUse(74_000, FIXED, 100_000))
    assert engine.is_due(WindowUse(75_000, FIXED, 100_000))
    assert engine.is_due(WindowUse(60_000, FIXED, 100_000, reserved=20_000))
    assert not engine.is_due(WindowUse(30_000, FIXED, 100_000, reserved=90_000))
    assert ContextCompressor(CompressionPart(threshold=0.5)).is_due(WindowUse(50_000, FIXED, 100_000))


def test_where_the_window_is_not_known_nothing_is_due_until_a_request_was_refused(engine, messages):
    use = request_of(messages, 0).use
    assert not engine.is_due(use)
    made = engine.compress(request_of(messages, 0, "overflow"), write(PROSE))
    assert made.compaction.tokens_after < 0.6 * use.tokens
    assert engine.is_due(use)
    assert not engine.is_due(WindowUse(made.compaction.tokens_after, FIXED, 0))


def test_shortening_old_results_is_enough_where_that_makes_room(engine, messages):
    size = request_of(messages, 0).use.tokens
    made = engine.compress(request_of(messages, int(size * 1.3)), lambda _: pytest.fail("no model is asked"))
    assert made.compaction.summary == ""
    assert made.compaction.results
    assert made.warning == ""
    assert made.compaction.tokens_after < 0.6 * size
    seen = view(messages, made)
    assert len(seen) == len(messages)
    assert repaired(seen) == seen
    assert seen[-4:] == messages[-4:]


def test_else_a_record_takes_the_place_of_the_middle(engine, messages):
    made = engine.compress(request_of(messages, 40_000), write(PROSE))
    seen, compaction = view(messages, made), made.compaction
    assert seen[0] == messages[0]
    assert "The order list was sorted" in compaction.summary
    assert (compaction.made_by, compaction.prose, made.warning) == ("p:small", PROSE, "")
    assert (compaction.reason, compaction.created_at) == ("preflight", 12.0)
    assert compaction.tokens_after < 0.75 * 40_000 * 0.8
    assert compaction.tokens_after == pytest.approx(FIXED + measure(seen), abs=5)
    assert seen[-1] == messages[-1]
    assert repaired(seen) == seen


@pytest.mark.parametrize("answer", RUBBISH)
def test_whatever_the_model_writes_the_facts_are_there_and_the_person_is_told(engine, messages, answer):
    made = engine.compress(request_of(messages, 40_000), write(answer))
    good = ContextCompressor(session_id="s").compress(request_of(messages, 40_000), write(PROSE))
    assert made.compaction.summary == good.compaction.summary.replace(
        f"## The work so far, as a model has summed it up\n{PROSE}\n\n", ""
    )
    assert (made.compaction.prose, made.compaction.made_by) == ("", "")
    assert made.warning.startswith("No model could sum up")
    assert "/srv/shop/app/part" in made.compaction.summary


def test_a_second_record_goes_on_from_the_first_and_loses_no_fact(engine):
    messages = [user_message("Begin."), assistant_message("Yes."), user_message("Ticket SHOP-311, port 8443.")]
    messages += [assistant_message("Noted."), *long_history(200, "one")]
    first = engine.compress(request_of(messages, 30_000), write(PROSE)).compaction
    assert "SHOP-311" in first.summary
    more = [*messages, assistant_message("Done."), *renamed(long_history(200, "two"))]
    asked = []

    def remember(question):
        asked.append(question[-1]["content"])
        return Prose(PROSE.replace("order list", "invoice list"), "p:small")

    second = engine.compress(request_of(more, 30_000, before=first), remember).compaction
    assert PROSE in asked[0]
    assert "SHOP-311" not in asked[0]
    assert "SHOP-311" in second.summary
    assert "invoice list" in second.summary
    assert second.up_to > first.up_to
    without = engine.compress(request_of(more, 20_000, before=first, reason="asked"), write(None))
    assert without.compaction.prose == PROSE
    assert without.warning


def renamed(messages):
    for message in messages:
        for call in message.get("tool_calls", ()):
            call["id"] = f"two_{call['id']}"
        if "tool_call_id" in message:
            message["tool_call_id"] = f"two_{message['tool_call_id']}"
    return messages


def test_a_refused_request_becomes_ever_smaller(engine, messages):
    made, before, sizes = None, None, []
    for _ in range(3):
        asked = request_of(messages, 0, "overflow", before)
        made = engine.compress(asked, write(None))
        assert made.compaction.tokens_after <= 0.62 * asked.use.tokens or made.compaction.tokens_after < FIXED + 1_500
        before = made.compaction
        sizes.append(before.tokens_after)
        assert repaired(view(messages, made)) == view(messages, made)
    assert sizes == sorted(sizes, reverse=True)


def test_the_persons_last_words_are_kept_where_the_work_on_them_fills_the_window(engine):
    rest = [message for message in long_history(200) if message["role"] != "user"]
    messages = [user_message("old"), assistant_message("yes"), user_message("Do THIS now."), *rest]
    made = engine.compress(request_of(messages, 20_000), write(PROSE))
    seen = view(messages, made)
    assert made.compaction.kept == (2,)
    assert messages[2] in seen
    assert repaired(seen) == seen


def test_last_words_that_are_too_large_are_cut_in_the_middle(engine):
    messages = [user_message("old"), assistant_message("yes"), user_message("BEGIN " + "word " * 60_000 + "END.")]
    made = engine.compress(request_of(messages, 20_000), write(PROSE))
    text = text_of(view(messages, made)[-1]["content"])
    assert text.startswith("BEGIN")
    assert text.endswith("END.")
    assert "characters left out" in text
    assert made.compaction.tokens_after < 15_000


def test_asked_for_it_records_what_is_there_with_its_topic(engine, messages):
    made = engine.compress(request_of(messages, 10_000_000, "asked", topic="the port"), write(PROSE))
    assert made.compaction.topic == "the port"
    assert "kept above all: the port" in made.compaction.summary


def test_where_there_is_nothing_to_gain_nothing_happens(engine):
    messages = [user_message("Hello."), assistant_message("Hello."), user_message("Go on.")]
    assert engine.compress(request_of(messages, 100_000, "asked"), write(PROSE)) is None
    assert engine.compress(request_of(messages, 4_000, "overflow"), write(PROSE)) is None


def test_passes_that_gain_nothing_are_not_repeated_and_end_with_a_word(engine):
    messages = [user_message("Hello."), assistant_message("Hello. " * 20), user_message("Go on. " * 20)]
    due = WindowUse(90_000, 89_900, 100_000)
    assert engine.is_due(due)
    asked = CompressionRequest(messages, None, due, measure)
    assert engine.compress(asked, write(PROSE)) is None
    assert not engine.is_due(WindowUse(95_000, 89_900, 100_000))
    grown = WindowUse(99_500, 89_900, 100_000)
    assert engine.is_due(grown)
    engine.compress(CompressionRequest(messages, None, grown, measure), write(PROSE))
    assert not engine.is_due(WindowUse(130_000, 89_900, 100_000))


def test_another_model_is_measured_by_its_own_window(engine, messages):
    use = request_of(messages, 0).use
    engine.compress(request_of(messages, 0, "overflow"), write(PROSE))
    engine.switched(10_000_000)
    assert not engine.is_due(WindowUse(use.tokens, FIXED, 10_000_000))
    engine.switched(8_000)
    assert engine.is_due(WindowUse(7_000, FIXED, 8_000))


def test_prose_stays_where_no_window_is_known_and_system_prompt_and_tools_are_the_most_of_it(engine):
    messages = long_history(40)
    size = measure(messages)
    use = WindowUse(size + 20 * size, 20 * size, 0)
    made = engine.compress(CompressionRequest(messages, None, use, measure, "asked"), write(PROSE))
    assert made.compaction.prose == PROSE
    assert made.compaction.tokens_after < use.tokens


def test_another_model_with_the_same_window_may_take_what_the_last_one_refused(engine, messages):
    use = request_of(messages, 0).use
    engine.switched(10_000_000)
    engine.compress(request_of(messages, 10_000_000, "overflow"), write(PROSE))
    assert engine.is_due(WindowUse(use.tokens, FIXED, 10_000_000))
    engine.switched(10_000_000)
    assert not engine.is_due(WindowUse(use.tokens, FIXED, 10_000_000))


def test_a_cancel_while_the_model_writes_changes_nothing(engine, messages):
    def cancelled(_):
        raise TurnInterrupted

    with pytest.raises(TurnInterrupted):
        engine.compress(request_of(messages, 40_000), cancelled)
    assert engine.compress(request_of(messages, 40_000), write(PROSE)) is not None


def test_the_same_conversation_becomes_the_same_record(messages):
    one, two = (ContextCompressor(session_id="s", clock=lambda: 1.0) for _ in range(2))
    assert one.compress(request_of(messages, 40_000), write(PROSE)) == two.compress(
        request_of(messages, 40_000), write(PROSE)
    )


def test_the_question_fits_the_window_of_the_model_that_sums_up(engine, messages):
    asked = []

    def summarise(question):
        asked.append(sum(len(message["content"]) for message in question))
        return Prose(PROSE, "p:small")

    for window in (4_000, 16_000):
        request = request_of(messages, 60_000, "asked", summary_window=window)
        ContextCompressor(session_id="s").compress(request, summarise)
    small, large = asked
    assert small < 0.4 * 4_000 * 3 + 2_000
    assert small < large < 0.4 * 16_000 * 3 + 2_000
