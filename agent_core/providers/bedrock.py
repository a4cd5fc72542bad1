"""Amazon Bedrock's Converse protocol, streamed, over Amazon's own client (an extra)."""

from __future__ import annotations

import base64
import binascii
import contextlib
import functools
import importlib.util
import json
import logging
import os
import re
import struct
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import count
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from agent_core.errors import ProviderProtocolError, ProviderStatusError, SettingsError, SignInFailed
from agent_core.messages import Content, FileData, Message, ToolCall, parse_arguments, text_of
from agent_core.providers.anthropic_messages import claude, thinking
from agent_core.providers.base import (
    CacheTtl,
    ModelRequest,
    ProviderItem,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
    ToolCallArguments,
    ToolCallStarted,
    Usage,
    UsageReport,
)
from agent_core.providers.choice import ModelChoice
from agent_core.providers.http_provider import LONGEST_PIECE, HttpProvider, PieceTooLong, character_count
from agent_core.providers.lessons import Lessons
from agent_core.providers.protocol import (
    Decoder,
    WireProtocol,
    counts_of,
    fitting,
    fitting_id,
    key_header,
    token_count,
)
from agent_core.providers.transport import make_client
from agent_core.providers.transport_errors import (
    SdkErrors,
    decoded,
    failure_of,
    readable,
    refused,
    reported_error,
    said_in,
    status_error,
    without_token,
)
from tools.errors import install_line
from tools.light_dataclass import dataclass
from tools.quick_json import whole_text

if TYPE_CHECKING:
    import httpx2
    from botocore.awsrequest import AWSPreparedRequest, AWSResponse


# Amazon's binary framing of event streams, read with its own library, which is loaded with its client.

CONTENT_TYPE = "application/vnd.amazon.eventstream"
_STATUS = {
    "validationException": 400,
    "accessDeniedException": 403,
    "modelTimeoutException": 408,
    "modelStreamErrorException": 424,
    "modelErrorException": 424,
    "throttlingException": 429,
    "modelNotReadyException": 429,
    "internalServerException": 500,
    "serviceUnavailableException": 503,
}


def messages(pieces: Iterable[bytes], choice: ModelChoice) -> Iterator[Any]:
    """The stream's messages (`botocore.eventstream.EventStreamMessage`).

    Raises:
        PieceTooLong: one is longer than any is read.
        ProviderProtocolError: what comes is not in this framing.
    """
    from botocore.eventstream import EventStreamBuffer, ParserError  # noqa: PLC0415 - loaded with the client

    frames, waiting = EventStreamBuffer(), 0
    for piece in pieces:
        frames.add_data(piece)
        waiting += len(piece)
        try:
            found = list(frames)
        except (ParserError, struct.error, LookupError, ValueError) as problem:
            raise ProviderProtocolError(
                f"{choice.endpoint} sent something that is no event of Bedrock's in its answer."
            ) from problem
        if found:
            waiting = 0
        elif waiting > LONGEST_PIECE:
            raise PieceTooLong
        yield from found


def error_in(headers: Mapping[str, Any], payload: bytes, choice: ModelChoice) -> ProviderStatusError | None:
    """The error that a message of the stream reports; None for an event."""
    if headers.get(":message-type") == "event":
        return None
    # An exception is in the service's model; an error is what went wrong on the way and has no payload.
    kind = str(headers.get(":exception-type") or headers.get(":error-code") or "unknown")
    said, status = str(headers.get(":error-message") or ""), _STATUS.get(_small(kind))
    try:
        said = str(json.loads(payload)["message"])
    except (ValueError, KeyError, TypeError):
        said = said or payload.decode("utf-8", "replace")
    quoted = readable(said, choice.api_key)
    return ProviderStatusError(
        f"{choice.endpoint} reported an error in the middle of its answer ({kind}): «{quoted}». "
        "Send the prompt again.",
        status,
        without_token(json.dumps({"__type": kind, "message": said}, ensure_ascii=False), choice),
    )


def _small(kind: str) -> str:
    return kind[:1].lower() + kind[1:]


# Amazon's own client for Bedrock, with its requests sent over our interruptible HTTP.
# The client resolves credentials and regions, writes the request and signs it. Its own connections cannot be ended by
# another thread; so each request is taken over just before it would be sent.

_OK = 200
_OPERATION = "bedrock-runtime.ConverseStream"
_REGION = re.compile(r"(?:^|\.)bedrock-runtime(?:-fips)?\.([a-z]{2,}-[a-z0-9-]+)\.")
_AMAZON = re.compile(r"(?:^|\.)(?:amazonaws\.com(?:\.cn)?|api\.aws)$")
_ANY_REGION = "us-east-1"
LOG_IN = (
    "Set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or log in with `aws sso login`; or put a "
    "Bedrock API key into AWS_BEARER_TOKEN_BEDROCK."
)


def check_installed() -> None:
    """Find out, without loading it, whether the client is there.

    Raises:
        SettingsError: it is not; the text has the line that installs it.
    """
    if importlib.util.find_spec("botocore") is None:
        raise SettingsError(
            "Amazon Bedrock is asked through Amazon's own client, boto3, which is not installed. Run: "
            f"{install_line('bedrock')}"
        )


class BedrockClient:
    """The client for `choice`. Several threads may use it at once."""

    def __init__(self, choice: ModelChoice) -> None:
        check_installed()

        self._choice = choice
        with told(choice):
            self._http = make_client(ca_bundle=os.environ.get("AWS_CA_BUNDLE"))
            self._aws = _amazon_client(choice)
        self._answers = threading.local()
        self._aws.meta.events.register(f"before-send.{_OPERATION}", self._send)

    def converse(self, request: Mapping[str, Any]) -> httpx2.Response:
        """Send a request; the answer's body is still to be read, and to be closed.

        Raises:
            ProviderStatusError: the server answered that something failed, or there are no credentials.
            ProviderProtocolError: the answer is no event stream.
            botocore.exceptions.BotoCoreError, httpx2.TransportError: it could not be sent.
        """
        with told(self._choice):
            self._aws.converse_stream(**request)
        answer: httpx2.Response = self._answers.__dict__.pop("latest")
        return answer

    def close(self) -> None:
        """Close the connections."""
        self._aws.close()
        self._http.close()

    def _send(self, request: AWSPreparedRequest, **_: Any) -> AWSResponse:
        from botocore.awsrequest import AWSResponse  # noqa: PLC0415 - loaded with the client

        headers = {**dict(request.headers.items()), **dict(self._choice.headers)}
        if self._choice.api_key:
            headers["Authorization"] = f"Bearer {self._choice.api_key}"
        ours = self._http.build_request(request.method, request.url, headers=headers, content=request.body)
        answer = self._http.send(ours, stream=True)
        _check(answer, self._choice)
        self._answers.latest = answer
        return AWSResponse(request.url, answer.status_code, dict(answer.headers), None)


@contextlib.contextmanager
def told(choice: ModelChoice) -> Iterator[None]:
    """Say what to do where Amazon's client finds no credentials, or is refused new ones."""
    from botocore import exceptions as aws  # noqa: PLC0415

    missing = (
        aws.NoCredentialsError,
        aws.PartialCredentialsError,
        aws.CredentialRetrievalError,
        aws.ProfileNotFound,
        aws.SSOError,
        aws.TokenRetrievalError,
        aws.NoAuthTokenError,
    )
    try:
        yield
    except missing as problem:
        said = readable(str(problem), choice.api_key)
        body = json.dumps({"__type": type(problem).__name__, "message": str(problem)})
        raise SignInFailed(
            f"{choice.endpoint} was not asked: there are no AWS credentials to use («{said}»).", LOG_IN, body
        ) from problem
    except aws.NoRegionError as problem:
        raise SettingsError(
            "Amazon Bedrock was not asked: there is no AWS region. Set AWS_REGION, or model.base_url to "
            "https://bedrock-runtime.REGION.amazonaws.com."
        ) from problem
    except aws.ClientError as problem:
        # Of the services that give out credentials: for Bedrock's own answers `_check` speaks.
        failure, answer = problem.response.get("Error", {}), problem.response.get("ResponseMetadata", {})
        body = json.dumps({"__type": failure.get("Code", ""), "message": failure.get("Message", "")})
        raise status_error(
            choice, int(answer.get("HTTPStatusCode", 401)), body, answer.get("HTTPHeaders")
        ) from problem


def amazon_errors() -> SdkErrors:
    """The client's exceptions. A status and a time-out are not among them: the connections are ours."""
    from botocore import exceptions as aws  # noqa: PLC0415

    return SdkErrors(aws.HTTPClientError, aws.BotoCoreError)


def _check(answer: httpx2.Response, choice: ModelChoice) -> None:
    if answer.status_code != _OK:
        raise refused(choice, answer)
    kind = answer.headers.get("content-type", "")
    if not kind.startswith(CONTENT_TYPE):
        if (failure := failure_of(said_in(answer), is_error=False)) is not None:
            raise reported_error(choice, failure)
        raise ProviderProtocolError(
            f"{choice.endpoint} did not answer with Bedrock's stream of events but with {kind or 'nothing'}. Check "
            "that model.base_url is the address of a Bedrock runtime endpoint."
        )


def _amazon_client(choice: ModelChoice) -> Any:
    from botocore import UNSIGNED  # noqa: PLC0415 - takes most of a second: only when Bedrock is really asked
    from botocore.config import Config  # noqa: PLC0415
    from botocore.session import get_session  # noqa: PLC0415

    # At its most talkative it logs requests with their keys.
    logging.getLogger("botocore").setLevel(logging.INFO)
    host = urlsplit(choice.base_url).hostname or ""
    # Amazon's key of the environment goes to Amazon only, a signature may go anywhere.
    signature = UNSIGNED if choice.api_key else "v4" if host and not _AMAZON.search(host) else None
    session = get_session()
    session.register_component("data_loader", _descriptions())
    return session.create_client(
        "bedrock-runtime",
        region_name=region_at(host, signed=choice.api_key is None) or session.get_config_variable("region"),
        endpoint_url=choice.base_url or None,
        config=Config(
            signature_version=signature,
            retries={"total_max_attempts": 1, "mode": "standard"},
            # It would go through the whole history each time; the server checks it anyway.
            parameter_validation=False,
        ),
    )


@functools.cache
def _descriptions() -> Any:
    """The descriptions of Amazon's services: reading them again for each key of a pool would take its time."""
    from botocore.loaders import create_loader  # noqa: PLC0415
    from botocore.session import get_session  # noqa: PLC0415

    return create_loader(get_session().get_config_variable("data_path"))


def region_at(host: str, *, signed: bool) -> str | None:
    """The region of an address, else of the environment; None leaves it to Amazon's own settings."""
    found = _REGION.search(host)
    if found is not None:
        return found[1]
    named = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    # Only the signature needs the region of a server that is named itself.
    return named or (_ANY_REGION if host and not signed else None)


# The protocol.

# Documents as Converse takes them: as bytes, under a name of few kinds of characters that no other document has.
# Source: docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_DocumentBlock.html. That no two documents of a
# request may have one name is what the service says when it refuses them.

Block = dict[str, Any]

_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9 ()\[\]-]+")
_LONGEST_NAME = 200
_ROOM_FOR_NUMBER = 6
_NAMELESS = "Document"


def document_block(file: FileData) -> Block:
    """The document, or words in its place if it cannot be read."""
    try:
        content = base64.b64decode(file["file_data"].partition(",")[2], validate=True)
    except binascii.Error:
        return {"text": f"[A document that cannot be read: {file['filename']}]"}
    return {"document": {"format": "pdf", "name": _name(file["filename"]), "source": {"bytes": content}}}


def name_apart(messages: Sequence[Block]) -> None:
    """Number the later ones of documents with one name; more messages never change the names of earlier ones."""
    taken: set[str] = set()
    for message in messages:
        for document in _documents(message["content"]):
            document["name"] = _free(document["name"], taken)
            taken.add(document["name"].lower())


def _documents(blocks: Sequence[Block]) -> Iterator[Block]:
    for block in blocks:
        if "document" in block:
            yield block["document"]
        yield from _documents(block.get("toolResult", {}).get("content", ()))


def _free(name: str, taken: set[str]) -> str:
    if name.lower() not in taken:
        return name
    stem = name[: _LONGEST_NAME - _ROOM_FOR_NUMBER].rstrip()
    return next(free for number in count(2) if (free := f"{stem} {number}").lower() not in taken)


def _name(filename: str) -> str:
    stem = re.sub(r"\.pdf$", "", filename, flags=re.IGNORECASE)
    legal = _NOT_IN_NAMES.sub("-", " ".join(stem.split()))
    return legal[:_LONGEST_NAME].strip(" -") or _NAMELESS


# A request as Bedrock's Converse takes it: messages in blocks, tools, limits, and marks for its cache.
# Source: docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html, and for the marks
# docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html.

Items = Sequence[dict[str, object]]

AFTER_TEXT, AFTER_CALLS = "after_text", "after_calls"
"""Where a piece of reasoning stands in its answer: after so many characters of text and so many calls."""

_GO_ON = "Go on."
_NO_OUTPUT = "(no output)"
_ATTACHED = "Attached:"
_MARKED_MESSAGES = 3
_IMAGE_FORMATS = {
    "image/png": "png",
    "image/jpeg": "jpeg",
    "image/jpg": "jpeg",
    "image/gif": "gif",
    "image/webp": "webp",
}
_FIRST_CACHED_CLAUDE, _FIRST_CACHED_HAIKU, _FIRST_WITH_HOURS = (3, 7), (3, 5), (4, 5)


def to_converse(request: ModelRequest, choice: ModelChoice) -> dict[str, Any]:
    """The arguments of `converse_stream`. The same messages always become the same blocks, marks apart."""
    asked, limits, fields = _limits(request, choice)
    system, messages = _blocks(fitting(request.messages, choice), choice if asked else None)
    name_apart(messages)
    if request.cache_ttl is not None:
        _mark(system, messages, request.model, request.cache_ttl)
    body: dict[str, Any] = {"modelId": request.model, "messages": messages}
    if system:
        body["system"] = system
    if tools := _tools(request):
        body["toolConfig"] = {"tools": tools}
    if limits:
        body["inferenceConfig"] = limits
    if fields:
        body["additionalModelRequestFields"] = fields
    return body


def _limits(request: ModelRequest, choice: ModelChoice) -> tuple[bool, dict[str, Any], dict[str, Any]]:
    """Whether earlier reasoning goes back, the limits, and what only this model understands."""
    limits: dict[str, Any] = {}
    if request.max_tokens is not None:
        limits["maxTokens"] = request.max_tokens
    if claude(request.model) is None:
        if request.temperature is not None and choice.dialect.temperature:
            limits["temperature"] = request.temperature
        return True, limits, {}
    asked = thinking(request, choice)
    if request.max_tokens is not None or "budget_tokens" in asked.fields.get("thinking", {}):
        limits["maxTokens"] = asked.max_tokens
    if request.temperature is not None and asked.sampling and choice.dialect.temperature:
        limits["temperature"] = request.temperature
    return asked.sends_back, limits, dict(asked.fields)


def _blocks(messages: Sequence[Message], choice: ModelChoice | None) -> tuple[list[Block], list[Block]]:
    """The system prompt and the conversation: user and assistant in turn, the user first and last."""
    system: list[Block] = []
    sent: list[Block] = []
    for message in messages:
        match message["role"]:
            case "system":
                system.extend(_texts(text_of(message["content"])))
            case "assistant":
                _add(sent, "assistant", _answer(message, choice.wrote(message) if choice else ()))
            case "tool":
                _add(sent, "user", [_result(message)])
            case "user":
                _add(sent, "user", _content(message["content"]))
    if not sent or sent[0]["role"] == "assistant":
        sent.insert(0, {"role": "user", "content": [{"text": _GO_ON}]})
    if sent[-1]["role"] == "assistant":
        _add(sent, "user", [{"text": _GO_ON}])
    return system, sent


def _add(sent: list[Block], role: str, blocks: Sequence[Block]) -> None:
    if not blocks:
        return
    if sent and sent[-1]["role"] == role:
        sent[-1]["content"].extend(blocks)
    else:
        sent.append({"role": role, "content": list(blocks)})


def _answer(message: Message, items: Items) -> list[Block]:
    """The blocks of an answer, its reasoning at the places where it came."""
    text, calls = text_of(message["content"]), message.get("tool_calls", [])
    blocks: list[Block] = []
    text_at = calls_at = 0
    for item in items:
        text_to, calls_to = _place(item, AFTER_TEXT), _place(item, AFTER_CALLS)
        blocks += [*_texts(text[text_at:text_to]), *map(_call, calls[calls_at:calls_to]), *_reasoning(item)]
        text_at, calls_at = max(text_at, text_to), max(calls_at, calls_to)
    return [*blocks, *_texts(text[text_at:]), *map(_call, calls[calls_at:])]


def _place(item: dict[str, object], key: str) -> int:
    value = item.get(key, 0)
    return value if isinstance(value, int) else 0


def _reasoning(item: dict[str, Any]) -> Iterator[Block]:
    content = item.get("reasoningContent") or {}
    if sealed := content.get("redactedContent"):
        yield {"reasoningContent": {"redactedContent": base64.b64decode(sealed)}}
    elif "reasoningText" in content:
        yield {"reasoningContent": {"reasoningText": dict(content["reasoningText"])}}


def _call(call: ToolCall) -> Block:
    function = call["function"]
    try:
        arguments = parse_arguments(function["arguments"])
    except ValueError:
        arguments = {}
    use = {"toolUseId": fitting_id(call["id"]), "name": fitting_id(function["name"]), "input": arguments}
    return {"toolUse": use}


def _result(message: Message) -> Block:
    content = _content(message["content"]) or [{"text": _NO_OUTPUT}]
    return {"toolResult": {"toolUseId": fitting_id(message.get("tool_call_id", "")), "content": content}}


def _content(content: Content | None) -> list[Block]:
    if content is None or isinstance(content, str):
        return list(_texts(content or ""))
    blocks = [block for part in content for block in _part(part)]
    if any("document" in block for block in blocks) and not any("text" in block for block in blocks):
        # A document is refused where no text stands beside it.
        blocks.insert(0, {"text": _ATTACHED})
    return blocks


def _part(part: Any) -> Iterator[Block]:
    match part["type"]:
        case "text":
            yield from _texts(part["text"])
        case "image_url":
            yield _image(part["image_url"]["url"])
        case "file":
            yield document_block(part["file"])


def _image(url: str) -> Block:
    head, _, data = url.removeprefix("data:").partition(",")
    kind = _IMAGE_FORMATS.get(head.partition(";")[0].lower())
    if not url.startswith("data:") or kind is None:
        # Converse takes the bytes of four formats only, and no address.
        shown = head if url.startswith("data:") else url
        return {"text": f"[An image that this model cannot be shown: {shown}]"}
    try:
        return {"image": {"format": kind, "source": {"bytes": base64.b64decode(data)}}}
    except binascii.Error:
        return {"text": "[An image that cannot be read]"}


def _texts(text: str) -> Iterator[Block]:
    # A block of nothing but white space is refused, and half of a surrogate pair is no text.
    if text.strip():
        yield {"text": text.encode("utf-8", "replace").decode()}


def _tools(request: ModelRequest) -> list[Block]:
    """The tools; where none are given but were used before, their bare names: calls without tools are refused."""
    if request.tools:
        return [_tool(tool["function"]) for tool in request.tools]
    calls = (call["function"]["name"] for message in request.messages for call in message.get("tool_calls", ()))
    return [_tool({"name": fitting_id(name)}) for name in dict.fromkeys(calls)]


def _tool(function: dict[str, Any]) -> Block:
    schema = function.get("parameters") or {"type": "object", "properties": {}}
    spec: Block = {"name": function["name"], "inputSchema": {"json": schema}}
    if description := function.get("description"):
        spec["description"] = description
    return {"toolSpec": spec}


def _mark(system: list[Block], messages: list[Block], model: str, ttl: CacheTtl) -> None:
    """Mark the ends of the system prompt and of the user's last messages, for models that keep a marked prefix."""
    known, nova = claude(model), "amazon.nova-" in model.lower()
    oldest = _FIRST_CACHED_HAIKU if known is not None and known.family == "haiku" else _FIRST_CACHED_CLAUDE
    if not nova and (known is None or known.version < oldest):
        return
    longer = ttl == "1h" and known is not None and known.version >= _FIRST_WITH_HOURS
    point = {"cachePoint": {"type": "default", "ttl": ttl} if longer else {"type": "default"}}
    if system:
        system.append(point)
    # Nova refuses a mark beside tool results.
    carriers = [m for m in messages if m["role"] == "user" and not (nova and "toolResult" in m["content"][0])]
    for message in carriers[-_MARKED_MESSAGES:]:
        message["content"].append(point)


# Bedrock's event stream as the agent's events.
# Source: docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStreamOutput.html.


@dataclass(slots=True)
class _Reasoning:
    after_text: int
    after_calls: int
    text: list[str] = field(default_factory=list)
    signature: str = ""
    redacted: str = ""

    def item(self) -> dict[str, Any] | None:
        """What goes back to the model; None for reasoning that it did not sign: no model wants that back."""
        if self.redacted:
            content: dict[str, Any] = {"redactedContent": self.redacted}
        elif self.signature:
            content = {"reasoningText": {"text": whole_text("".join(self.text)), "signature": self.signature}}
        else:
            return None
        return {"reasoningContent": content, AFTER_TEXT: self.after_text, AFTER_CALLS: self.after_calls}


class ConverseDecoder(Decoder):
    """Reads one answer. Once it is finished, only its count of tokens may still come."""

    def __init__(self, choice: ModelChoice) -> None:
        self._choice = choice
        self._text = 0
        self._calls: set[int] = set()
        self._reasoning: dict[int, _Reasoning] = {}

    def feed(self, data: bytes) -> Iterator[StreamEvent]:
        """The events in one message of the stream, an object with the event by its name."""
        payload = decoded(data, self._choice)
        try:
            for kind, value in payload.items():
                yield from self._events(kind, value)
        except (AttributeError, KeyError, TypeError, ValueError) as problem:
            raise ProviderProtocolError(
                f"{self._choice.endpoint} sent an answer that does not follow Bedrock's Converse protocol."
            ) from problem

    def _events(self, kind: str, value: dict[str, Any]) -> list[StreamEvent]:
        match kind:
            case "contentBlockStart":
                return self._start(int(value["contentBlockIndex"]), value["start"])
            case "contentBlockDelta":
                return self._delta(int(value["contentBlockIndex"]), value["delta"])
            case "contentBlockStop":
                reasoning = self._reasoning.pop(int(value["contentBlockIndex"]), None)
                item = reasoning.item() if reasoning is not None else None
                return [] if item is None else [ProviderItem(item)]
            case "messageStop":
                self.ends(value["stopReason"])
            case "metadata":
                self.done = self.finished is not None
                return [UsageReport(_usage(counts_of(value.get("usage"))))]
        return []

    def _start(self, index: int, start: dict[str, Any]) -> list[StreamEvent]:
        use = start.get("toolUse")
        # A tool that the server runs itself is no call of ours.
        if use is None or use.get("type"):
            return []
        self._calls.add(index)
        return [ToolCallStarted(index, str(use["toolUseId"]), str(use["name"]))]

    def _delta(self, index: int, delta: dict[str, Any]) -> list[StreamEvent]:
        if text := delta.get("text"):
            self._text += character_count(text)
            return [TextDelta(str(text))]
        if use := delta.get("toolUse"):
            said = use.get("input")
            said = said if isinstance(said, str) else json.dumps(said)
            return [ToolCallArguments(index, said)] if said and index in self._calls else []
        if piece := delta.get("reasoningContent"):
            return self._reason(index, piece)
        return []

    def _reason(self, index: int, piece: dict[str, Any]) -> list[StreamEvent]:
        reasoning = self._reasoning.setdefault(index, _Reasoning(self._text, len(self._calls)))
        reasoning.signature += str(piece.get("signature") or "")
        reasoning.redacted += str(piece.get("redactedContent") or "")
        text = str(piece.get("text") or "")
        reasoning.text.append(text)
        return [ReasoningDelta(text)] if text else []


def _usage(usage: Mapping[str, Any]) -> Usage:
    # `inputTokens` counts only what was neither read from the cache nor written to it.
    fresh = token_count(usage.get("inputTokens"))
    cached = token_count(usage.get("cacheReadInputTokens"))
    written = token_count(usage.get("cacheWriteInputTokens"))
    return Usage(
        input_tokens=None if fresh is None else fresh + (cached or 0) + (written or 0),
        output_tokens=token_count(usage.get("outputTokens")),
        cached_tokens=cached,
        written_tokens=written,
    )


# Amazon Bedrock's Converse protocol, streamed. Needs the extra `bedrock`.

CONVERSE = WireProtocol("Bedrock's Converse", "", key_header, to_converse, ConverseDecoder)


class BedrockProvider(HttpProvider):
    """Bedrock in the region of `choice`, asked by Amazon's own client. Implements `Provider`.

    The look-up of credentials is Amazon's own and takes seconds at most; a cancel does not end it, but after that
    nothing is sent any more.
    """

    stream_type = CONTENT_TYPE

    def __init__(self, choice: ModelChoice, lessons: Lessons | None = None) -> None:
        check_installed()
        super().__init__(choice, CONVERSE, lessons)
        self._amazon: BedrockClient | None = None

    def amazon(self) -> BedrockClient:
        """Amazon's client, made at first use.

        Raises:
            SettingsError: it is not installed, or there is no region.
        """
        check_installed()
        with self._lock:
            if self._amazon is None:
                self._amazon = BedrockClient(self.choice)
            return self._amazon

    def warm(self) -> None:
        """Load Amazon's client and look for credentials."""
        self.amazon()

    def send(self, request: ModelRequest, choice: ModelChoice) -> httpx2.Response:
        """The answer, its body unread."""
        return self.amazon().converse(self.protocol.encode(request, choice))

    def pieces(self, answer: httpx2.Response, choice: ModelChoice) -> Iterator[bytes]:
        """Bedrock's messages as server-sent events, each an object with the event by its name."""
        for message in messages(super().pieces(answer, choice), choice):
            if (failure := error_in(message.headers, message.payload, choice)) is not None:
                raise failure
            kind = json.dumps(str(message.headers.get(":event-type"))).encode()
            yield b"data: {%b:%b}\n\n" % (kind, b" ".join(message.payload.splitlines()))

    def sdk_errors(self) -> SdkErrors:
        """The exceptions of Amazon's client."""
        check_installed()
        return amazon_errors()

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            amazon, self._amazon = self._amazon, None
        if amazon is not None:
            amazon.close()
