"""An update of a card holds only what the editor has not been sent yet."""

from __future__ import annotations

from typing import Any

import pytest

from acp_adapter.card_fields import CardFields

TEXT = [{"type": "content", "content": {"type": "text", "text": "a"}}]


def _create(**fields: Any) -> dict[str, Any]:
    return {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "Run", "status": "pending", **fields}


def _update(**fields: Any) -> dict[str, Any]:
    return {"sessionUpdate": "tool_call_update", "toolCallId": "c", **fields}


@pytest.fixture
def cards() -> CardFields:
    made = CardFields()
    assert made.trim(_create()) == _create()
    return made


def test_what_is_no_card_goes_as_it_is() -> None:
    text = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "a"}}
    assert CardFields().trim(text) is text


def test_fields_that_are_as_they_were_are_left_out(cards: CardFields) -> None:
    assert cards.trim(_update(title="Run", status="in_progress")) == _update(status="in_progress")


def test_an_update_with_nothing_new_is_not_sent(cards: CardFields) -> None:
    assert cards.trim(_update(title="Run", status="pending")) is None


def test_meta_always_goes(cards: CardFields) -> None:
    update = _update(title="Run", _meta={"terminal_output": {"data": "x"}})
    assert cards.trim(update) == _update(_meta={"terminal_output": {"data": "x"}})
    assert cards.trim(update) == _update(_meta={"terminal_output": {"data": "x"}})


def test_content_goes_again_once_it_was_another(cards: CardFields) -> None:
    assert cards.trim(_update(content=TEXT)) == _update(content=TEXT)
    assert cards.trim(_update(content=[])) == _update(content=[])
    assert cards.trim(_update(content=TEXT)) == _update(content=TEXT)
    assert cards.trim(_update(content=TEXT)) is None


def test_what_a_question_put_on_the_card_is_taken_back_afterwards(cards: CardFields) -> None:
    cards.fold({"toolCallId": "c", "title": "Run (it deletes)", "status": "pending"})
    assert cards.trim(_update(title="Run", status="in_progress")) == _update(title="Run", status="in_progress")


def test_what_a_question_showed_goes_again_since_not_every_editor_keeps_it_on_the_card(cards: CardFields) -> None:
    cards.fold({"toolCallId": "c", "title": "Run", "content": TEXT})
    done = _update(status="completed", title="Run", content=TEXT)
    assert cards.trim(done) == _update(status="completed", content=TEXT)


def test_after_it_went_again_it_is_known(cards: CardFields) -> None:
    cards.fold({"toolCallId": "c", "content": TEXT})
    assert cards.trim(_update(content=TEXT)) == _update(content=TEXT)
    assert cards.trim(_update(content=TEXT)) is None


def test_what_a_question_repeats_of_the_card_stays_known(cards: CardFields) -> None:
    cards.trim(_update(content=TEXT))
    cards.fold({"toolCallId": "c", "title": "Run", "content": TEXT})
    assert cards.trim(_update(title="Run", content=TEXT)) is None


def test_a_question_about_a_card_that_is_not_open_is_no_matter(cards: CardFields) -> None:
    cards.fold({"toolCallId": "other", "title": "x"})
    assert cards.trim(_update(title="Run")) is None


def test_after_its_end_a_card_is_forgotten(cards: CardFields) -> None:
    assert cards.trim(_update(title="Run", status="completed")) == _update(status="completed")
    late = _update(title="Run", status="completed")
    assert cards.trim(late) == late


def test_a_question_on_a_running_card_takes_it_back_to_nothing() -> None:
    cards = CardFields()
    cards.trim({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "Run", "status": "pending"})
    asked = {"toolCallId": "c", "title": "Fetch", "status": "pending"}
    assert cards.fold(asked) == asked
    cards.trim({"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "in_progress"})
    assert cards.fold(asked) == {"toolCallId": "c", "title": "Fetch"}
    assert asked["status"] == "pending"
