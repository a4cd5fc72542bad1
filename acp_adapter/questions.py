"""Questions to the person as `elicitation/create` (ACP v1): forms and pages, or text where the editor has neither."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from acp_adapter.capabilities import ClientCapabilities
from acp_adapter.editor_calls import EditorCalls, EditorGone, EditorProblem, EditorRefused, EditorSilent
from acp_adapter.forms import UnfitValue, WrongForm, as_text, read_form, requested_schema
from tools.agent_ports import PersonAnswer, PersonPage, PersonQuestion
from tools.light_dataclass import dataclass
from tools.ports import Interrupt

log = logging.getLogger(__name__)

_METHOD = "elicitation/create"
_UNAVAILABLE, _DISMISSED = PersonAnswer("unavailable"), PersonAnswer("dismissed")


@dataclass(frozen=True, slots=True)
class SecretWanted:
    """A key that is missing. It never comes through us: the person puts it into a file that we read.

    Attributes:
        title: whose key it is.
        variable: the name under which it is looked for.
        file: where to put it.
        page: where it can be made; '' if there is no such page.
    """

    title: str
    variable: str
    file: str
    page: str = ""

    @property
    def text(self) -> str:
        """What to do, for the person."""
        return (
            f"{self.title} needs a key. Put it as {self.variable}=… into {self.file} (the next request finds it), or "
            "run `hermes-acp setup` in a terminal. Do not write it into the conversation."
        )


class EditorQuestions:
    """Asks the person in the editor. Called on worker threads.

    Args:
        show: puts text before the person where the editor cannot ask; they answer with their next prompt.
        timeout: seconds a question waits, None for as long as the turn lasts. No answer dismisses it.
    """

    def __init__(
        self,
        calls: EditorCalls,
        client: ClientCapabilities,
        show: Callable[[str], None] = lambda _text: None,
        timeout: float | None = None,
    ) -> None:
        self._calls = calls
        self._client = client
        self._show = show
        self._timeout = timeout

    def ask(self, question: PersonQuestion | PersonPage, interrupt: Interrupt) -> PersonAnswer:
        """Show a form, or a page to open, and wait for it; `unavailable` where it could only be shown as text.

        Raises:
            ValueError: it is a page that `ask_url` does not take.
            ToolInterrupted: the turn is over; the form is withdrawn.
        """
        if isinstance(question, PersonPage):
            return self.ask_url(question.text, question.url, interrupt, question.call_id)
        if not self._client.form_questions:
            return self._told(as_text(question))
        params = {"mode": "form", "message": question.text, "requestedSchema": requested_schema(question)}
        reply = self._reply(_with_card(params, question.call_id), interrupt)
        if reply is None:
            return self._told(as_text(question))
        if reply.get("action") != "accept":
            return _not_accepted(reply)
        try:
            return PersonAnswer("answered", read_form(question, reply.get("content")))
        except WrongForm as problem:
            log.warning("the editor's answer to a question was not usable: %s", problem)
            return PersonAnswer("unfit") if isinstance(problem, UnfitValue) else _DISMISSED

    def ask_url(self, text: str, url: str, interrupt: Interrupt, call_id: str = "") -> PersonAnswer:
        """Ask the person to open a page. `answered` says that they agreed to, not that they have done what it is for.

        Args:
            url: https, or http on this machine; without a password in it.

        Raises:
            ValueError: it is no such address.
            ToolInterrupted: the turn is over; the question is withdrawn.
        """
        _check_page(url)
        as_words = f"{text}\n\n{url}"
        if not self._client.url_questions:
            return self._told(as_words)
        params = {"mode": "url", "message": text, "url": url, "elicitationId": f"page_{uuid.uuid4().hex}"}
        reply = self._reply(_with_card(params, call_id), interrupt)
        if reply is None:
            return self._told(as_words)
        return PersonAnswer("answered") if reply.get("action") == "accept" else _not_accepted(reply)

    def ask_secret(self, wanted: SecretWanted, interrupt: Interrupt, call_id: str = "") -> PersonAnswer:
        """Say how a missing key is set up, with the page where it is made; the key itself is never asked for.

        `answered` says that the page was opened. Whether the key is there now shows the next use of it.

        Raises:
            ValueError, ToolInterrupted: as `ask_url` does.
        """
        if not wanted.page:
            return self._told(wanted.text)
        return self.ask_url(wanted.text, wanted.page, interrupt, call_id)

    def _told(self, text: str) -> PersonAnswer:
        self._show(text)
        return _UNAVAILABLE

    def _reply(self, params: Mapping[str, Any], interrupt: Interrupt) -> Mapping[str, Any] | None:
        """The editor's answer; a cancel where nobody answers; None where it cannot ask after all."""
        try:
            return self._calls.call(_METHOD, params, interrupt, self._timeout)
        except EditorRefused as problem:
            log.warning("the editor offers %s and refused it: error %s", _METHOD, problem.code)
            return None
        except (EditorSilent, EditorGone) as problem:
            log.info("a question was not answered: %s", problem)
            return {"action": "cancel"}
        except EditorProblem as problem:
            log.warning("a question could not be asked: %s", problem)
            return None


def _with_card(params: Mapping[str, Any], call_id: str) -> dict[str, Any]:
    return {**params, "toolCallId": call_id} if call_id else dict(params)


def _not_accepted(reply: Mapping[str, Any]) -> PersonAnswer:
    action = reply.get("action")
    if action not in {"decline", "cancel"}:
        log.warning("the editor answered a question with an action that is not known")
    return PersonAnswer("declined") if action == "decline" else _DISMISSED


def _check_page(url: str) -> None:
    parts = urlsplit(url)
    here = parts.scheme == "http" and parts.hostname in {"127.0.0.1", "::1", "localhost"}
    if not (parts.scheme == "https" or here) or not parts.hostname or parts.username or parts.password:
        raise ValueError("A page to open has to be an https address without a password in it.")
