"""Which model is asked, where, in which protocol and with which key: what `resolve` decides and everyone reads."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Literal, NamedTuple, Self
from urllib.parse import urlsplit, urlunsplit

from agent_core.messages import Message
from agent_core.providers.base import ApiMode
from tools.light_dataclass import dataclass

DEFAULT_STALL = 180.0
USUAL_WINDOW = 128_000
"""Tokens that a model is taken to take where nobody says it."""
SMALL_WINDOW = 32_000
"""Tokens below which a model gets a smaller prompt, and few tools."""


def is_small(window: int | None) -> bool:
    """Whether a window has no room for the whole prompt; one that is not known has."""
    return window is not None and window < SMALL_WINDOW


ReasoningBack = Literal["given", "none", "reasoning_content", "thought_signature"]

Transport = Literal["http", "sdk"]
"""What sends requests: our own HTTP, or the SDK of the vendor whose protocol is spoken."""

SignIn = Literal["entra", "google", "aws"]
"""Whose sign-in a request is made with in place of a key: Microsoft Entra ID, Google Cloud, AWS."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A model server: the provider's name and the address of its API."""

    provider: str
    base_url: str

    @property
    def host(self) -> str:
        """The server's host name."""
        return urlsplit(self.base_url).hostname or ""

    @property
    def address(self) -> str:
        """Its address without the password or the key that it may hold, which is for the server only."""
        parts = urlsplit(self.base_url)
        return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment=""))

    def __str__(self) -> str:
        return f"{self.provider} ({self.address})" if self.base_url else self.provider


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a server understands beyond the common part of its protocol; nothing else is sent to it.

    Attributes:
        auth: the header that carries the key.
        max_tokens_field: Chat Completions: the name of the answer's limit.
        nine_in_ids: Chat Completions, Mistral's rules: ids of tool calls have nine letters and digits, and no user's
            message follows a tool's.
        stream_usage: Chat Completions: it knows `stream_options.include_usage`.
        developer_role: it takes the system prompt as `developer`.
        effort: Chat Completions: how the reasoning effort is asked for: not at all, `reasoning_effort`, or
            OpenRouter's `reasoning` object.
        reasoning_back: Chat Completions: what of earlier reasoning goes back: what this server and model gave
            (`given`), nothing, or, where nothing was given, a placeholder as well: in `reasoning_content`, or as
            Gemini's `thought_signature` beside the calls.
        cache_markers: Chat Completions: it takes `cache_control` on content parts.
        cache_key: it takes `prompt_cache_key`.
        reasoning_summary: Responses: it writes summaries of the reasoning (not for every account).
        temperature: it takes a temperature at all.
        files: it takes documents (PDF); None is the protocol's custom: only in Chat Completions they are unusual.
        audio: Chat Completions: it takes recordings as `input_audio` parts, for models that hear.
    """

    auth: Literal["bearer", "x-api-key", "api-key"] = "bearer"
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    nine_in_ids: bool = False
    stream_usage: bool = True
    developer_role: bool = False
    effort: Literal["none", "reasoning_effort", "openrouter"] = "none"
    reasoning_back: ReasoningBack = "given"
    cache_markers: bool = False
    cache_key: bool = False
    reasoning_summary: bool = True
    temperature: bool = True
    files: bool | None = None
    audio: bool = False


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What is known of a model; None is unknown. Prices are US dollars for a million tokens.

    Attributes:
        context_length: the window, in tokens.
        max_output: the longest answer, in tokens.
        vision, audio: it takes images, recordings.
        hour_written_price: of what the cache keeps for an hour; `written_price` is for five minutes.
        priced_up_to: the prices hold for prompts of at most so many tokens; None: for all.
        source: where the figures come from; '' where there are none.
    """

    context_length: int | None = None
    max_output: int | None = None
    vision: bool | None = None
    audio: bool | None = None
    reasoning: bool | None = None
    input_price: float | None = None
    output_price: float | None = None
    cached_price: float | None = None
    written_price: float | None = None
    hour_written_price: float | None = None
    priced_up_to: int | None = None
    source: str = ""


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """The resolved model.

    Attributes:
        source: where the choice of model came from, for `doctor` and messages.
        requested: the model as it was asked for, before aliases and `provider:model` were taken apart.
        api_key: for `base_url`'s host only; the first of the pool.
        spare_keys: the other keys of the provider's pool.
        headers: what this server wants with each request.
        max_tokens: the user's limit of an answer.
        context_length: the window in tokens: the user's figure, else the known one.
        stall_after: seconds without an event after which an answer counts as stalled.
        sign_in: what requests are made with where there is no key; such a server is asked through its vendor's SDK.
    """

    provider: str
    model: str
    api_mode: ApiMode
    base_url: str
    source: str
    requested: str = ""
    api_key: str | None = field(default=None, repr=False)
    spare_keys: tuple[str, ...] = field(default=(), repr=False)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    dialect: Dialect = Dialect()
    facts: ModelFacts = ModelFacts()
    max_tokens: int | None = None
    context_length: int | None = None
    stall_after: float = DEFAULT_STALL
    transport: Transport = "http"
    sign_in: SignIn | None = None

    @property
    def endpoint(self) -> Endpoint:
        """The server, as messages name it."""
        return Endpoint(self.provider, self.base_url)

    @property
    def name(self) -> str:
        """`provider:model`, as the user would type it."""
        return f"{self.provider}:{self.model}"

    @property
    def sent_limit(self) -> int | None:
        """The limit of an answer as it is sent: at most half of the window, or servers refuse any prompt with it."""
        if self.max_tokens is None or self.context_length is None:
            return self.max_tokens
        return min(self.max_tokens, self.context_length // 2)

    def with_key(self, key: str | None) -> Self:
        """The same model with another key."""
        return self if key == self.api_key else replace(self, api_key=key)

    def wrote(self, message: Message) -> Sequence[dict[str, object]]:
        """The sealed items of `message` if this very model wrote it, else none."""
        sealed = message.get("sealed")
        if sealed is None:
            return ()
        ours = (self.api_mode, self.provider, self.model, self.endpoint.address)
        writer = (sealed["api_mode"], sealed["provider"], sealed["model"], sealed.get("address", ours[-1]))
        return sealed["items"] if writer == ours else ()


@dataclass(frozen=True, slots=True)
class ServedWindow:
    """The window of a model at its server.

    Attributes:
        kind: of server: `ollama`, `llamacpp`, `lmstudio`, `vllm`, `sglang`, `tgi`; '' where that is not known.
        tokens: the window in use; None where the server has not decided it yet, or does not say.
        maximum: what the model could take at most, where that is said.
        loaded: the figure holds for the model as it runs: asking again would tell nothing new.
        slots: how many requests share what llama.cpp was started with.
    """

    kind: str = ""
    tokens: int | None = None
    maximum: int | None = None
    loaded: bool = False
    slots: int = 1


# Addresses of the big clouds, made of the region, project or resource that the environment names.

_VERTEX = "https://aiplatform.googleapis.com/v1"
_VERTEX_PATH = re.compile(r"^(?P<root>.*?)/projects/(?P<project>[^/]+)/locations/(?P<region>[^/]+)/?$")
# https://cloud.google.com/vertex-ai/generative-ai/docs/learn/locations: one place, or all places of a continent.
_VERTEX_HOST = re.compile(
    r"(?:(?P<place>[a-z0-9-]+)-aiplatform\.googleapis\.com|aiplatform\.(?P<all>us|eu)\.rep\..*)"
)
_CONTINENTS = ("us", "eu")


class VertexPlace(NamedTuple):
    """Where on Google Cloud a model is asked.

    Attributes:
        root: the address up to the version.
        project: '' where only the sign-in knows it.
    """

    root: str
    project: str
    region: str

    @property
    def address(self) -> str:
        """All of it as one address."""
        if not self.project:
            return self.root
        return f"{self.root}/projects/{self.project}/locations/{self.region}"


def cloud_address(provider: str, environ: Mapping[str, str]) -> str:
    """The address that the environment gives for a provider in a cloud; '' for others, and where it gives none."""
    match provider:
        case "bedrock" | "anthropic-bedrock":
            region = environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION")
            return f"https://bedrock-runtime.{region}.amazonaws.com" if region else ""
        case "anthropic-vertex":
            project = environ.get("ANTHROPIC_VERTEX_PROJECT_ID") or environ.get("GOOGLE_CLOUD_PROJECT") or ""
            region = environ.get("CLOUD_ML_REGION") or "global"
            return VertexPlace(_vertex_root(region), project, region).address
        case "anthropic-foundry":
            resource = environ.get("ANTHROPIC_FOUNDRY_RESOURCE")
            return f"https://{resource}.services.ai.azure.com/anthropic" if resource else ""
    return ""


def vertex_place(base_url: str) -> VertexPlace:
    """What an address of Vertex AI says, `ROOT/projects/PROJECT/locations/REGION` or its root alone."""
    if whole := _VERTEX_PATH.match(base_url):
        return VertexPlace(whole["root"], whole["project"], whole["region"])
    host = _VERTEX_HOST.fullmatch(urlsplit(base_url).hostname or "")
    return VertexPlace(base_url, "", (host["place"] or host["all"]) if host is not None else "global")


def _vertex_root(region: str) -> str:
    if region == "global":
        return _VERTEX
    if region in _CONTINENTS:
        return f"https://aiplatform.{region}.rep.googleapis.com/v1"
    return f"https://{region}-aiplatform.googleapis.com/v1"
