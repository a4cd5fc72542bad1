"""Questions of tools to the user: forms and pages in the editor."""

from __future__ import annotations

import logging
import math
import uuid
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from acp_adapter.capabilities import ClientCapabilities
from acp_adapter.client_io.calls import EditorCalls, EditorGone, EditorProblem, EditorRefused, EditorSilent
from tools.agent_ports import Field, PersonAnswer, PersonPage, PersonQuestion, Value
from tools.light_dataclass import dataclass
from tools.ports import Interrupt

# A question as the flat schema of a form (ACP v1, elicitation), and what a filled one holds.

_OTHER = "_other"
_OTHER_TITLE = "Something else"
_OTHER_HINT = "Your own words, in place of the choices"


class WrongForm(Exception):
    """A filled form does not fit the question. The text names fields, never what was filled in."""


class UnfitValue(WrongForm):
    """A value was sent, and it is not one that its field can hold: the person has answered, but not so."""


def requested_schema(question: PersonQuestion) -> dict[str, Any]:
    """The form's schema: one property for each field, and a free text beside each open choice."""
    properties: dict[str, Any] = {}
    for field in question.fields:
        properties[field.name] = _property(field)
        if field.is_open:
            properties[_other(field)] = {"type": "string", "title": _OTHER_TITLE, "description": _OTHER_HINT}
    # Of an open choice neither part alone is required.
    required = [field.name for field in question.fields if field.required and not field.is_open]
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


def read_form(question: PersonQuestion, content: object) -> dict[str, Value]:
    """The values of a filled form, by the fields' names.

    Raises:
        UnfitValue: one is not what its field asks for. WrongForm: a required one is missing.
    """
    if content is not None and not isinstance(content, Mapping):
        raise WrongForm("its content is no object")
    filled: Mapping[str, Any] = content or {}
    values: dict[str, Value] = {}
    for field in question.fields:
        value = _own_words(field, filled)
        if value is None:
            value = _value(field, filled.get(field.name))
        if value is not None:
            values[field.name] = value
        elif field.required:
            raise WrongForm(f"the field {field.name!r} is missing")
    return values


def as_text(question: PersonQuestion) -> str:
    """The question as a message, for editors without forms."""
    lines = [question.text]
    several = len(question.fields) > 1
    for field in question.fields:
        if several:
            lines += ["", f"**{field.title}**{f': {field.description}' if field.description else ''}"]
        if field.choices:
            lines += ["", *(f"{number}. {choice}" for number, choice in enumerate(field.choices, 1))]
    return "\n".join(lines)


def _other(field: Field) -> str:
    return f"{field.name}{_OTHER}"


def _property(field: Field) -> dict[str, Any]:
    told: dict[str, Any] = {"title": field.title}
    if field.description:
        told["description"] = field.description
    if field.default is not None:
        told["default"] = list(field.default) if isinstance(field.default, tuple) else field.default
    match field.kind:
        case "text":
            return {"type": "string", **told}
        case "choice":
            return {"type": "string", **told, "enum": list(field.choices)}
        case "choices":
            least = {"minItems": 1} if field.required and not field.is_open else {}
            return {"type": "array", **told, **least, "items": {"type": "string", "enum": list(field.choices)}}
        case kind:
            return {"type": kind, **told}


def _own_words(field: Field, filled: Mapping[str, Any]) -> Value | None:
    """What was written beside the choices; it goes before a choice, which may have been filled in already."""
    if not field.is_open:
        return None
    text = filled.get(_other(field))
    if text is None:
        return None
    if not isinstance(text, str):
        raise UnfitValue(f"the field {_other(field)!r} is no text")
    text = text.strip()
    if not text:
        return None
    if field.kind == "choice":
        return text
    chosen = _value(field, filled.get(field.name))
    return (*chosen, text) if isinstance(chosen, tuple) else (text,)


def _value(field: Field, value: object) -> Value | None:
    """The value of a field; None where nothing was filled in."""
    if value is None:
        return None
    match field.kind, value:
        case "text", str():
            return value if value.strip() else None
        case "choice", str():
            return _one_of(field, value)
        case "choices", list() if all(isinstance(item, str) for item in value):
            told = (each for item in value if (each := _one_of(field, item)) is not None)
            return tuple(dict.fromkeys(told)) or None
        case "boolean", bool():
            return value
        case (("number" | "integer"), (bool() | str())):
            pass
        case "integer", int():
            return value
        case "integer", float() if value.is_integer():
            return int(value)
        case "number", int() | float() if math.isfinite(value):
            return value
    raise UnfitValue(f"the field {field.name!r} holds what it cannot hold ({type(value).__name__})")


def _one_of(field: Field, text: str) -> str | None:
    """A choice; else, where the field is open, the person's own words: some editors have one input for both."""
    if text in field.choices:
        return text
    own = text.strip()
    if own and not field.is_open:
        raise UnfitValue(f"the field {field.name!r} holds none of its {len(field.choices)} choices")
    return own or None


# The questions: forms and pages, or text where the editor has neither.

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
