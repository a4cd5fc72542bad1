"""Thoughts within an answer's text, as far as one text tells."""

from __future__ import annotations

from agent_core.model_request.answer_text import ThoughtReader
from tests.support.each import each


def read(text, size, **how):
    """The thoughts, the words, and what the text has shown, with the text in pieces of `size`."""
    reader, found = ThoughtReader(**how), []
    for start in range(0, len(text), size):
        found += reader.feed(text[start : start + size])
    thoughts = words = ""
    for kind, piece in [*found, *reader.close()]:
        match kind:
            case "thoughts":
                thoughts += piece
            case "words":
                words += piece
            case "were_thoughts":
                thoughts, words = (words + piece).rstrip(), ""
            case "were_words":
                thoughts, words = "", piece
    return thoughts, words, reader.knows


HEAD = "<|start|>assistant<|channel|>final<|message|>"
TEXTS = [
    ("<think>\nhm\n</think>\n\nYes.", ("hm", "Yes.", None)),
    ("\n <THINK>hm</Think>Yes.", ("hm", "Yes.", None)),
    ("<thinking>hm</thinking>Yes.", ("hm", "Yes.", None)),
    ("<thought>hm</thought>Yes.", ("hm", "Yes.", None)),
    ("<reasoning>hm</reasoning>Yes.", ("hm", "Yes.", None)),
    ("<seed:think>hm</seed:think>Yes.", ("hm", "Yes.", None)),
    ("[THINK]hm[/THINK]Yes.", ("hm", "Yes.", None)),
    ("◁think▷hm◁/think▷Yes.", ("hm", "Yes.", None)),
    ("<|START_THINKING|>hm<|END_THINKING|>Yes.", ("hm", "Yes.", None)),
    ("<|inner_prefix|>hm<|inner_suffix|>Yes.", ("hm", "Yes.", None)),
    (f"<|channel|>analysis<|message|>hm<|end|>{HEAD}Yes.", ("hm", "Yes.", None)),
    ("<|channel>thought\nhm\n<channel|>Yes.", ("hm", "Yes.", None)),
    ("<think>a</think>\n<think>b</think>\nYes.", ("ab", "Yes.", None)),
    ("<think></think>Yes.", ("", "Yes.", None)),
    ("<think>never closed", ("never closed", "", None)),
    ("<think>I call `foo`</think>Yes.", ("I call `foo`", "Yes.", None)),
    ("<think>its tag `</think>` ends it</think>Yes.", ("its tag `</think>` ends it", "Yes.", None)),
    ("<think>hm</think>Write `<think>` and </think>.", ("hm", "Write `<think>` and </think>.", None)),
    ("Hm, let me see.\n</think>\n\nYes.", ("Hm, let me see.", "Yes.", True)),
    ("1. Two\n2. Three.</think>391", ("", "1. Two\n2. Three.</think>391", None)),
    ("İ hm\n</think>", ("İ hm", "", True)),
    ("İ hm\n </think> \nYes.", ("İ hm", "Yes.", True)),
    ("Such a line:\n</think> ends it.", ("", "Such a line:\n</think> ends it.", None)),
    ("Such:\n~~~xml\n</think>\n~~~\n", ("", "Such:\n~~~xml\n</think>\n~~~\n", None)),
    ("Such:\n````\n```\n</think>\n````\n", ("", "Such:\n````\n```\n</think>\n````\n", None)),
    ("Such: `\n</think>\n`.", ("", "Such: `\n</think>\n`.", None)),
    ("<think>hm</think>", ("hm", "", None)),
    ("<thinking>hm</thinking>\n", ("", "<thinking>hm</thinking>", None)),
    ("\n<reasoning>a\nb </reasoning>", ("", "<reasoning>a\nb </reasoning>", None)),
    ("<thought>a</thought><thought>b</thought>", ("ab", "", None)),
    ("<thoughts>hm", ("hm", "", None)),
    ("  Yes.\n", ("", "  Yes.\n", None)),
    ("<thin ice>", ("", "<thin ice>", None)),
    ("<thi", ("", "<thi", None)),
    (
        "The tags `<think>` and `</think>` hold thoughts.",
        ("", "The tags `<think>` and `</think>` hold thoughts.", None),
    ),
    ("It ends with `</think>`, always.", ("", "It ends with `</think>`, always.", None)),
    ("It ends with </think>, always.", ("", "It ends with </think>, always.", None)),
    (
        "Such a line:\n```\n</think>\n```\nNothing more.",
        ("", "Such a line:\n```\n</think>\n```\nNothing more.", None),
    ),
    ("Such a line:\n\n    </think>\n\nNothing more.", ("", "Such a line:\n\n    </think>\n\nNothing more.", None)),
    ("Write <think>\nhm\n</think>\nto think.", ("", "Write <think>\nhm\n</think>\nto think.", None)),
]


@each(("text", "expected"), TEXTS)
def test_thoughts_are_told_from_words_wherever_the_text_is_cut(text, expected):
    assert {read(text, size) for size in range(1, len(text) + 1)} == {expected}


@each(
    ("text", "expected"),
    [
        ("hm\n</think>\n\nYes.", ("hm", "Yes.", True)),
        ("<think>hm</think>Yes.", ("hm", "Yes.", None)),
        ("Hm.</think>Yes.", ("Hm.", "Yes.", True)),
        ("It ends with </think>, always.", ("", "It ends with </think>, always.", False)),
        ("So:\n```\n</think>\n```\n", ("", "So:\n```\n</think>\n```\n", False)),
        ("Yes, at once.", ("", "Yes, at once.", False)),
        ("  ", ("", "  ", None)),
    ],
)
def test_where_thoughts_are_assumed_they_end_with_their_tag_or_were_words(text, expected):
    assert {read(text, size, assumed=True) for size in range(1, len(text) + 1)} == {expected}


def test_assumed_thoughts_that_the_limit_cut_off_were_words_and_tell_nothing():
    reader = ThoughtReader(assumed=True)
    assert [*reader.feed("hm, and"), *reader.close(cut=True)] == [("thoughts", "hm, and"), ("were_words", "hm, and")]
    assert reader.knows is None


def test_an_element_that_comes_with_calls_is_thoughts():
    reader = ThoughtReader()
    assert [*reader.feed("<thinking>hm</thinking>"), *reader.close(calls=True)] == [("thoughts", "hm")]


def test_a_closing_tag_alone_is_a_word_where_no_such_thoughts_are_expected():
    text = "a\n</think>\nb"
    assert {read(text, size, only_ended=False) for size in range(1, len(text) + 1)} == {("", text, None)}


def test_thoughts_are_given_out_as_they_come():
    reader = ThoughtReader()
    assert reader.feed("<think>one ") == [("thoughts", "one")]
    assert reader.feed("two</th") == [("thoughts", " two")]
    assert reader.feed("ink>\nYes") == [("words", "Yes")]
    assert reader.feed(" and") == [("words", " and")]


def test_a_text_is_not_held_back_for_a_tag_that_it_cannot_become():
    reader = ThoughtReader()
    assert reader.feed("a < b") == [("words", "a < b")]
    assert reader.feed(" </") == [("words", " ")]
    assert reader.feed("div>") == [("words", "</div>")]


def test_where_the_server_marks_its_thoughts_a_closing_tag_is_a_word():
    reader = ThoughtReader(assumed=True)
    reader.marked()
    assert [*reader.feed("a\n</think>\nb"), *reader.close()] == [("words", "a\n</think>\nb")]
