"""What the model is shown of a compressed history."""

from __future__ import annotations

import json

from agent_core.compaction.engine import Compaction
from agent_core.compaction.view import BRIDGE, shown
from agent_core.messages import assistant_message, repaired, tool_call, tool_message, user_message
from agent_core.model_request.history_filter import Omissions

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}


def round_of(number, result="found " * 50):
    call = tool_call(f"call_{number}", "read_file", json.dumps({"path": f"a{number}.py"}))
    return [assistant_message("", [call]), tool_message(call, result)]


def history():
    return [
        user_message("first"),
        *round_of(1),
        assistant_message("one done"),
        user_message("second"),
        *round_of(2),
        assistant_message("two done"),
        user_message("third"),
    ]


def view(messages, compaction):
    return list(shown(messages, Omissions(), compaction))


def test_without_a_compression_the_history_is_shown_as_it_is():
    messages = history()
    assert shown(messages, Omissions(), None) is messages


def test_a_summary_stands_between_head_and_tail_in_the_persons_place_and_the_sides_alternate():
    messages = history()
    seen = view(messages, Compaction(head=1, up_to=5, summary="RECORD"))
    assert [message["content"] for message in seen[:3]] == ["first", BRIDGE, "RECORD"]
    assert seen[2]["injected"]
    assert seen[3:] == messages[5:]
    assert repaired(seen) == seen


def test_a_tail_that_begins_with_the_person_is_bridged():
    messages = history()
    seen = view(messages, Compaction(head=0, up_to=4, summary="RECORD"))
    assert [message["content"] for message in seen[:3]] == ["RECORD", BRIDGE, "second"]
    assert repaired(seen) == seen


def test_what_is_kept_of_the_replaced_part_stands_behind_the_summary():
    messages = history()
    seen = view(messages, Compaction(head=1, up_to=5, summary="RECORD", kept=(4,)))
    assert [message["content"] for message in seen[2:5]] == ["RECORD", BRIDGE, "second"]
    assert seen[5:] == messages[5:]
    assert repaired(seen) == seen


def test_a_summary_of_everything_is_followed_by_what_comes_later():
    messages = history()[:8]
    compaction = Compaction(head=1, up_to=8, summary="RECORD")
    before = view(messages, compaction)
    after = view([*messages, user_message("later")], compaction)
    assert after[: len(before)] == before
    assert [message["content"] for message in after[-2:]] == [BRIDGE, "later"]


def test_results_and_arguments_are_shown_as_they_were_put_down():
    messages = history()
    compaction = Compaction(1, 1, "", results={"call_1": "[line]"}, arguments={"call_2": '{"path": "a"}'})
    seen = view(messages, compaction)
    assert seen[2]["content"] == "[line]"
    assert seen[5]["tool_calls"][0]["function"] == {"name": "read_file", "arguments": '{"path": "a"}'}
    assert [position for position, (a, b) in enumerate(zip(seen, messages, strict=True)) if a != b] == [2, 5]


def test_images_go_from_the_part_behind_the_head_only():
    messages = [user_message([IMAGE]), assistant_message("a"), user_message([IMAGE]), assistant_message("b")]
    seen = view([*messages, user_message([IMAGE])], Compaction(1, 1, "", images_before=4))
    assert [message["content"] for message in seen[::2]] == [
        [IMAGE],
        [{"type": "text", "text": "[An image was here. It was left out to make room.]"}],
        [IMAGE],
    ]


def test_other_attachments_go_by_their_names():
    document = {"type": "file", "file": {"filename": "plan.pdf", "file_data": "data:application/pdf;base64,AA=="}}
    audio = {"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}}
    (seen,) = view([user_message([document, audio])], Compaction(0, 0, "", images_before=1))
    assert [part["text"].partition(" was")[0] for part in seen["content"]] == ["[A document", "[A recording"]
    assert "plan.pdf" in seen["content"][0]["text"]


def test_sealed_reasoning_behind_a_changed_place_is_not_shown():
    def sealed():
        items = {"api_mode": "m", "provider": "p", "model": "m", "items": []}
        return {**assistant_message("a"), "sealed": items}

    messages = [user_message("u"), sealed(), user_message("u"), sealed(), user_message("u"), sealed()]
    seen = view(messages, Compaction(head=2, up_to=2, summary="", sealed_before=4))
    assert ["sealed" in message for message in seen[1::2]] == [True, False, True]
    seen = view(messages, Compaction(head=0, up_to=0, summary="", sealed_before=3))
    assert ["sealed" in message for message in seen[1::2]] == [False, True, True]


def test_a_message_that_is_cut_shows_both_ends():
    messages = [user_message("a" * 500 + "z" * 500)]
    (seen,) = view(messages, Compaction(0, 0, "", cuts={0: 100}))
    assert seen["content"].startswith("aaa")
    assert seen["content"].endswith("zzz")
    assert "900 characters left out" in seen["content"]
    assert len(seen["content"]) < 200
    parts = [user_message([{"type": "text", "text": "a" * 900}, IMAGE, {"type": "text", "text": "b" * 100}])]
    (seen,) = view(parts, Compaction(0, 0, "", cuts={0: 200}))
    assert seen["content"][1] == IMAGE
    assert len(seen["content"][0]["text"]) < 280
    assert seen["content"][2]["text"].endswith("bbb")


def test_a_message_without_text_has_nothing_to_cut():
    messages = [user_message([{"type": "text", "text": ""}, IMAGE])]
    assert view(messages, Compaction(0, 0, "", cuts={0: 0})) == messages


def test_a_compression_of_more_than_there_is_counts_for_nothing():
    messages = history()[:3]
    assert view(messages, Compaction(1, 5, "RECORD")) == messages


def test_what_a_server_refused_stays_left_out():
    messages = history()
    seen = list(shown(messages, Omissions(results={"call_2"}), Compaction(1, 4, "RECORD")))
    assert "Left out to make room" in seen[-3]["content"]
