"""What of the history a model is shown."""

from __future__ import annotations

import pytest

from agent_core.compaction.view import shown
from agent_core.messages import assistant_message, text_of, tool_call, tool_message, user_message
from agent_core.model_request.history_filter import (
    Omissions,
    has_images,
    has_sealed,
    rough_tokens,
)
from tests.support.agents import tool_contents

PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
DOCUMENT = {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"}}
SEALED = {"api_mode": "m", "provider": "p", "model": "x", "items": [{"signature": "s"}]}


def conversation(results):
    """A conversation whose tool results have these lengths."""
    messages = [user_message("begin")]
    for number, length in enumerate(results):
        call = tool_call(f"call-{number}", "read_file", "{}")
        messages += [assistant_message("", [call]), tool_message(call, "x" * length)]
    return messages


def test_a_history_without_omissions_is_shown_as_it_is():
    messages = conversation([1000, 1000])
    assert shown(messages, Omissions()) is messages


def test_a_result_that_is_left_out_says_how_much_is_missing_and_the_history_stays_whole():
    messages, omissions = conversation([12345, 5, 5]), Omissions({"call-0"})
    first = tool_contents(shown(messages, omissions))[0]
    assert first == (
        "[Left out to make room: 12,345 characters that read_file gave. Call it again if you need them.]"
    )
    assert tool_contents(messages)[0] == "x" * 12345
    assert tool_contents(shown(messages, omissions))[1:] == tool_contents(messages)[1:]


def test_a_result_with_images_that_is_left_out_tells_of_them_also_without_its_tools_name():
    call = tool_call("call-0", "read_file", "{}")
    result = tool_message(call, [{"type": "text", "text": "four"}, PICTURE])
    del result["name"]
    ((_, _, left_out), (_, _, other)) = (
        shown([user_message("x"), assistant_message("", [call]), result], Omissions({name}))
        for name in ("call-0", "call-1")
    )
    assert left_out["content"].startswith("[Left out to make room: 4 characters and images that the tool gave. ")
    assert other == result


def test_what_is_shown_is_the_same_each_time():
    messages, omissions = conversation([1000, 1000, 1000, 1000]), Omissions({"call-0", "call-1"})
    assert shown(messages, omissions) == shown(messages, omissions)


def test_sealed_reasoning_is_left_out_before_a_position_only():
    first, second = assistant_message("a"), assistant_message("b")
    first["sealed"] = second["sealed"] = SEALED
    messages = [user_message("x"), first, user_message("y"), second]
    assert has_sealed(messages, Omissions())
    seen = shown(messages, Omissions(sealed_before=3))
    assert ["sealed" in message for message in seen] == [False, False, False, True]
    assert "sealed" in first
    assert not has_sealed(messages, Omissions(sealed_before=4))
    assert not has_sealed([user_message("x")], Omissions())


def test_what_came_after_a_withdrawn_turn_was_never_refused():
    omissions = Omissions(sealed_before=9, images_before=7)
    omissions.shorten(8)
    assert (omissions.sealed_before, omissions.images_before) == (8, 7)


def test_images_are_replaced_by_a_note_before_a_position_only():
    messages = [user_message([{"type": "text", "text": "look"}, PICTURE]), user_message([PICTURE])]
    assert has_images(messages, Omissions())
    before, after = shown(messages, Omissions(images_before=1))
    assert [part["type"] for part in before["content"]] == ["text", "text"]
    assert "did not take it" in before["content"][1]["text"]
    assert after["content"] == [PICTURE]
    assert not has_images(messages, Omissions(images_before=2))


def test_documents_are_left_out_together_with_the_images_and_named():
    messages = [user_message([{"type": "text", "text": "look"}, DOCUMENT, PICTURE])]
    assert has_images([user_message([DOCUMENT])], Omissions())
    assert not has_images([user_message([{"type": "text", "text": "look"}])], Omissions())
    (seen,) = shown(messages, Omissions(images_before=1))
    first, document, picture = (part["text"] for part in seen["content"])
    assert first == "look"
    assert document == "[A document was here, a.pdf. The model's server did not take it.]"
    assert picture == "[An image was here. The model's server did not take it.]"
    assert messages[0]["content"][1] == DOCUMENT


@pytest.mark.parametrize(("messages", "tokens"), [([], 0), (conversation([4000]), 1001)])
def test_a_rough_size_is_a_quarter_of_the_characters(messages, tokens):
    assert rough_tokens(messages) == tokens


def test_a_recording_that_was_refused_leaves_a_note() -> None:
    recording = {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}
    (message,) = shown([user_message([recording])], Omissions(images_before=1))
    assert text_of(message["content"]) == "[A recording was here. The model's server did not take it.]"
