"""Asks servers, and this machine, which models they have."""

from __future__ import annotations

import http.client
import json
import math
import re
import socket
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit, urlunsplit

from agent_core.errors import ProviderError, ProviderStatusError
from agent_core.providers.catalog import CUSTOM, SERVICES, Listing, Service, service_at
from agent_core.providers.choice import ModelChoice, ModelFacts
from agent_core.providers.model_windows import headers_of
from agent_core.providers.pricing import facts_of, known_models
from agent_core.providers.transport_errors import read_at_most, read_facts, readable
from tools.light_dataclass import dataclass

if TYPE_CHECKING:
    import httpx2

    from agent_core.providers.transport import Abort
_OTHER_WORK = re.compile(
    r"""
    embed | rerank | moderation | guard | transcri | whisper | diffusion | dall-?e | imagen
    | (?:^|[-/_.:]) (?: tts | speech | image | images | video | audio | realtime | ocr | veo | sora | lyria | flux
      | aqa | bge | clip ) (?:[-/_.:\d]|$)
    | deep-research | computer-use | gpt-3\.5-turbo-instruct
    | (?:^|/) (?: babbage | davinci | chatgpt-image ) -
    """,
    re.VERBOSE | re.IGNORECASE,
)


def seems_to_chat(model: str) -> bool:
    """Whether a model of that name may be one that an agent can use.

    Those that make vectors, pictures, sound or films, that judge texts, or that are research services of their own
    cannot. A name that says nothing of the kind is believed.
    """
    return _OTHER_WORK.search(model) is None


_WINDOWS = ("context_length", "context_window", "max_model_len", "max_context_length", "max_input_tokens")
"""The window, as OpenRouter and Together, Groq, vLLM, Mistral and Anthropic call it."""

_OTHER_TYPES = frozenset({"image", "embedding", "moderation", "rerank", "audio", "transcribe", "video"})


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model that a server offers, and what is known of it.

    Attributes:
        created: when it came to be, in seconds since the epoch, where the server says so.
        chats: whether an agent can talk to it and give it tools; None where the server does not say.
    """

    id: str
    facts: ModelFacts
    created: float | None = None
    chats: bool | None = None

    @property
    def context_length(self) -> int | None:
        """The window, in tokens."""
        return self.facts.context_length


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a server's list; `next_after` is the id after which the next part begins, None at the end."""

    models: tuple[ListedModel, ...] = ()
    next_after: str | None = None


class UnreadableList(Exception):
    """An answer is no list of models; the text says in which way."""


def read_page(body: bytes) -> Page:
    """The models in an answer, without those that have no name.

    Raises:
        UnreadableList: it is no list of models.
    """
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError) as problem:
        raise UnreadableList("it is not JSON.") from problem
    entries = answer.get("data", answer.get("models")) if isinstance(answer, dict) else answer
    if not isinstance(entries, list):
        raise UnreadableList("the JSON has no list «data».")
    models = tuple(
        ListedModel(entry["id"], _facts(entry), _created(entry), _chats(entry))
        for entry in entries
        if isinstance(entry, dict) and isinstance(entry.get("id"), str) and entry["id"]
    )
    if entries and not models:
        raise UnreadableList("no entry of its list has an «id».")
    more = isinstance(answer, dict) and answer.get("has_more") is True and bool(models)
    return Page(models, models[-1].id if more else None)


def _facts(entry: Mapping[str, Any]) -> ModelFacts:
    window = next((value for name in _WINDOWS if (value := _count(entry.get(name)))), None)
    pricing = entry.get("pricing")
    if not isinstance(pricing, dict) or "overrides" in pricing:  # prices that change with the prompt's length
        return ModelFacts(context_length=window)
    # As OpenRouter gives them, for one token: https://openrouter.ai/docs/api-reference/list-available-models
    return ModelFacts(
        context_length=window,
        input_price=_per_million(pricing.get("prompt")),
        output_price=_per_million(pricing.get("completion")),
        cached_price=_per_million(pricing.get("input_cache_read")),
        written_price=_per_million(pricing.get("input_cache_write")),
    )


def _created(entry: Mapping[str, Any]) -> float | None:
    if seconds := _count(entry.get("created")):  # OpenAI's form
        return float(seconds)
    try:
        return datetime.fromisoformat(str(entry.get("created_at", ""))).timestamp()  # Anthropic's
    except (ValueError, OverflowError, OSError):
        return None


def _chats(entry: Mapping[str, Any]) -> bool | None:
    """What the entry says of its use, in the words of the servers that say it."""
    can, makes = entry.get("capabilities"), _part(entry, "architecture").get("output_modalities")
    takes = entry.get("supported_parameters")
    told = (
        # https://docs.mistral.ai/api/endpoint/models
        *((can.get("completion_chat"), can.get("function_calling")) if isinstance(can, dict) else ()),
        # https://openrouter.ai/docs/api-reference/list-available-models
        "text" in makes if isinstance(makes, list) else None,
        "tools" in takes if isinstance(takes, list) else None,
        # https://docs.fireworks.ai/api-reference/list-models
        entry.get("supports_chat"),
        # https://docs.together.ai/reference/models
        entry.get("type") not in _OTHER_TYPES if isinstance(entry.get("type"), str) else None,
        # https://console.groq.com/docs/models
        entry.get("active"),
    )
    if any(each is False for each in told):
        return False
    return True if any(each is True for each in told) else None


def _part(entry: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = entry.get(name)
    return part if isinstance(part, dict) else {}


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _per_million(price: object) -> float | None:
    # OpenRouter writes numbers as text; -1 stands for a price that depends on the model that it chooses.
    if not isinstance(price, str):
        return None
    try:
        value = float(price)
    except ValueError:
        return None
    return round(value * 1_000_000, 6) if math.isfinite(value) and value >= 0 else None


LIST_TIMEOUT = 10.0
MAX_BYTES = 8 * 1024 * 1024
_MAX_PAGES = 20
_ANTHROPIC_VERSION = "2023-06-01"  # https://platform.claude.com/docs/en/api/versioning
_STEPS = {
    401: "Check the key.",
    403: "Check the key: it may not list models.",
    404: "The server may have no list, or model.base_url is wrong.",
    429: "Wait a moment and try again.",
}


@dataclass(frozen=True, slots=True)
class ModelListing:
    """The models of a provider.

    Attributes:
        source: `live` from the server itself, `catalog` from the shipped data (which may be none).
        problem: why there is no live list, and what to do; None where there is one.
    """

    models: tuple[ListedModel, ...]
    source: Literal["live", "catalog"]
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class _Question:
    """Whose list is asked for, where, in Anthropic's way or OpenAI's, and for how many seconds at most."""

    choice: ModelChoice
    url: str
    anthropic: bool
    timeout: float


class _ListFailed(Exception):
    """There is no live list. The text has a sentence or two for the user."""


def list_models(choice: ModelChoice, *, timeout: float = LIST_TIMEOUT) -> ModelListing:
    """Ask the server of `choice` for its models, for at most `timeout` seconds.

    The key goes where requests would send it. No failure raises: it is told in the listing's `problem`.
    """
    service = _service(choice)
    kind = _kind(service, choice)
    if kind == "none":
        return _catalog(service, f"{choice.endpoint} offers no list of its models that could be asked for here.")
    question = _Question(choice, _url(choice.base_url, kind), kind == "anthropic", timeout)
    try:
        found = _ask(question)
    except _ListFailed as problem:
        return _catalog(service, str(problem))
    return ModelListing(tuple(_with_facts(service, model, question.url) for model in found), "live")


def known_listing(service: str, problem: str) -> ModelListing:
    """What the shipped data know of the models of a catalog's service, and why no more is known."""
    return _catalog(SERVICES.get(service, CUSTOM), problem)


def _catalog(service: Service, problem: str) -> ModelListing:
    name = service.facts_as
    return ModelListing(
        tuple(ListedModel(model, facts_of(name, model)) for model in known_models(name)), "catalog", problem
    )


def _service(choice: ModelChoice) -> Service:
    """The service whose ways the server has: the one of that name, or the one whose address it is."""
    named = SERVICES.get(choice.provider, CUSTOM)
    return service_at(choice.base_url) or CUSTOM if named is CUSTOM else named


def _kind(service: Service, choice: ModelChoice) -> Listing:
    if choice.api_mode in {"bedrock_converse", "offline"}:
        return "none"
    return "anthropic" if service is CUSTOM and choice.api_mode == "anthropic_messages" else service.listing


def _with_facts(service: Service, model: ListedModel, url: str) -> ListedModel:
    """What the server says of its model before what the data says of it."""
    # Gemini's list has the resource's name; requests take both.
    name = model.id.removeprefix("models/") if service.name == "gemini" else model.id
    known = facts_of(service.facts_as, name)
    told = model.facts
    if told == ModelFacts():
        return replace(model, id=name, facts=known)
    sources = (_shown(url), known.source)
    facts = replace(known, context_length=told.context_length or known.context_length)
    if facts.input_price is None and facts.output_price is None:
        facts = replace(
            facts,
            input_price=told.input_price,
            output_price=told.output_price,
            cached_price=told.cached_price,
            written_price=told.written_price,
        )
    facts = replace(facts, source="; ".join(source for source in sources if source))
    return replace(model, id=name, facts=facts)


def _ask(question: _Question) -> Sequence[ListedModel]:
    import httpx2  # noqa: PLC0415 - a tenth of a second, with our transport: only when a list is wanted

    from agent_core.providers.transport import deadline, make_client  # noqa: PLC0415

    choice, timeout = question.choice, question.timeout
    abort: Abort | None = None
    try:
        with make_client(base_url=choice.base_url) as client, deadline(timeout) as abort:
            return _pages(client, question)
    except (httpx2.HTTPError, httpx2.InvalidURL, ProviderError, OSError, ValueError, _ListFailed) as problem:
        # An answer that was given up may look like one that ended.
        if (abort is not None and abort.done) or isinstance(problem, httpx2.TimeoutException):
            raise _ListFailed(
                f"{choice.endpoint} did not list its models within {timeout:g} s. Try again later."
            ) from problem
        if isinstance(problem, ProviderError | _ListFailed):  # of the environment's proxy or CA, or told already
            raise _ListFailed(str(problem)) from problem
        said = readable(str(problem) or type(problem).__name__, choice.api_key)
        raise _ListFailed(
            f"{choice.endpoint} could not be asked for its models ({said}). Check that the server runs and that "
            "model.base_url is right."
        ) from problem


def _pages(client: httpx2.Client, question: _Question) -> list[ListedModel]:
    found: list[ListedModel] = []
    budget = MAX_BYTES
    page = Page()
    for _ in range(_MAX_PAGES):
        body = _get(client, question, page.next_after, budget)
        budget -= len(body)
        try:
            page = read_page(body)
        except UnreadableList as problem:
            raise _ListFailed(
                f"{question.choice.endpoint} answered with something that is no list of models: {problem} "
                "Check model.base_url."
            ) from problem
        found.extend(page.models)
        if page.next_after is None or not question.anthropic:
            break
    return found


def _get(client: httpx2.Client, question: _Question, after: str | None, budget: int) -> bytes:
    choice = question.choice
    parameters: dict[str, str] = {}
    if question.anthropic:
        # https://platform.claude.com/docs/en/api/models/list
        parameters = {"limit": "1000", **({"after_id": after} if after else {})}
    request = client.build_request(
        "GET", question.url, params=parameters or None, headers=_headers(question), timeout=question.timeout
    )
    answer = client.send(request, stream=True)
    body = read_at_most(answer, budget)
    if len(body) > budget:
        raise _ListFailed(f"{choice.endpoint} sent a list of models of more than {MAX_BYTES >> 20} MiB.")
    if answer.status_code != 200:  # noqa: PLR2004
        raise _ListFailed(_refused(choice, answer.status_code, body))
    return body


def _refused(choice: ModelChoice, status: int, body: bytes) -> str:
    problem = ProviderStatusError("", status, body.decode("utf-8", "replace"))
    said = readable(next(iter(read_facts(problem).messages), ""), choice.api_key)
    step = _STEPS.get(status, "Try again later." if status >= 500 else "Check model.base_url.")  # noqa: PLR2004
    return f"{choice.endpoint} answered {status} when asked for its models{f': «{said}»' if said else ''}. {step}"


def _url(base_url: str, kind: Listing) -> str:
    parts = urlsplit(base_url.rstrip("/"))
    versioned = kind != "anthropic" or parts.path.endswith("/v1")
    return urlunsplit(parts._replace(path=f"{parts.path}{'' if versioned else '/v1'}/models"))


def _headers(question: _Question) -> Mapping[str, str]:
    headers = headers_of(question.choice)
    if question.anthropic:
        headers.setdefault("anthropic-version", _ANTHROPIC_VERSION)
    return headers


def _shown(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment=""))


# Model servers on this machine: found only when somebody asks, on the usual ports, without a key or a proxy.

USUAL_PORTS: Mapping[str, Sequence[int]] = MappingProxyType(
    {"ollama": (11434,), "lmstudio": (1234,), "vllm": (8000,), "llamacpp": (8080,)}
)
READ_TIMEOUT = 0.5
_MAX_BYTES = 1024 * 1024
_HOST = "127.0.0.1"
_OWNERS = {"vllm": "vllm", "llamacpp": "llamacpp", "organization_owner": "lmstudio"}
"""What `owned_by` says in the lists of servers that put themselves there."""
_SIGNS = (
    ("ollama", "/api/version", "version"),
    ("llamacpp", "/props", "default_generation_settings"),
    ("lmstudio", "/api/v0/models", "data"),
)
"""Paths that only one kind of server has, and a field of the answer."""


@dataclass(frozen=True, slots=True)
class FoundServer:
    """A model server on this machine.

    Attributes:
        service: the catalog's name for it; `custom` for one that says nothing of its kind.
        base_url: of its OpenAI-compatible API.
        models: the names of its models; there may be none.
    """

    service: str
    base_url: str
    models: tuple[str, ...]


def discover_local(
    ports: Mapping[str, Sequence[int]] = USUAL_PORTS, *, seconds: float = 2.0
) -> tuple[FoundServer, ...]:
    """The servers that answer on these ports of this machine with a list of models, in the order of the ports.

    All ports are tried at once; where nothing listens that takes no time. `seconds` bounds the whole, and
    `READ_TIMEOUT` the wait for each answer.
    """
    probes = [_Probe(port) for port in dict.fromkeys(port for several in ports.values() for port in several)]
    if not probes:
        return ()
    with ThreadPoolExecutor(len(probes), thread_name_prefix="discovery") as threads:
        futures = [threads.submit(probe.look) for probe in probes]
        _, late = wait(futures, seconds)
        if late:
            for probe in probes:
                probe.give_up()
        found = [future.result() for future in futures]
    return tuple(server for server in found if server is not None)


class _Probe:
    """Looks at one port. `give_up`, from another thread, ends it at once."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._over = False

    def look(self) -> FoundServer | None:
        """The server on this port, if it is a model server."""
        listed = self._get("/v1/models")
        if listed is None:
            return None
        try:
            models = tuple(model.id for model in read_page(listed).models)
        except UnreadableList:
            return None
        return FoundServer(self._kind(listed), f"http://{_HOST}:{self._port}/v1", models)

    def give_up(self) -> None:
        with self._lock:
            self._over = True
            if self._socket is not None:
                # It may have ended meanwhile.
                with suppress(OSError):
                    self._socket.shutdown(socket.SHUT_RDWR)

    def _kind(self, listed: bytes) -> str:
        entries = _object(listed).get("data")
        owners = [entry.get("owned_by") for entry in entries if isinstance(entry, dict)] if entries else []
        for owner, service in _OWNERS.items():
            if owner in owners:
                return service
        for service, path, sign in _SIGNS:
            if sign in _object(self._get(path)):
                return service
        return "custom"

    def _get(self, path: str) -> bytes | None:
        """The body of a good answer to `GET path`, else None."""
        # http.client knows no proxies and follows no redirects.
        connection = http.client.HTTPConnection(_HOST, self._port, timeout=READ_TIMEOUT)
        try:
            connection.connect()
            self._uses(connection.sock)
            connection.request("GET", path, headers={"Accept": "application/json"})
            answer = connection.getresponse()
            body = answer.read(_MAX_BYTES + 1)
        except (OSError, http.client.HTTPException):
            return None
        finally:
            self._uses(None)
            connection.close()
        # An answer that was given up may look like one that ended.
        complete = len(body) <= _MAX_BYTES and not self._over
        return body if complete and answer.status == http.client.OK else None

    def _uses(self, used: socket.socket | None) -> None:
        with self._lock:
            self._socket = used
            if self._over and used is not None:
                raise OSError("given up")


def _object(body: bytes | None) -> Mapping[str, Any]:
    try:
        value = json.loads(body or b"")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
