"""What a server may want of us while it works for a call: a question to the person, a model's answer, the roots.

A wish travels to the thread that waits for the call, which can ask the person; a server for which no call runs gets
nothing. Used on the service loop, except `Wish.answer` and `Wish.refuse`.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Literal

from agent_core.cancel import CancelToken
from agent_core.mcp.offers import told_blocks
from agent_core.mcp.specs import ServerSpec
from agent_core.messages import Message
from agent_core.model_request.side_models import Completion
from tools.agent_ports import Behalf, Field, Kind, PersonPage, PersonQuestion, Value, wants_secret
from tools.errors import Denied, ToolInterrupted
from tools.light_dataclass import dataclass
from tools.untrusted.invisible import without_controls

if TYPE_CHECKING:
    from mcp.client.session import ClientRequestContext
    from mcp_types import (
        CreateMessageRequestParams,
        CreateMessageResult,
        ElicitRequestParams,
        ElicitResult,
        ErrorData,
        ListRootsResult,
    )

WishKind = Literal["ask", "sample"]

_MINUTE = 60.0
_MOST_WISHES = 20
_MOST_TOLD = 1_000
_REFUSED = -1  # MCP, sampling: the person has refused


class Wish:
    """Something that a server wants, until it has it.

    Attributes:
        params: of its request, as JSON.
        over: cancelled when nobody waits for it any more.
    """

    def __init__(self, kind: WishKind, params: Mapping[str, Any]) -> None:
        self.kind = kind
        self.params = params
        self.over = CancelToken()
        self._loop = asyncio.get_running_loop()
        self._answer: asyncio.Future[Mapping[str, Any] | str] = self._loop.create_future()

    def answer(self, result: Mapping[str, Any]) -> None:
        """Grant it; from any thread."""
        self._put(result)

    def refuse(self, reason: str) -> None:
        """Do not; `reason` is for the server."""
        self._put(reason)

    async def come_true(self) -> Mapping[str, Any] | str:
        """Wait for the answer as JSON, or the reason why there is none."""
        try:
            return await self._answer
        finally:
            self.over.cancel()

    def _put(self, value: Mapping[str, Any] | str) -> None:
        def put() -> None:
            if not self._answer.done():
                self._answer.set_result(value)

        self._loop.call_soon_threadsafe(put)


Events = SimpleQueue["str | Wish"]
"""What a call tells the thread that waits for it: words for its card, wishes; '' when it is over."""


@dataclass(eq=False, slots=True)
class RunningCall:
    """A call that a server works for; its time does not run while the person is asked.

    Attributes:
        told: so many words for the card have come.
        asked: so many wishes are open; `left`: of its time, in seconds, while there are some.
    """

    events: Events
    limit: asyncio.Timeout | None = None
    wishes: list[Wish] = field(default_factory=list)
    told: int = 0
    asked: int = 0
    left: float = 0.0

    def tell(self, words: str) -> None:
        """Words for its card; of a flood only the beginning is kept."""
        self.told += 1
        if self.told <= _MOST_TOLD:
            self.events.put(words)

    def end(self) -> None:
        """It is over: what the server still wants of it is not granted."""
        for wish in tuple(self.wishes):
            wish.over.cancel()
            wish.refuse("The call is over.")

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop the call's time, until nothing more is asked."""
        limit, now = self.limit, asyncio.get_running_loop().time
        if limit is None:
            yield
            return
        if not self.asked and (end := limit.when()) is not None:
            self.left = max(end - now(), 0.0)
            limit.reschedule(None)
        self.asked += 1
        try:
            yield
        finally:
            self.asked -= 1
            if not self.asked and not limit.expired():
                limit.reschedule(now() + self.left)


class Inbound:
    """Answers the requests of one server, by way of the call that it works for."""

    def __init__(
        self, spec: ServerSpec, roots: Sequence[Path], *, samples: bool, changed: Callable[[str], None]
    ) -> None:
        """Make it.

        Args:
            samples: there is a model that could be asked.
            changed: told of the method of a notification that a list has changed.
        """
        self._policy = spec.policy
        self._roots = tuple(roots)
        self.samples = samples and spec.policy.sampling != "off"
        self.asks = spec.policy.asks
        self._changed = changed
        self._running: list[RunningCall] = []
        self._sampled: deque[float] = deque()

    @contextmanager
    def serving(self, call: RunningCall) -> Iterator[RunningCall]:
        """The server works for this call."""
        self._running.append(call)
        try:
            yield call
        finally:
            self._running.remove(call)
            call.end()

    async def on_message(self, message: Any) -> None:
        """Take a notification."""
        method = getattr(message, "method", "")
        if isinstance(method, str) and method.endswith("list_changed"):
            self._changed(method)

    async def on_elicit(
        self,
        context: ClientRequestContext,  # noqa: ARG002 - the SDK names it
        params: ElicitRequestParams,
    ) -> ElicitResult | ErrorData:
        """The server asks the person something."""
        from mcp_types import INVALID_REQUEST, ElicitResult, ErrorData  # noqa: PLC0415

        answer = await self.wish("ask", params.model_dump(by_alias=True, mode="json", exclude_none=True))
        if isinstance(answer, str):
            return ErrorData(code=INVALID_REQUEST, message=answer)
        return ElicitResult.model_validate(answer)

    async def on_sample(
        self,
        context: ClientRequestContext,  # noqa: ARG002 - the SDK names it
        params: CreateMessageRequestParams,
    ) -> CreateMessageResult | ErrorData:
        """The server wants a model's answer."""
        from mcp_types import CreateMessageResult, ErrorData  # noqa: PLC0415

        if not self._may_sample():
            return ErrorData(code=_REFUSED, message="Too many requests in a minute. Try again later.")
        answer = await self.wish("sample", params.model_dump(by_alias=True, mode="json", exclude_none=True))
        if isinstance(answer, str):
            return ErrorData(code=_REFUSED, message=answer)
        return CreateMessageResult.model_validate(answer)

    async def on_roots(self, context: ClientRequestContext) -> ListRootsResult:  # noqa: ARG002 - the SDK names it
        """The server asks where the session works."""
        from mcp_types import ListRootsResult, Root  # noqa: PLC0415
        from pydantic import FileUrl  # noqa: PLC0415

        roots = [Root(uri=FileUrl(path.absolute().as_uri()), name=path.name or None) for path in self._roots]
        return ListRootsResult(roots=roots)

    async def wish(self, kind: WishKind, params: Mapping[str, Any]) -> Mapping[str, Any] | str:
        """What the person or a model answers; a text says why nobody was asked."""
        if not self._running:
            return "This is possible only while a call of this server runs."
        # Which of several it is for, the protocol does not say.
        call, wish = self._running[-1], Wish(kind, params)
        if len(call.wishes) >= _MOST_WISHES:
            return "Too many requests at once. Wait for the answers to those that are open."
        call.wishes.append(wish)
        call.events.put(wish)
        try:
            with call.paused():
                return await wish.come_true()
        finally:
            call.wishes.remove(wish)

    def _may_sample(self) -> bool:
        now = time.monotonic()
        while self._sampled and now - self._sampled[0] >= _MINUTE:
            self._sampled.popleft()
        if len(self._sampled) >= self._policy.sampling_per_minute:
            return False
        self._sampled.append(now)
        return True


# A server's question to the person (MCP, elicitation) as one of ours, and the answer as the server wants it.

_MOST_FIELDS = 20
_LONGEST_TEXT = 2_000
_KINDS: Mapping[str, Kind] = {"string": "text", "number": "number", "integer": "integer", "boolean": "boolean"}
_FORMATS = {
    "email": re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+"),
    "uri": re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+"),
    "date": re.compile(r"\d{4}-\d\d-\d\d"),
    "date-time": re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?([Zz]|[+-]\d\d:\d\d)?"),
}

_WORD_BREAK = re.compile(r"[\W_]+|(?<=[a-z0-9])(?=[A-Z])")
_SECRET_FIELD = re.compile(
    r"(?:\w+ ){0,3}(?:token|secret|passw(?:or)?d|passphrase|pwd|api ?key)(?: value)?", re.IGNORECASE
)


class NoForm(ValueError):
    """A server's question cannot be put to the person; the text is for the server."""


@dataclass(frozen=True, slots=True)
class Form:
    """A question with what its answer must be.

    Attributes:
        schemas: of each field, by its name.
        meant: by field, what the server has for each choice that the person reads.
    """

    question: PersonQuestion
    schemas: Mapping[str, Mapping[str, Any]]
    meant: Mapping[str, Mapping[str, str]]

    def content(self, values: Mapping[str, Value]) -> dict[str, Any]:
        """What the person filled in, as the server has it."""
        return {name: self._meant(name, value) for name, value in values.items()}

    def unfit(self, values: Mapping[str, Value]) -> str:
        """What is wrong with an answer, for the person; '' if nothing is."""
        found = (_unfit(self.schemas.get(name, {}), value) for name, value in values.items())
        titles = {field.name: field.title for field in self.question.fields}
        return "; ".join(
            f"{titles.get(name, name)} {why}" for name, why in zip(values, found, strict=True) if why
        )  # fmt: skip

    def _meant(self, name: str, value: Value) -> Any:
        choices = self.meant.get(name, {})
        if isinstance(value, tuple):
            return [choices.get(each, each) for each in value]
        return choices.get(value, value) if isinstance(value, str) else value


def page_of(server: str, params: Mapping[str, Any]) -> PersonPage:
    """The page that a server wants to be opened."""
    return PersonPage(_question_text(server, params), str(params.get("url", "")))


def form_of(server: str, params: Mapping[str, Any]) -> Form:
    """The form of a server's question.

    Raises:
        NoForm: it has no fields, or such as a form cannot have, or asks for a secret.
    """
    schema = params.get("requestedSchema")
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping) or not properties or len(properties) > _MOST_FIELDS:
        raise NoForm(f"A form has between one and {_MOST_FIELDS} fields.")
    required = schema.get("required") if isinstance(schema, Mapping) else None
    needed = set(required) if isinstance(required, list) else set()
    fields, meant = [], {}
    for name, described in properties.items():
        field, choices = _field(str(name), described, required=name in needed)
        fields.append(field)
        meant[field.name] = choices
    text = _question_text(server, params)
    if wants_secret(text) or any(map(_is_secret, fields)) or _is_hidden(properties.values()):
        raise NoForm("Secrets are not asked for by a form. Use the url mode.")
    return Form(PersonQuestion(text, tuple(fields)), dict(properties), meant)


def _is_secret(field: Field) -> bool:
    """Whether a field is for a secret, by any of the words that it is called or described with."""
    named, titled = (_WORD_BREAK.sub(" ", words).strip() for words in (field.name, field.title))
    if field.kind == "text" and any(map(_SECRET_FIELD.fullmatch, (named, titled))):
        return True
    return any(
        wants_secret(words) for words in (f"enter your {field.title}", f"enter your {named}", field.description)
    )


def _is_hidden(schemas: Iterable[object]) -> bool:
    """Whether something is to be typed that nobody may see."""
    return any(isinstance(schema, Mapping) and schema.get("format") == "password" for schema in schemas)


def _question_text(server: str, params: Mapping[str, Any]) -> str:
    words = without_controls(str(params.get("message", ""))).strip()[:_LONGEST_TEXT]
    return f"The MCP server {server} asks: {words}"


def _field(name: str, raw: object, *, required: bool) -> tuple[Field, dict[str, str]]:
    described: Mapping[str, Any] = raw if isinstance(raw, Mapping) else {}
    kind, choices = _kind(name, described)
    told = {"title": described.get("title") or name, "description": described.get("description") or ""}
    titles = {key: without_controls(str(text)) for key, text in told.items()}
    default = _default(described.get("default"), kind, choices)
    field = Field(name, kind=kind, choices=tuple(choices), other=False, required=required, default=default, **titles)
    return field, choices


def _kind(name: str, described: Mapping[str, Any]) -> tuple[Kind, dict[str, str]]:
    """The kind of a field, and its choices as the person reads them with what is meant."""
    if described.get("type") == "array":
        items = described.get("items")
        choices = _choices(items) if isinstance(items, Mapping) else {}
        if choices:
            return "choices", choices
    elif choices := _choices(described):
        return "choice", choices
    kind = _KINDS.get(str(described.get("type")))
    if kind is None:
        raise NoForm(f"The field {name!r} is of a kind that forms do not have.")
    return kind, {}


def _choices(described: Mapping[str, Any]) -> dict[str, str]:
    titled = described.get("oneOf") or described.get("anyOf")
    if isinstance(titled, list):
        entries = [entry for entry in titled if isinstance(entry, Mapping) and isinstance(entry.get("const"), str)]
        return {without_controls(str(entry.get("title") or entry["const"])): entry["const"] for entry in entries}
    values = described.get("enum")
    if not isinstance(values, list):
        return {}
    names = described.get("enumNames")
    shown = names if isinstance(names, list) and len(names) == len(values) else values
    return {without_controls(str(name)): str(value) for name, value in zip(shown, values, strict=True)}


def _default(value: object, kind: Kind, choices: Mapping[str, str]) -> Value | None:
    shown = {meant: title for title, meant in choices.items()}
    if kind == "choices":
        return tuple(shown[each] for each in value if each in shown) if isinstance(value, list) else None
    if kind == "choice":
        return shown.get(value) if isinstance(value, str) else None
    if kind == "boolean":
        return value if isinstance(value, bool) else None
    if kind == "text":
        return value if isinstance(value, str) else None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _unfit(schema: Mapping[str, Any], value: Value) -> str:
    if isinstance(value, str):
        return _unfit_text(schema, value)
    if isinstance(value, tuple):
        return _outside(len(value), schema.get("minItems"), schema.get("maxItems"), "choices")
    if isinstance(value, bool):
        return ""
    return _outside(value, schema.get("minimum"), schema.get("maximum"), "")


def _unfit_text(schema: Mapping[str, Any], value: str) -> str:
    pattern = _FORMATS.get(str(schema.get("format")))
    if pattern is not None and not pattern.fullmatch(value):
        return f"must have the form of {schema['format']}"
    return _outside(len(value), schema.get("minLength"), schema.get("maxLength"), "characters")


def _outside(size: float, least: object, most: object, unit: str) -> str:
    if isinstance(least, int | float) and size < least:
        return f"must be at least {least:g} {unit}".rstrip()
    if isinstance(most, int | float) and size > most:
        return f"must be at most {most:g} {unit}".rstrip()
    return ""


# The granting, on the call's own thread, where the person can be asked.

log = logging.getLogger(__name__)

Sampler = Callable[[Sequence[Message], int, float | None, CancelToken], Completion | None]
"""Asks a model: messages, tokens of the answer, temperature, the end of the wait. None without an answer."""

_MOST_TRIES = 3
_ACTIONS = {"declined": "decline"}


def grant(wish: Wish, spec: ServerSpec, behalf: Behalf | None, sampler: Sampler | None) -> None:
    """Answer a wish; blocks while the person or a model is asked. It raises nothing: a server must not end a call."""
    if wish.over.is_set():
        return
    if behalf is None:
        wish.refuse("Nobody can be asked here.")
        return
    try:
        if wish.kind == "ask":
            wish.answer(_person_answer(wish, spec, behalf))
        else:
            wish.answer(_sampled(wish, spec, behalf, sampler))
    except (NoForm, Denied) as problem:
        wish.refuse(str(problem))
    except ToolInterrupted:
        wish.refuse("The call is over.")
    except Exception:  # what a server sends may be anything
        log.exception("a wish of MCP server %s could not be granted", spec.name)
        wish.refuse("It cannot be answered.")


def _person_answer(wish: Wish, spec: ServerSpec, behalf: Behalf) -> Mapping[str, Any]:
    if wish.params.get("mode") == "url":
        try:
            outcome = behalf.ask(page_of(spec.name, wish.params), wish.over).outcome
        except ValueError as problem:  # no address that a person should open
            raise NoForm(str(problem)) from problem
        return {"action": "accept" if outcome == "answered" else _ACTIONS.get(outcome, "cancel")}
    form = form_of(spec.name, wish.params)
    question, wrong = form.question, ""
    for _ in range(_MOST_TRIES):
        answer = behalf.ask(replace(question, text=f"{question.text}{wrong}"), wish.over)
        if answer.outcome != "answered":
            return {"action": _ACTIONS.get(answer.outcome, "cancel")}
        unfit = form.unfit(answer.values)
        if not unfit:
            return {"action": "accept", "content": form.content(answer.values)}
        wrong = f"\n\nNot yet right: {unfit}."
    return {"action": "cancel"}


def _sampled(wish: Wish, spec: ServerSpec, behalf: Behalf, sampler: Sampler | None) -> Mapping[str, Any]:
    if sampler is None:
        raise Denied("There is no model that could be asked.")
    messages = _messages(wish.params)
    if spec.policy.sampling == "ask":
        shown = "\n\n".join(f"{message['role']}: {message['content']}" for message in messages)
        behalf.allow_model(spec.name, shown, wish.over)
    wanted, temperature = wish.params.get("maxTokens"), wish.params.get("temperature")
    limit = min(wanted, spec.policy.sampling_tokens) if isinstance(wanted, int) else spec.policy.sampling_tokens
    warmth = float(temperature) if isinstance(temperature, int | float) else None
    found = sampler(messages, max(1, limit), warmth, wish.over)
    if found is None:
        raise Denied("No model has answered.")
    return {
        "role": "assistant",
        "content": {"type": "text", "text": found.text},
        "model": found.model,
        "stopReason": "maxTokens" if found.truncated else "endTurn",
    }


def _messages(params: Mapping[str, Any]) -> list[Message]:
    """The messages that a server wants answered; what is no text in them is told in words."""
    messages: list[Message] = []
    system = params.get("systemPrompt")
    if isinstance(system, str) and system.strip():
        messages.append({"role": "system", "content": system})
    for entry in params.get("messages", ()):
        content = entry.get("content")
        blocks = content if isinstance(content, list) else [content]
        text = told_blocks([block for block in blocks if isinstance(block, Mapping)]) or json.dumps(content)
        messages.append({"role": "assistant", "content": text} if entry.get("role") == "assistant" else _user(text))
    if not any(message["role"] == "user" for message in messages):
        raise Denied("There is no message to answer.")
    return messages


def _user(text: str) -> Message:
    return {"role": "user", "content": text}
