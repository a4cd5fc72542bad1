"""The services that are known by name, as data: where each is, which variables hold its key, what it understands.

Nothing here is guessed: what a service does not document is left out of its dialect, and so never sent to it.
`source` is the page that an entry was checked against.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Literal

from agent_core.providers.base import ApiMode
from agent_core.providers.choice import Dialect, SignIn
from tools.light_dataclass import dataclass

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
