"""An update of a card holds only what the editor has not been sent yet."""

from __future__ import annotations

from typing import Any

import pytest

from acp_adapter.projection import CardFields

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
    assert cards.trim(update) == _update(status="pending", _meta={"terminal_output": {"data": "x"}})
    assert cards.trim(update) == _update(status="pending", _meta={"terminal_output": {"data": "x"}})


def test_the_current_status_is_repeated_in_every_update(cards: CardFields) -> None:
    assert cards.trim(_update(title="Run it")) == _update(status="pending", title="Run it")
    cards.trim(_update(status="in_progress"))
    assert cards.trim(_update(content=TEXT)) == _update(status="in_progress", content=TEXT)
    update, question = cards.ask(_asked(title="Run it (it deletes)", content=[]))
    assert update == _update(status="in_progress", title="Run it (it deletes)", content=[])
    assert question["status"] == "in_progress"
    ended = _update(status="failed", title="Run it", content=TEXT)
    assert cards.trim(_update(status="failed", content=TEXT)) == ended, "the question's title is taken back"


def test_content_goes_again_once_it_was_another(cards: CardFields) -> None:
    assert cards.trim(_update(content=TEXT)) == _update(status="pending", content=TEXT)
    assert cards.trim(_update(content=[])) == _update(status="pending", content=[])
    assert cards.trim(_update(content=TEXT)) == _update(status="pending", content=TEXT)
    assert cards.trim(_update(content=TEXT)) is None


def _asked(**fields: Any) -> dict[str, Any]:
    return {"toolCallId": "c", "status": "pending", "title": "Run", "locations": [], "content": TEXT, **fields}


def test_what_a_question_shows_is_put_on_the_card_first(cards: CardFields) -> None:
    asked = _asked(title="Run (it deletes)", kind="execute")
    assert cards.ask(asked) == (
        _update(status="pending", title="Run (it deletes)", kind="execute", content=TEXT),
        asked,
    )


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


def test_the_update_behind_a_question_takes_its_places_back(cards: CardFields) -> None:
    cards.ask(_asked(locations=[{"path": "/a"}, {"path": "/b"}]))
    assert cards.trim(_update(status="completed")) == _update(status="completed", locations=[])


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
    assert cards.ask(_asked(content=diff)) == (_update(status="pending", content=diff), _asked(content=diff))
    assert cards.trim(_update(content=terminal)) == _update(status="pending", content=terminal)


def test_after_its_end_a_card_is_forgotten(cards: CardFields) -> None:
    assert cards.trim(_update(title="Run", status="completed")) == _update(status="completed")
    late = _update(title="Run", status="completed")
    assert cards.trim(late) == late


def test_a_question_on_a_running_card_goes_on_running(cards: CardFields) -> None:
    cards.trim(_update(status="in_progress"))
    asked = _asked(title="Fetch")
    update, question = cards.ask(asked)
    assert question == _asked(title="Fetch", status="in_progress")
    assert update == _update(status="in_progress", title="Fetch", content=TEXT)
    assert asked["status"] == "pending"


def _said(cards: CardFields, message: str, text: str, kind: str = "agent_message_chunk") -> str:
    content = {"type": "text", "text": text}
    update = cards.trim({"sessionUpdate": kind, "messageId": message, "content": content})
    assert update is not None
    return str(update["content"]["text"])


@pytest.mark.parametrize(
    ("before", "notice", "shown"),
    [
        ("half a line", "Notice.", "\n\nNotice."),
        ("a line\n", "Notice.", "\nNotice."),
        ("a paragraph\n\n", "Notice.", "Notice."),
        ("half a line", "\nNotice.", "\n\nNotice."),
        ("half a line", "\n\n\nNotice.", "\n\n\nNotice."),
        ("", "Notice.", "Notice."),
        ("half a line", "", ""),
    ],
)
def test_a_notice_starts_on_its_own_line(before: str, notice: str, shown: str) -> None:
    cards = CardFields()
    assert _said(cards, "message", before) == before
    assert _said(cards, "notice", notice) == shown


def test_the_pieces_of_a_message_are_one_line_also_around_a_notice() -> None:
    cards = CardFields()
    pieces = [
        ("m", "one "),
        ("m", "line"),
        ("n", "Notice.\n\n"),
        ("m", " goes on"),
        ("m", "\n"),
        ("m", "\n"),
        ("o", "x"),
    ]
    assert "".join(_said(cards, *piece) for piece in pieces) == "one line\n\nNotice.\n\n goes on\n\nx"


@pytest.mark.parametrize(
    "between",
    [
        {"sessionUpdate": "tool_call", "toolCallId": "c", "status": "pending"},
        {"sessionUpdate": "plan", "entries": []},
        {"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "go on"}},
        None,
    ],
)
def test_a_message_behind_something_else_begins_on_its_own_line_by_itself(between: dict[str, Any] | None) -> None:
    cards = CardFields()
    _said(cards, "one", "half a line")
    if between is None:
        cards.prompted()
    else:
        cards.trim(between)
    assert _said(cards, "other", "Text.") == "Text."


def test_thoughts_and_usage_do_not_end_a_line() -> None:
    cards = CardFields()
    _said(cards, "one", "half a line")
    _said(cards, "thought", "why", "agent_thought_chunk")
    cards.trim({"sessionUpdate": "usage_update", "used": 1, "size": 2})
    assert _said(cards, "other", "Text.") == "\n\nText."
