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


def _asked(**fields: Any) -> dict[str, Any]:
    return {"toolCallId": "c", "status": "pending", "title": "Run", "locations": [], "content": TEXT, **fields}


def test_what_a_question_shows_is_put_on_the_card_first(cards: CardFields) -> None:
    asked = _asked(title="Run (it deletes)", kind="execute")
    assert cards.ask(asked) == (_update(title="Run (it deletes)", kind="execute", content=TEXT), asked)


def test_what_a_question_put_on_the_card_is_taken_back_afterwards(cards: CardFields) -> None:
    cards.ask(_asked(title="Run (it deletes)"))
    assert cards.trim(_update(title="Run", status="in_progress")) == _update(title="Run", status="in_progress")
    assert cards.trim(_update(content=[], status="completed")) == _update(content=[], status="completed")


def test_the_update_behind_a_question_takes_its_title_back_though_it_says_nothing_of_it(cards: CardFields) -> None:
    cards.trim(_update(kind="edit", rawInput={"path": "a"}))
    cards.ask(_asked(title="Delete a", kind="delete", rawInput={}))
    cards.ask(_asked(title="Delete b", kind="delete", rawInput={}))
    assert cards.trim(_update(status="completed")) == _update(
        status="completed", title="Run", kind="edit", rawInput={"path": "a"}
    )


def test_what_a_question_showed_and_the_card_has_does_not_go_again(cards: CardFields) -> None:
    cards.ask(_asked())
    assert cards.trim(_update(status="completed", title="Run", content=TEXT)) == _update(status="completed")


def test_a_question_that_repeats_the_card_puts_nothing_on_it(cards: CardFields) -> None:
    cards.trim(_update(content=TEXT))
    assert cards.ask(_asked()) == (None, _asked())


def test_a_question_about_a_card_that_is_not_open_is_no_matter(cards: CardFields) -> None:
    asked = _asked(toolCallId="other", title="x")
    assert cards.ask(asked) == (None, asked)
    assert cards.trim(_update(title="Run")) is None


def test_a_question_leaves_a_terminal_on_its_card_unless_there_are_changes_to_show() -> None:
    terminal, diff = [{"type": "terminal", "terminalId": "t"}], [{"type": "diff", "path": "/a"}]
    cards = CardFields()
    cards.trim(_create(content=terminal))
    assert cards.ask(_asked()) == (None, _asked(content=terminal))
    assert cards.ask(_asked(content=diff)) == (_update(content=diff), _asked(content=diff))
    assert cards.trim(_update(content=terminal)) == _update(content=terminal)


def test_after_its_end_a_card_is_forgotten(cards: CardFields) -> None:
    assert cards.trim(_update(title="Run", status="completed")) == _update(status="completed")
    late = _update(title="Run", status="completed")
    assert cards.trim(late) == late


def test_a_question_on_a_running_card_goes_on_running(cards: CardFields) -> None:
    cards.trim(_update(status="in_progress"))
    asked = _asked(title="Fetch")
    update, question = cards.ask(asked)
    assert question == _asked(title="Fetch", status="in_progress")
    assert update == _update(title="Fetch", content=TEXT)
    assert asked["status"] == "pending"
