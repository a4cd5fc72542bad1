"""Approval questions as `session/request_permission` (ACP v1): asked on the card's own id, unsure means no."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from acp_adapter.capabilities import ClientCapabilities
from acp_adapter.editor_calls import EditorCalls, EditorProblem, EditorSilent
from acp_adapter.permission_cards import asked_card
from acp_adapter.permission_options import MORE, Offer, offers_of
from tools.approval.actions import LeavePlan
from tools.approval.questions import Answer, Question
from tools.errors import ToolInterrupted
from tools.ports import Interrupt

log = logging.getLogger(__name__)

_METHOD = "session/request_permission"
_LONGEST_REASON = 4_000


class EditorApprover:
    """Asks the person in the editor. Called on worker threads; implements `Approver`."""

    def __init__(self, calls: EditorCalls, client: ClientCapabilities, timeout: float, cwd: Path) -> None:
        """Make it.

        Args:
            timeout: seconds that a question waits for its answer.
            cwd: the session's directory.
        """
        self._calls = calls
        self._client = client
        self._timeout = timeout
        self._cwd = cwd

    def ask(self, question: Question, interrupt: Interrupt) -> Answer:
        """Ask and wait; anything but a clear yes is a no.

        Raises:
            ToolInterrupted: the turn is over, or the question became needless; it was withdrawn.
        """
        offers = offers_of(question, self._client)
        params = {"toolCall": asked_card(question, self._cwd), "options": [offer.option() for offer in offers]}
        try:
            result = self._calls.call(_METHOD, params, interrupt, self._timeout)
        except EditorSilent:
            return Answer(allowed=False, note=f"no answer within {self._timeout:g} seconds")
        except EditorProblem as problem:
            # Not the text: the editor may repeat what it was sent.
            log.warning("a permission question failed: %s", type(problem).__name__)
            return Answer(allowed=False, note="the editor could not be asked")
        return self._answer(question, offers, result, interrupt)

    def _answer(
        self, question: Question, offers: Sequence[Offer], result: Mapping[str, Any], interrupt: Interrupt
    ) -> Answer:
        outcome = result.get("outcome")
        if not isinstance(outcome, Mapping):
            return Answer(allowed=False, note="the editor's answer was not valid")
        if outcome.get("outcome") == "cancelled":
            return Answer(allowed=False, note="the question was dismissed")
        is_choice = outcome.get("outcome") == "selected"
        offer = next((offer for offer in offers if is_choice and offer.id == outcome.get("optionId")), None)
        if offer is None:
            return Answer(allowed=False, note="the editor's answer was not valid")
        if offer.wider:
            return self._chosen(question, (offer, *offer.wider), interrupt)
        if not offer.tells_why:
            return offer.answer
        return replace(offer.answer, words=self._words(question, interrupt))

    def _chosen(self, question: Question, offers: Sequence[Offer], interrupt: Interrupt) -> Answer:
        """How far the yes reaches, as the person chooses in a form; the first, which they gave, where they do not.

        Raises:
            ToolInterrupted: as `ask` does.
        """
        answers: dict[str, Answer] = {}
        for offer in offers:
            answers.setdefault(offer.label.removesuffix(MORE), offer.answer)
        labels = tuple(answers)
        text = "How far does this yes reach?"
        field = {"name": "reach", "title": "Reach", "kind": "choice", "choices": labels, "default": labels[0]}
        chosen = self._filled(question, text, {**field, "other": False}, interrupt)
        return answers.get(chosen, offers[0].answer)

    def _words(self, question: Question, interrupt: Interrupt) -> str:
        """Why not; '' where the person says nothing. Their no stands whatever becomes of this."""
        is_plan = isinstance(question.action, LeavePlan)
        text = "What should the plan change?" if is_plan else "Why not? The model is told what you write."
        field = {"name": "reason", "title": "What to change" if is_plan else "Reason"}
        try:
            return self._filled(question, text, field, interrupt)[:_LONGEST_REASON]
        except ToolInterrupted:
            return ""

    def _filled(self, question: Question, text: str, field: Mapping[str, Any], interrupt: Interrupt) -> str:
        """What the person fills into a form with this field; '' where they do not.

        Raises:
            ToolInterrupted: the turn is over, or the question became needless.
        """
        from acp_adapter.questions import EditorQuestions  # noqa: PLC0415 - most people only click
        from tools.agent_ports import Field, PersonQuestion  # noqa: PLC0415 - as above

        asked = PersonQuestion(text, (Field(**field, required=False),), question.tool_call_id)
        told = EditorQuestions(self._calls, self._client, timeout=self._timeout).ask(asked, interrupt)
        return str(told.values.get(str(field["name"]), "")).strip()
