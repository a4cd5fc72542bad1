"""What a compression could look like, from mild to severe."""

from __future__ import annotations

from agent_core.compaction.compactor import Drafting
from agent_core.compaction.engine import Compaction
from agent_core.compaction.view import group_starts, shown
from agent_core.messages import assistant_message, injected_message, text_of, tool_call, tool_message, user_message
from agent_core.model_request.history_filter import Omissions
from tests.support.each import each


def measure(messages):
    """A token a character of text."""
    return sum(len(text_of(message["content"])) for message in messages)


def round_of(call_id, size=1000, arguments="{}"):
    call = tool_call(call_id, "read_file", arguments)
    return [assistant_message("", [call]), tool_message(call, call_id * size)]


def history():
    """Three prompts; the groups begin at 0, 1, 3, 4, 5, 7, 8, 9."""
    return [
        user_message("first"),
        *round_of("a"),
        assistant_message("done a"),
        user_message("second"),
        *round_of("b", arguments='{"text": "%s"}' % ("t" * 900)),
        assistant_message("done b"),
        user_message("third"),
        *round_of("c"),
    ]


def drafting(messages, before=None, head=1, least=1):
    return Drafting(messages, before, measure, group_starts(messages), head, least)


def test_a_mild_one_shortens_what_is_between_head_and_tail():
    messages = history()
    made = drafting(messages).mild(1010)
    assert (made.head, made.up_to, made.summary) == (1, 1, "")
    assert set(made.results) == {"a", "b"}
    assert set(made.arguments) == {"b"}
    # The last words and what came after them keep their pictures, sealed thoughts go.
    assert (made.images_before, made.sealed_before) == (8, 11)
    assert drafting(messages).mild(1000).images_before == 8
    assert set(drafting(messages).mild(3000).results) == {"a"}
    assert drafting(messages).mild(9000).results == {}
    assert drafting(messages).mild(9000).images_before == 1


def test_a_mild_one_keeps_pictures_from_its_end_on_where_the_person_has_said_nothing():
    messages = [injected_message("news"), *round_of("a"), assistant_message("done"), *round_of("b")]
    assert drafting(messages).mild(1000).images_before == 4


def test_a_mild_one_goes_on_from_what_was_put_down_before():
    before = Compaction(1, 4, "RECORD", results={"b": "[as before]"}, arguments={"b": "{}"}, images_before=9)
    made = drafting(history(), before).mild(1010)
    assert (made.head, made.up_to, made.summary, made.images_before) == (1, 4, "RECORD", 9)
    assert made.results == {"b": "[as before]"}
    assert made.arguments == {"b": "{}"}


def test_sizes_are_of_what_the_model_would_be_shown():
    messages = history()
    drafts = drafting(messages)
    whole = measure(messages)
    assert drafts.size(None) == whole
    mild = drafts.mild(1010)
    assert drafts.size(mild) == measure(shown(messages, Omissions(), mild)) < whole


def test_a_severe_one_replaces_all_between_head_and_tail():
    made = drafting(history()).severe(1010, 0)
    assert (made.head, made.up_to, made.summary, made.kept) == (1, 8, "-", ())
    assert (made.images_before, made.sealed_before) == (8, 11)
    assert (made.results, made.arguments, made.cuts) == ({}, {}, {})


def test_the_last_words_are_kept_where_the_tail_begins_behind_them():
    made = drafting(history()).severe(1000, 0)
    assert (made.up_to, made.kept) == (9, (8,))
    assert drafting(history(), head=9).severe(1000, 0).kept == ()
    assert drafting([user_message("go"), *round_of("a"), *round_of("b")], head=0).severe(1000, 0).kept == (0,)


def test_where_nothing_lies_between_nothing_is_replaced():
    made = drafting(history(), head=9).severe(1000, 0)
    assert (made.head, made.up_to, made.summary) == (9, 9, "")


def test_a_severe_one_never_replaces_less_than_the_record_before():
    before = Compaction(1, 8, "RECORD", results={"a": "[a]", "c": "[c]"}, arguments={"b": "{}", "c": "{}"})
    made = drafting(history(), before).severe(9000, 0)
    assert (made.head, made.up_to) == (1, 8)
    assert (made.results, made.arguments) == ({"c": "[c]"}, {"c": "{}"})
    assert made.images_before == 8
    later = Compaction(1, 4, "RECORD", images_before=10)
    assert drafting(history(), later).severe(9000, 0).images_before == 10
    assert drafting(history(), Compaction(1, 11, "RECORD")).severe(9000, 1).up_to == 11
    # One without a record has replaced nothing.
    assert drafting(history(), Compaction(1, 8, "")).severe(9000, 0).up_to == 1


@each(("level", "results"), [(0, set()), (1, {"a", "b"}), (2, {"a", "b"})])
def test_from_level_one_on_older_results_of_the_tail_become_lines(level, results):
    assert set(drafting(history(), head=0).severe(9000, level).results) == results


@each(("level", "start"), [(0, 5), (1, 7), (2, 7)])
def test_from_level_one_on_no_number_of_messages_is_protected(level, start):
    assert drafting(history(), least=5).severe(1500, level).up_to == start


@each(("level", "cuts"), [(0, {}), (1, {0: 1500, 2: 1500})])
def test_large_messages_are_cut(level, cuts):
    messages = [user_message("h" * 5000), assistant_message("d" * 5000), user_message("w" * 5000)]
    made = drafting(messages).severe(1000, level)
    assert (made.up_to, made.cuts) == (2, cuts)


def test_the_last_words_are_cut_also_where_they_belong_to_the_head():
    messages = [user_message("w" * 5000), assistant_message("d" * 1500)]
    assert drafting(messages).severe(1000, 1).cuts == {0: 1500}


def test_a_cut_never_shows_more_than_the_one_before():
    messages = [user_message("w" * 5000)]
    before = Compaction(0, 0, "", cuts={0: 450, 7: 9})
    assert drafting(messages, before, head=0).severe(1000, 0).cuts == {0: 450}
    assert drafting(messages, before, head=0).severe(1000, 1).cuts == {0: 450}
    assert drafting(messages, before, head=0).severe(10, 1).cuts == {0: 400}
    assert drafting(messages, None, head=0).severe(10, 1).cuts == {0: 400}
    head = [injected_message("h" * 5000), user_message("w" * 5000)]
    assert drafting(head, Compaction(1, 1, "", cuts={0: 450})).severe(1000, 1).cuts == {0: 450, 1: 1500}
    assert drafting([user_message("w" * 400)], None, head=0).severe(10, 1).cuts == {}
