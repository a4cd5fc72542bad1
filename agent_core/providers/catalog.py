"""The services that are known by name: addresses, keys, dialects."""

from __future__ import annotations

import difflib
import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import field, replace
from ipaddress import ip_address
from typing import Literal
from urllib.parse import SplitResult, urlsplit, urlunsplit

from agent_core.errors import SettingsError
from agent_core.providers.base import ApiMode
from agent_core.providers.choice import Dialect, SignIn
from tools.light_dataclass import dataclass

# What a model's name alone tells of it. Names change with every month; what is unknown is taken for usual.

_GPT = re.compile(r"gpt-(\d+)(?![\d])")
_OLD_AZURE_NAME = 35
_FIRST_REASONING_GPT = 5
_O_SERIES = re.compile(r"o[1-9](?:-|$)")
_CLAUDE = re.compile(r"claude-(?P<family>[a-z]+)-(?P<major>\d{1,2})(?:[-.](?P<minor>\d{1,2}))?(?!\d)")
# https://platform.claude.com/docs/en/about-claude/models/migration-guide: no sampling from Opus 4.7 on.
_LAST_CLAUDE_WITH_TEMPERATURE = (4, 6)
# https://developers.openai.com/api/docs/guides/audio-chat-completions and https://ai.google.dev/gemini-api/docs/audio.
# The second names no models: that it is all pro and flash ones since 1.5 is what the data's entries have in common.
_HEARS = re.compile(
    r"gpt-audio(?:-|$)|gpt-4o-(?:mini-)?audio-preview|"
    r"gemini-(?:1\.5|[2-9](?:\.\d)?)-(?:pro|flash|flash-lite)(?:-latest|-\d{3}|-preview(?:-[\d-]+)?)?$"
)
_REASONING = re.compile(
    r"(?<!non-)(?:reason|think)|(?:^|[-/:_.])r1(?:[-:]|$)|qwq|gpt-oss|magistral|kimi-k[2-9]|glm-(?:4\.[5-9]|[5-9])|minimax-m"
)
# Models that think between their calls, wherever they are hosted: https://api-docs.deepseek.com/guides/thinking_mode,
# https://platform.kimi.ai/docs/guide/use-kimi-k2-thinking-model, https://docs.z.ai/guides/capabilities/thinking-mode,
# https://platform.xiaomimimo.com/docs/en-US/usage-guide/passing-back-reasoning_content.
_THINKS_BETWEEN_CALLS = (
    r"deepseek[-_.]?(?:v(?:3[-.p_]?[2-9]|[4-9]|\d\d)(?!\d)|reasoner|chat)"
    r"|kimi-(?:k2(?:[-.p_][5-9]|-thinking)|k[3-9]|thinking|latest|for-coding)"
    r"|(?<![a-z])glm-(?:4[-.p_])?[5-9](?![\db])"
    r"|mimo-v[2-9]"
)
# Their chat templates end the prompt with `<think>`.
_BEGINS_IN_THOUGHTS = r"deepseek-r1|(?:^|[-/:])r1-|qwq|qwen\d?[\w.-]*-thinking|nemotron[\w.-]*-reasoning"
# https://ai.google.dev/gemini-api/docs/thought-signatures: from Gemini 3 on calls without one are refused.
_SIGNS_CALLS = r"gemini-(?:[3-9]|\d\d|(?:pro|flash|flash-lite)-latest)"


def is_gpt_5_class(model: str) -> bool:
    """GPT-5 and later: OpenAI serves them with tools only through its Responses API."""
    name = _GPT.match(_bare(model))
    return name is not None and int(name[1]) >= _FIRST_REASONING_GPT and int(name[1]) != _OLD_AZURE_NAME


def is_openai_reasoning(model: str) -> bool:
    """OpenAI's o-series, GPT-5 and later."""
    return is_gpt_5_class(model) or _O_SERIES.match(_bare(model)) is not None


def takes_temperature(model: str) -> bool:
    """Whether a temperature may be sent. Models with a fixed one refuse the request otherwise.

    OpenAI's reasoning models, Moonshot's `kimi-*`, Claude from Opus 4.7 on.
    """
    name = _bare(model)
    if is_openai_reasoning(name) or name.startswith("kimi-"):
        return False
    claude = _CLAUDE.search(name)
    return claude is None or _version(claude) <= _LAST_CLAUDE_WITH_TEMPERATURE


def is_known_to_hear(model: str) -> bool:
    """Whether the name is one of those that their makers document to take recordings."""
    return _HEARS.match(_bare(model).partition(":")[0]) is not None


def seems_to_reason(model: str) -> bool:
    """Whether the name speaks of a model that thinks for a while before it answers."""
    return is_openai_reasoning(model) or _REASONING.search(model.lower()) is not None


def insists_on_reasoning(model: str) -> bool:
    """Whether the name is one of a family that refuses its tool calls without the reasoning before them."""
    return _is_one(model, ("deepseek", "kimi", "glm", "mimo"), _THINKS_BETWEEN_CALLS)


def insists_on_signatures(model: str) -> bool:
    """Whether the name is one of a family that refuses tool calls without its signature."""
    return _is_one(model, ("gemini",), _SIGNS_CALLS)


def seems_to_begin_in_thoughts(model: str) -> bool:
    """Whether the name is one of a model whose template writes the tag that its thoughts begin with."""
    return _is_one(model, ("r1", "qwq", "thinking", "reasoning"), _BEGINS_IN_THOUGHTS)


def _is_one(model: str, words: tuple[str, ...], form: str) -> bool:
    """Whether the name is of this form; it is only compiled for a name that has one of the words."""
    name = model.lower()
    return any(word in name for word in words) and re.search(form, name) is not None


def _bare(model: str) -> str:
    return model.lower().rpartition("/")[2]


def _version(claude: re.Match[str]) -> tuple[int, int]:
    return int(claude["major"]), int(claude["minor"] or 0)


# Which wire protocol a server is spoken to in.

OPENAI_HOST = "api.openai.com"
_BEDROCK_HOST = re.compile(r"bedrock-runtime\.[a-z0-9-]+\.amazonaws\.com")


def resolve_mode(explicit: ApiMode | None, service: ApiMode | None, base_url: str, model: str) -> ApiMode:
    """The protocol: what the settings say, else the only one that the service has, else what the address tells."""
    return explicit or service or _by_address(base_url, model) or "chat_completions"


def _by_address(base_url: str, model: str) -> ApiMode | None:
    parts = urlsplit(base_url)
    host, path = parts.hostname or "", parts.path.rstrip("/")
    if host == "api.anthropic.com" or path.endswith("/anthropic"):
        return "anthropic_messages"
    if _BEDROCK_HOST.fullmatch(host):
        return "bedrock_converse"
    if "/backend-api/codex" in path:
        return "codex_responses"
    if host == OPENAI_HOST and is_gpt_5_class(model):
        return "codex_responses"
    return None


# The services that are known by name, as data: where each is, which variables hold its key, what it understands.
# Nothing here is guessed: what a service does not document is left out of its dialect, and so never sent to it.
# `source` is the page that an entry was checked against.

Access = Literal["key", "optional", "sign-in"]
"""What a request needs: a key, nothing (a key is used if there is one), or the token of a signed-in account."""

Listing = Literal["openai", "anthropic", "none"]
"""How the service lists its models: `GET BASE/models`, `GET BASE/v1/models` in Anthropic's form, or not at all."""


@dataclass(frozen=True, slots=True, eq=False)
class Service:
    """A service that serves models. There is one object for each.

    Attributes:
        base_url: its API; '' where only the user knows it.
        source: the documentation that this entry was checked against.
        keys: the environment variables that may hold its key; the first that does counts.
        hosts: other hosts of the same vendor, that its key may go to; `*` is any one part of a name.
        api_mode: the protocol where there is only one; None leaves it to the address and the model.
        headers: sent with each request to its own hosts.
        dialect: what it understands beyond the common part of the protocol, whichever model is asked.
        ports: where a server on this machine usually listens.
        key_page: where a person makes a key for it, '' if that is not known.
        filed_as: the name under which facts about its models are kept; None is its own, '' is none.
        note: what a user should know, for the table in docs/models.md.
        sign_in: the cloud's sign-in that counts where there is no key; it is asked through its vendor's SDK.
    """

    name: str
    title: str
    base_url: str
    source: str
    keys: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    api_mode: ApiMode | None = None
    access: Access = "key"
    headers: tuple[tuple[str, str], ...] = ()
    dialect: Dialect = field(default=Dialect())
    listing: Listing = "openai"
    ports: tuple[int, ...] = ()
    filed_as: str | None = None
    note: str = ""
    key_page: str = ""
    sign_in: SignIn | None = None

    @property
    def local(self) -> bool:
        """It runs on the user's own machine."""
        return bool(self.ports)

    @property
    def facts_as(self) -> str:
        """The name under which facts about its models are kept; '' if there are none."""
        return self.name if self.filed_as is None else self.filed_as


_THINKS_ALOUD = Dialect(reasoning_back="reasoning_content")
_AZURE = Dialect(max_tokens_field="max_completion_tokens", audio=True)
_AZURE_HOSTS = ("*.openai.azure.com", "*.services.ai.azure.com", "*.cognitiveservices.azure.com")

SIGN_INS: Mapping[SignIn, str] = {"entra": "Microsoft Entra ID", "google": "Google Cloud", "aws": "AWS"}
"""What people call the clouds' sign-ins."""


def _on_this_machine(name: str, title: str, port: int, source: str, note: str) -> Service:
    address = f"http://127.0.0.1:{port}/v1"
    return Service(name, title, address, source, access="optional", ports=(port,), filed_as="", note=note)


_HOSTED = (
    Service(
        "openai",
        "OpenAI",
        "https://api.openai.com/v1",
        "https://developers.openai.com/api/docs/guides/reasoning",
        ("OPENAI_API_KEY",),
        # https://developers.openai.com/api/docs/guides/file-inputs and …/guides/audio-chat-completions
        dialect=Dialect(max_tokens_field="max_completion_tokens", files=True, audio=True),
        note="GPT-5 and later are asked through the Responses API",
        key_page="https://platform.openai.com/api-keys",
    ),
    Service(
        "anthropic",
        "Anthropic",
        "https://api.anthropic.com",
        "https://platform.claude.com/docs/en/api/overview",
        ("ANTHROPIC_API_KEY",),
        api_mode="anthropic_messages",
        listing="anthropic",
        key_page="https://platform.claude.com/settings/keys",
    ),
    Service(
        "openrouter",
        "OpenRouter",
        "https://openrouter.ai/api/v1",
        "https://openrouter.ai/docs/guides/best-practices/reasoning-tokens",
        ("OPENROUTER_API_KEY",),
        # https://openrouter.ai/docs/app-attribution
        headers=(("HTTP-Referer", "https://pypi.org/project/hermes-editor-agent/"), ("X-Title", "hermes-acp")),
        # https://openrouter.ai/docs/guides/overview/multimodal/pdfs: it reads PDFs for models that cannot.
        # https://openrouter.ai/docs/guides/overview/multimodal/audio
        dialect=Dialect(effort="openrouter", files=True, audio=True),
        note="models are named `maker/model`",
        key_page="https://openrouter.ai/settings/keys",
    ),
    Service(
        "gemini",
        "Google Gemini",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "https://ai.google.dev/gemini-api/docs/openai",
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        dialect=Dialect(effort="reasoning_effort", audio=True),
        note="through its OpenAI-compatible endpoint",
        key_page="https://aistudio.google.com/apikey",
    ),
    Service(
        "deepseek",
        "DeepSeek",
        "https://api.deepseek.com",
        "https://api-docs.deepseek.com/guides/thinking_mode",
        ("DEEPSEEK_API_KEY",),
        dialect=_THINKS_ALOUD,
        key_page="https://platform.deepseek.com/api_keys",
    ),
    Service(
        "mistral",
        "Mistral",
        "https://api.mistral.ai/v1",
        "https://github.com/mistralai/client-python/blob/main/docs/sdks/chat/README.md",
        ("MISTRAL_API_KEY",),
        # It refuses what it does not know: https://github.com/openai/openai-agents-python/issues/442
        dialect=Dialect(stream_usage=False, nine_in_ids=True),
        key_page="https://console.mistral.ai/api-keys",
    ),
    Service(
        "groq",
        "Groq",
        "https://api.groq.com/openai/v1",
        "https://console.groq.com/docs/openai",
        ("GROQ_API_KEY",),
        key_page="https://console.groq.com/keys",
    ),
    Service(
        "together",
        "Together AI",
        "https://api.together.ai/v1",
        "https://docs.together.ai/docs/inference/openai-compatibility",
        ("TOGETHER_API_KEY",),
        hosts=("api.together.xyz",),
        note="models are named `maker/model`",
        key_page="https://api.together.ai/settings/api-keys",
    ),
    Service(
        "fireworks",
        "Fireworks AI",
        "https://api.fireworks.ai/inference/v1",
        "https://docs.fireworks.ai/guides/reasoning",
        ("FIREWORKS_API_KEY",),
        note="models are named `accounts/fireworks/models/NAME`",
        key_page="https://app.fireworks.ai/settings/users/api-keys",
    ),
    Service(
        "xai",
        "xAI",
        "https://api.x.ai/v1",
        "https://docs.x.ai/docs/guides/reasoning",
        ("XAI_API_KEY",),
        key_page="https://console.x.ai",
    ),
    Service(
        "moonshot",
        "Moonshot (Kimi)",
        "https://api.moonshot.ai/v1",
        "https://platform.kimi.ai/docs/guide/use-kimi-k2-thinking-model",
        ("MOONSHOT_API_KEY", "KIMI_API_KEY"),
        hosts=("api.moonshot.cn",),
        dialect=_THINKS_ALOUD,
        note="in China set `base_url: https://api.moonshot.cn/v1`",
    ),
    Service(
        "zai",
        "Z.AI (GLM)",
        "https://api.z.ai/api/paas/v4",
        "https://docs.z.ai/guides/capabilities/thinking-mode",
        ("ZAI_API_KEY", "Z_AI_API_KEY", "GLM_API_KEY"),
        hosts=("open.bigmodel.cn",),
        dialect=_THINKS_ALOUD,
        listing="none",
        note="for the Coding Plan set `base_url: https://api.z.ai/api/coding/paas/v4`",
    ),
    Service(
        "minimax",
        "MiniMax",
        "https://api.minimax.io/anthropic",
        "https://platform.minimax.io/docs/api-reference/text-anthropic-api",
        ("MINIMAX_API_KEY",),
        hosts=("api.minimaxi.com",),
        # https://platform.minimaxi.com/docs/api-reference/text-anthropic-api: no documents.
        dialect=Dialect(files=False),
        listing="none",
        note="in China set `base_url: https://api.minimaxi.com/anthropic`",
    ),
    Service(
        "qwen",
        "Alibaba Model Studio (Qwen)",
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        "https://www.alibabacloud.com/help/en/model-studio/compatibility-of-openai-with-dashscope",
        ("DASHSCOPE_API_KEY",),
        hosts=("dashscope.aliyuncs.com", "dashscope-us.aliyuncs.com", "*.*.maas.aliyuncs.com"),
        note="other regions have other addresses: set `base_url`",
    ),
    Service(
        "nous",
        "Nous Research",
        "https://inference-api.nousresearch.com/v1",
        "https://portal.nousresearch.com/help",
        ("NOUS_API_KEY",),
    ),
    Service(
        "huggingface",
        "Hugging Face",
        "https://router.huggingface.co/v1",
        "https://huggingface.co/changelog/inference-providers-openai-compatible",
        ("HF_TOKEN", "HUGGINGFACE_HUB_TOKEN"),
        note="models are named `maker/model`, also `maker/model:server`",
        key_page="https://huggingface.co/settings/tokens",
    ),
    Service(
        "azure",
        "Azure OpenAI",
        "",
        "https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle",
        ("AZURE_OPENAI_API_KEY",),
        hosts=_AZURE_HOSTS,
        dialect=replace(_AZURE, auth="api-key"),
        listing="none",
        note="set `base_url: https://RESOURCE.openai.azure.com/openai/v1`; the model is the deployment's name",
    ),
    Service(
        "azure-entra",
        "Azure OpenAI with Entra ID",
        "",
        "https://learn.microsoft.com/azure/ai-foundry/openai/how-to/managed-identity",
        hosts=_AZURE_HOSTS,
        access="optional",
        dialect=_AZURE,
        listing="none",
        filed_as="azure",
        note=(
            "set `base_url: https://RESOURCE.openai.azure.com/openai/v1`; the model is the deployment's name; the "
            "extra `azure` must be installed"
        ),
        sign_in="entra",
    ),
    Service(
        "github",
        "GitHub Models",
        "https://models.github.ai/inference",
        "https://docs.github.com/en/rest/models/inference",
        ("GITHUB_TOKEN", "GH_TOKEN"),
        listing="none",
        note="a token with the permission `models: read`",
        key_page="https://github.com/settings/personal-access-tokens",
    ),
    Service(
        "bedrock",
        "Amazon Bedrock",
        "",
        "https://docs.aws.amazon.com/bedrock/latest/userguide/api-keys-use.html",
        ("AWS_BEARER_TOKEN_BEDROCK",),
        hosts=("bedrock-runtime.*.amazonaws.com",),
        api_mode="bedrock_converse",
        access="optional",
        listing="none",
        note="the extra `bedrock` must be installed; AWS's own settings count, the region from `AWS_REGION` first",
    ),
    Service(
        "anthropic-bedrock",
        "Claude on Amazon Bedrock",
        "",
        "https://platform.claude.com/docs/en/build-with-claude/claude-on-amazon-bedrock",
        ("AWS_BEARER_TOKEN_BEDROCK",),
        hosts=("bedrock-runtime.*.amazonaws.com",),
        api_mode="anthropic_messages",
        access="optional",
        listing="none",
        filed_as="bedrock",
        note="Claude in its own protocol; else as `bedrock`",
        sign_in="aws",
    ),
    Service(
        "anthropic-vertex",
        "Claude on Google Vertex AI",
        "",
        "https://platform.claude.com/docs/en/build-with-claude/claude-on-vertex-ai",
        hosts=("aiplatform.googleapis.com", "*-aiplatform.googleapis.com", "aiplatform.*.rep.googleapis.com"),
        api_mode="anthropic_messages",
        access="optional",
        listing="none",
        filed_as="anthropic",
        note=(
            "the extra `vertex` must be installed; the project comes from `ANTHROPIC_VERTEX_PROJECT_ID` or the "
            "sign-in, the region from `CLOUD_ML_REGION`, else `global`"
        ),
        sign_in="google",
    ),
    Service(
        "anthropic-foundry",
        "Claude on Microsoft Foundry",
        "",
        "https://platform.claude.com/docs/en/build-with-claude/claude-in-microsoft-foundry",
        ("ANTHROPIC_FOUNDRY_API_KEY",),
        hosts=("*.services.ai.azure.com",),
        api_mode="anthropic_messages",
        access="optional",
        listing="none",
        filed_as="anthropic",
        note=(
            "set `base_url: https://RESOURCE.services.ai.azure.com/anthropic`, or `ANTHROPIC_FOUNDRY_RESOURCE`; "
            "without a key the extra `azure` must be installed"
        ),
        sign_in="entra",
    ),
    Service(
        "codex",
        "ChatGPT account (Codex)",
        "https://chatgpt.com/backend-api/codex",
        "https://github.com/openai/codex",
        api_mode="codex_responses",
        access="sign-in",
        # https://github.com/vybestack/llxprt-code/issues/2608: it refuses documents.
        dialect=Dialect(cache_key=True, files=False),
        listing="none",
        filed_as="openai",
        note="needs a ChatGPT subscription that includes Codex",
    ),
)

_LOCAL = (
    _on_this_machine(
        "ollama",
        "Ollama",
        11434,
        "https://docs.ollama.com/api/openai-compatibility",
        "its window is small by default: start it with `OLLAMA_CONTEXT_LENGTH=65536 ollama serve`",
    ),
    _on_this_machine("lmstudio", "LM Studio", 1234, "https://lmstudio.ai/docs/developer/core/server", ""),
    _on_this_machine(
        "vllm",
        "vLLM",
        8000,
        "https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html",
        "start it with `--enable-auto-tool-choice`",
    ),
    _on_this_machine(
        "llamacpp",
        "llama.cpp",
        8080,
        "https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md",
        "start it with `--jinja`",
    ),
)

CUSTOM = Service(
    "custom",
    "Any compatible server",
    "",
    "https://developers.openai.com/api/reference",
    access="optional",
    filed_as="",
    note="set `base_url`",
)

SERVICES: Mapping[str, Service] = {service.name: service for service in (*_HOSTED, *_LOCAL, CUSTOM)}
"""By name: what `model.provider` says."""


# Names of providers as people write them: aliases, `provider:model`, and what is near a name that nobody knows.

ALIASES: Mapping[str, str] = {
    "alibaba": "qwen",
    "amazon-bedrock": "bedrock",
    "aws": "bedrock",
    "azure-openai": "azure",
    "chatgpt": "codex",
    "claude": "anthropic",
    "claude-bedrock": "anthropic-bedrock",
    "claude-foundry": "anthropic-foundry",
    "claude-vertex": "anthropic-vertex",
    "dashscope": "qwen",
    "entra": "azure-entra",
    "fireworks-ai": "fireworks",
    "foundry": "anthropic-foundry",
    "gemini-api": "gemini",
    "github-models": "github",
    "glm": "zai",
    "google": "gemini",
    "grok": "xai",
    "hf": "huggingface",
    "kimi": "moonshot",
    "llama-cpp": "llamacpp",
    "llama.cpp": "llamacpp",
    "lm-studio": "lmstudio",
    "local": "custom",
    "mistralai": "mistral",
    "moonshotai": "moonshot",
    "nousresearch": "nous",
    "openai-codex": "codex",
    "together-ai": "together",
    "togetherai": "together",
    "vertex": "anthropic-vertex",
    "vertex-ai": "anthropic-vertex",
    "x-ai": "xai",
    "z.ai": "zai",
    "zhipu": "zai",
}

_MAKERS = frozenset({"deepseek", "glm", "grok", "kimi", "minimax", "mistral", "nous", "qwen"})
"""Makers whose models local servers serve too, under names like `qwen:7b`."""


_SHOWN_CHARS = 80


def check_visible(model: str, source: str) -> None:
    """Whether a model's name is one that can be shown and sent.

    Args:
        source: where it was written, for the message.

    Raises:
        SettingsError: there is a line break, a control or another character in it that nobody can see.
    """
    if not model.isprintable():
        raise SettingsError(
            f"The model's name {model[:_SHOWN_CHARS]!r} ({source}) holds a line break or another character that "
            "cannot be seen, so it is not used. Write it on one line, as its server lists it."
        )


def plain(name: str) -> str:
    """A name without what people write in different ways: case, and spaces for hyphens."""
    return "-".join(name.lower().split())


def canonical(name: str, servers: Container[str] = ()) -> str:
    """The name that `name` stands for: one of the user's own servers first, then a service, then an alias of one.

    `custom:NAME` is NAME, if the user has such a server. A name that nobody knows comes back as it is.
    """
    name = plain(name)
    head, colon, rest = name.partition(":")
    if colon and ALIASES.get(head, head) == "custom" and rest in servers:
        return rest
    return name if name in servers or name in SERVICES else ALIASES.get(name, name)


def split_model(text: str, servers: Container[str] = (), beside: str | None = None) -> tuple[str | None, str]:
    """Take `provider:model` apart; (None, text) where the part before the colon is none of the known names.

    Args:
        servers: the names of the user's own servers, in their plain form.
        beside: the canonical provider in whose realm the name was written, if there is one. Models of servers on the
            user's machine have colons themselves (`qwen:7b`), so a maker's name says nothing there.
    """
    head, _, rest = text.partition(":")
    if plain(head) == "custom" and plain(rest.partition(":")[0]) in servers and ":" in rest:
        head, _, rest = rest.partition(":")
    if not rest.strip() or "/" in head:
        return None, text
    provider = canonical(head, servers)
    if provider not in SERVICES and provider not in servers and provider != "offline":
        return None, text
    if _has_colons(beside, servers) and plain(head) in _MAKERS and plain(head) not in servers:
        return None, text
    return provider, rest.strip()


def _has_colons(provider: str | None, servers: Container[str]) -> bool:
    service = SERVICES.get(provider or "")
    return provider in servers or provider == "custom" or (service is not None and service.local)


def unknown_provider(name: str, servers: Iterable[str] = ()) -> str:
    """What to tell of a provider that nobody knows: the nearest names, and all that there are."""
    own = sorted(servers)
    near = difflib.get_close_matches(plain(name), (*own, *SERVICES, *ALIASES), n=3)
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    mine = f" Your own servers: {', '.join(own)}." if own else ""
    return (
        f"Provider {name!r} is not known.{hint} There are: {', '.join(SERVICES)}, offline.{mine} Any other "
        "compatible server is custom, with model.base_url; docs/models.md says more."
    )


# What an address says: whether it can be used, whose it is, and whether two are on the same server.

_PORTS = {"http": 80, "https": 443}
_LOCAL_NAMES = ("localhost", "host.docker.internal")
_LOCAL_ENDINGS = (".localhost", ".local", ".lan", ".internal")


def check_address(base_url: str) -> str:
    """`base_url` without a slash at its end.

    Raises:
        SettingsError: it is no address of a server.
    """
    try:
        parts = urlsplit(base_url)
        usable = parts.scheme in _PORTS and bool(parts.hostname) and (parts.port is None or parts.port > 0)
        usable = usable and base_url.isprintable()
    except ValueError:
        usable = False
    if not usable:
        shown = "(not shown: it may hold a password)" if "@" in base_url else repr(base_url)
        raise SettingsError(
            f"The server's address {shown} cannot be used: give it as http://HOST:PORT/v1 or https://HOST/v1."
        )
    if parts.query or parts.fragment:
        raise SettingsError(
            f"The address at {parts.hostname} cannot be used: paths are added to it, so it must end before any "
            "«?» or «#» (for Azure: https://RESOURCE.openai.azure.com/openai/v1)."
        )
    return base_url.rstrip("/")


def same_server(one: str, other: str) -> bool:
    """Whether what is secret to one server may go to the other: scheme, host and port are equal."""
    return _server(urlsplit(one)) == _server(urlsplit(other))


def is_local(base_url: str) -> bool:
    """Whether the server is on this machine or in a private network, where models are slow to begin."""
    host = host_of(base_url)
    try:
        return (address := ip_address(host)).is_loopback or address.is_private
    except ValueError:
        return host in _LOCAL_NAMES or host.endswith(_LOCAL_ENDINGS)


def belongs_to(service: Service, base_url: str) -> bool:
    """Whether the address is one of the service's own, so that its key may go there."""
    if service.base_url and same_server(base_url, service.base_url):
        return True
    parts = urlsplit(base_url)
    plain = parts.scheme == "https" and _server(parts)[2] == _PORTS["https"]
    return plain and any(_is_host(host_of(base_url), pattern) for pattern in service.hosts)


def service_at(base_url: str, services: Iterable[Service] = SERVICES.values()) -> Service | None:
    """The hosted service that this address belongs to."""
    return next((service for service in services if not service.local and belongs_to(service, base_url)), None)


def host_of(base_url: str) -> str:
    """The host's name, in lower case."""
    return urlsplit(base_url).hostname or ""


def shown(base_url: str) -> str:
    """The address for messages: without a password or a key that it may hold."""
    parts = urlsplit(base_url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment=""))


def _is_host(host: str, pattern: str) -> bool:
    expression = "[a-z0-9-]+".join(re.escape(part) for part in pattern.split("*"))
    return re.fullmatch(expression, host) is not None


def _server(parts: SplitResult) -> tuple[str, str | None, int | None]:
    return parts.scheme, parts.hostname, parts.port or _PORTS.get(parts.scheme)


# What a server understands: the catalog's dialect, made exact by the model and the address.


def dialect_for(service: Service, model: str, base_url: str, api_mode: ApiMode) -> Dialect:
    """The dialect of `service` for this model. A server may refuse a request over a field that it does not know."""
    dialect = replace(service.dialect, temperature=takes_temperature(model))
    if api_mode == "anthropic_messages":
        return replace(dialect, auth="x-api-key")
    if host_of(base_url) == OPENAI_HOST:
        dialect = replace(dialect, cache_key=True, developer_role=is_openai_reasoning(model))
    if service.name in {"openai", "azure", "azure-entra"} and is_openai_reasoning(model):
        dialect = replace(dialect, effort="reasoning_effort")
    if service.name == "openrouter":
        dialect = replace(dialect, cache_markers=model.startswith("anthropic/"))
    if service.name == "moonshot" and model.startswith("moonshot-v1"):
        # The models before Kimi do not think, and their field list has no place for it.
        dialect = replace(dialect, reasoning_back="none")
    elif service.name != "openrouter":
        # OpenRouter puts in for each of its servers what that insists on.
        if insists_on_reasoning(model):
            dialect = replace(dialect, reasoning_back="reasoning_content")
        elif insists_on_signatures(model):
            dialect = replace(dialect, reasoning_back="thought_signature")
    return dialect
