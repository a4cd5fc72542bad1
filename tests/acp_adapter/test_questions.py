"""Questions to the person in the editor: asked by form or page where it offers them, else told as text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from acp.schema import CreateFormSessionElicitationRequest, CreateUrlSessionElicitationRequest

from acp_adapter.capabilities import ClientCapabilities
from acp_adapter.client_io.calls import EditorGone, EditorRefused, EditorSilent
from acp_adapter.client_io.elicitation import EditorQuestions, SecretWanted
from agent_core.cancel import CancelToken
from tests.support.each import each
from tools.agent_ports import Field, PersonAnswer, PersonQuestion
from tools.ports import Interrupt

QUESTION = PersonQuestion("Which?", (Field("answer", "Your answer", "choice", choices=("a", "b")),), "call-1")
BOTH = ClientCapabilities(form_questions=True, url_questions=True)
PAGE = "https://keys.example.com/new"
SECRET = SecretWanted("Example", "EXAMPLE_API_KEY", "/home/user/.hermes/.env", PAGE)


@dataclass
class Calls:
    """An editor with one answer to everything."""

    answer: dict[str, Any] | Exception = field(default_factory=dict)
    sent: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def call(
        self, method: str, params: Mapping[str, Any], interrupt: Interrupt, timeout: float | None = None
    ) -> dict[str, Any]:
        self.sent.append((method, {"sessionId": "s", **params}))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@dataclass
class Desk:
    calls: Calls
    questions: EditorQuestions
    shown: list[str]


def _desk(answer: dict[str, Any] | Exception | None = None, client: ClientCapabilities = BOTH) -> Desk:
    calls, shown = Calls(answer or {}), list[str]()
    return Desk(calls, EditorQuestions(calls, client, shown.append), shown)


def test_a_question_is_a_form_on_the_card_that_asks_and_its_content_the_answer() -> None:
    desk = _desk({"action": "accept", "content": {"answer": "b"}})
    assert desk.questions.ask(QUESTION, CancelToken()) == PersonAnswer("answered", {"answer": "b"})
    ((method, params),) = desk.calls.sent
    assert method == "elicitation/create"
    parsed = CreateFormSessionElicitationRequest.model_validate(params)
    assert (parsed.message, parsed.tool_call_id) == ("Which?", "call-1")
    assert parsed.requested_schema.properties is not None
    assert set(parsed.requested_schema.properties) == {"answer", "answer_other"}
    assert desk.shown == []


@each(
    ("reply", "outcome"),
    [
        ({"action": "decline"}, "declined"),
        ({"action": "cancel"}, "dismissed"),
        ({"action": "later"}, "dismissed"),
        ({}, "dismissed"),
        ({"action": "accept"}, "dismissed"),
        ({"action": "accept", "content": {"answer": ["a"]}}, "unfit"),
        (EditorSilent("nothing"), "dismissed"),
        (EditorGone("away"), "dismissed"),
    ],
)
def test_no_clear_answer_is_none_and_declined_is_told_from_closed(
    reply: dict[str, Any] | Exception, outcome: str
) -> None:
    desk = _desk(reply)
    assert desk.questions.ask(QUESTION, CancelToken()) == PersonAnswer(outcome)  # type: ignore[arg-type]
    assert desk.shown == []


def test_an_answer_beside_the_choices_of_a_closed_question_is_told_as_what_it_is() -> None:
    closed = PersonQuestion("Which?", (Field("answer", "Your answer", "choice", choices=("a", "b"), other=False),))
    desk = _desk({"action": "accept", "content": {"answer": "c"}})
    assert desk.questions.ask(closed, CancelToken()) == PersonAnswer("unfit")


def test_an_answer_beside_the_choices_is_the_persons_own_where_the_question_is_open() -> None:
    desk = _desk({"action": "accept", "content": {"answer": "neither, take c"}})
    assert desk.questions.ask(QUESTION, CancelToken()) == PersonAnswer("answered", {"answer": "neither, take c"})


def test_a_wrong_answer_is_logged_without_what_was_filled_in(caplog: pytest.LogCaptureFixture) -> None:
    _desk({"action": "accept", "content": {"answer": ["hunter2"]}}).questions.ask(QUESTION, CancelToken())
    assert "'answer'" in caplog.text
    assert "hunter2" not in caplog.text


@pytest.mark.parametrize(
    ("client", "sent"), [(ClientCapabilities(url_questions=True), 0), (ClientCapabilities(form_questions=True), 1)]
)
def test_where_there_are_no_forms_or_they_are_refused_the_question_is_shown(
    client: ClientCapabilities, sent: int
) -> None:
    desk = _desk(EditorRefused(-32601, "no such method"), client)
    assert desk.questions.ask(QUESTION, CancelToken()) == PersonAnswer("unavailable")
    assert desk.shown == ["Which?\n\n1. a\n2. b"]
    assert len(desk.calls.sent) == sent


def test_a_page_is_opened_with_the_persons_consent() -> None:
    desk = _desk({"action": "accept"})
    for _ in range(2):
        assert desk.questions.ask_url("Sign in.", PAGE, CancelToken(), "call-1") == PersonAnswer("answered")
    parsed = [CreateUrlSessionElicitationRequest.model_validate(params) for _, params in desk.calls.sent]
    assert [str(each.url) for each in parsed] == [PAGE, PAGE]
    assert parsed[0].elicitation_id != parsed[1].elicitation_id
    assert parsed[0].tool_call_id == "call-1"


@pytest.mark.parametrize(("action", "outcome"), [("decline", "declined"), ("cancel", "dismissed")])
def test_a_page_that_the_person_does_not_want_is_not_opened(action: str, outcome: str) -> None:
    questions = _desk({"action": action}).questions
    assert questions.ask_url("Sign in.", PAGE, CancelToken()).outcome == outcome


def test_without_pages_the_address_is_shown() -> None:
    desk = _desk(client=ClientCapabilities(form_questions=True))
    assert desk.questions.ask_url("Sign in.", PAGE, CancelToken()) == PersonAnswer("unavailable")
    assert desk.shown == [f"Sign in.\n\n{PAGE}"]
    assert desk.calls.sent == []


@each(
    "url", ["http://keys.example.com", "javascript:alert(1)", "file:///etc/passwd", "https://me:pw@example.com", ""]
)
def test_an_address_that_is_not_safe_to_open_is_not_sent(url: str) -> None:
    desk = _desk()
    with pytest.raises(ValueError, match="https"):
        desk.questions.ask_url("Sign in.", url, CancelToken())
    assert desk.calls.sent == []


@pytest.mark.parametrize("client", [BOTH, ClientCapabilities(form_questions=True)])
def test_a_secret_is_never_asked_by_form(client: ClientCapabilities) -> None:
    desk = _desk({"action": "accept"}, client)
    desk.questions.ask_secret(SECRET, CancelToken())
    assert all(params["mode"] == "url" for _, params in desk.calls.sent)
    told = "\n".join([*desk.shown, *(params["message"] for _, params in desk.calls.sent)])
    assert "EXAMPLE_API_KEY" in told
    assert "hermes-acp setup" in told


def test_a_secret_without_a_page_is_told_as_text() -> None:
    desk = _desk()
    wanted = SecretWanted("Example", "EXAMPLE_API_KEY", "/home/user/.hermes/.env")
    assert desk.questions.ask_secret(wanted, CancelToken()) == PersonAnswer("unavailable")
    assert desk.calls.sent == []
    assert "EXAMPLE_API_KEY" in desk.shown[0]
