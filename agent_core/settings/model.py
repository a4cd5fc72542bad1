"""What a user can set: the model behind `config.yaml`. Upstream's names and values are accepted and mapped."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import BeforeValidator, Field, field_validator, model_validator

from agent_core.settings.hooks import HooksPart
from agent_core.settings.mcp import McpPart, McpServerPart
from agent_core.settings.sections import (
    BackgroundPart,
    CodePart,
    CompressionPart,
    ContextFilesPart,
    DelegationPart,
    GuardrailSettings,
    LspPart,
    MemoryPart,
    SandboxPart,
    SecurityPart,
    SettingsPart,
    SkillPart,
    TelemetryPart,
    TerminalPart,
    WebPart,
    renamed,
)
from tools.approval.rules import rule_text

RuleText = Annotated[str, BeforeValidator(rule_text)]
"""A permission rule as `kind: pattern`; what is none is an error with its key."""

ApiModeName = Literal["chat_completions", "anthropic_messages", "codex_responses", "bedrock_converse"]
PoolStrategy = Literal["fill_first", "round_robin", "random", "least_used"]
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh"]
_LONGEST_WAIT = 30 * 24 * 3600
_APPROVAL_MODES = {"manual": "auto", "ask": "auto"}
_OTHER_NAMES = {
    "api": "base_url",
    "url": "base_url",
    "api_key_env": "key_env",
    "default_model": "model",
}
"""What upstream calls values of a server's entry, and we."""

OLD_NAMES = frozenset({"fallback_model"})
"""Keys that are understood though `Settings` has no field of that name."""

SHARED_PARTS = frozenset(
    {
        "providers",
        "custom_providers",
        "fallback_providers",
        "auxiliary",
        "credential_pool_strategies",
        "mcp_servers",
    }
)
"""Parts whose entries other programs write too: a wrong one is left out, and is an error only if it is chosen."""


class ServerSettings(SettingsPart):
    """A model server of the user's own, or other values for a known one."""

    understood: ClassVar[frozenset[str]] = frozenset(_OTHER_NAMES)

    base_url: str | None = Field(
        None, description="The server's address, up to and with `/v1`; empty: the provider's own."
    )
    api_key: str | None = Field(
        None, description="The key, for this server and no other; `${NAME}` is the variable `NAME`.", repr=False
    )
    api_keys: tuple[str, ...] = Field((), description="More keys for the same server.", repr=False)
    key_env: str | None = Field(None, description="The variable that holds the key.")
    api_mode: ApiModeName | None = Field(None, description="The wire protocol; normally found by itself.")
    transport: Literal["http", "sdk"] | None = Field(
        None,
        description=(
            "`sdk`: an OpenAI- or Anthropic-style server is asked through its vendor's SDK, a way out where our own "
            "HTTP is refused. Another program's value, the name of a protocol, counts as `api_mode`."
        ),
    )
    headers: dict[str, str] = Field(
        default_factory=dict, description="`NAME: value` lines that are sent with each request.", repr=False
    )
    context_length: int | None = Field(
        None, gt=0, description="The model's window, in tokens; empty: what is known of it, or what its server says."
    )
    max_tokens: int | None = Field(
        None, gt=0, description="The longest answer, in tokens; empty: the server's own limit."
    )
    stall_timeout: float | None = Field(
        None,
        gt=0,
        le=24 * 3600,
        allow_inf_nan=False,
        description=(
            "Seconds without a part of an answer, then it is given up; empty: 180, 600 for models that think, "
            "900 for servers nearby."
        ),
    )

    @model_validator(mode="before")
    @classmethod
    def _names_of_others(cls, value: object) -> object:
        if not isinstance(value, Mapping):
            return value
        ours = renamed(value, _OTHER_NAMES)
        if ours.get("transport") in get_args(ApiModeName):  # upstream's name for the protocol
            ours.setdefault("api_mode", ours.pop("transport"))
        return ours

    @field_validator("base_url")
    @classmethod
    def _is_http(cls, value: str | None) -> str | None:
        value = (value or "").strip()
        if value and not value.startswith(("http://", "https://")):
            raise ValueError("it must begin with http:// or https://")
        return value.rstrip("/") or None

    @property
    def keys(self) -> tuple[str, ...]:
        """Every key that is written here, `api_key` first, none twice; `${NAME}` is not looked up yet."""
        written = (key.strip() for key in (self.api_key or "", *self.api_keys))
        return tuple(dict.fromkeys(key for key in written if key))


class ModelSettings(ServerSettings):
    """Which model is asked, and where."""

    default: str | None = Field(
        None,
        description=(
            "The model's name, as its server knows it, also `provider:model`; `model: NAME` alone works too. "
            "`offline` is the embedded stand-in."
        ),
    )
    provider: str | None = Field(
        None,
        description=(
            "A provider, a name from `providers`, `custom` (any compatible server) or `offline`; "
            "empty: `custom` if there is a `base_url`."
        ),
    )


class NamedServer(ServerSettings):
    """An entry of `providers` or `custom_providers`."""

    name: str = Field("", description="What `model.provider` calls it; of `providers` the key does.")
    model: str | None = Field(None, description="The model that is used when only the provider is chosen.")


class FallbackModel(ServerSettings):
    """An entry of `fallback_providers`: asked when the models before it cannot answer."""

    provider: str | None = Field(None, description="Who serves it.")
    model: str | None = Field(None, description="The model's name; also provider:model.")

    @model_validator(mode="before")
    @classmethod
    def _only_a_name(cls, value: object) -> object:
        return {"model": value} if isinstance(value, str) else value


class CachingSettings(SettingsPart):
    """How long a server should keep a conversation's beginning."""

    cache_ttl: Literal["5m", "1h"] = Field("5m", description="How long, where a server lets one choose.")


class AuxiliaryTask(ServerSettings):
    """The model of a side task."""

    provider: str | None = Field(None, description="Who serves it; empty, or `auto`: the session's own model.")
    model: str | None = Field(None, description="The model's name; also provider:model.")
    timeout: float | None = Field(
        None,
        gt=0,
        le=600,
        allow_inf_nan=False,
        description="Seconds a task may take; empty: 120 for `compression`, else 30.",
    )


class AgentSettings(SettingsPart):
    """How the agent works."""

    max_turns: int = Field(90, ge=1, description="Model requests in one turn, at most; one more is for a summary.")
    api_max_retries: int = Field(4, ge=1, le=20, description="Attempts at one model request, at most.")
    reasoning_effort: Effort | None = Field(
        None,
        description="How much the model thinks; empty: as it does by itself. Another can be chosen for a session.",
    )
    disabled_toolsets: tuple[str, ...] = Field((), description="Toolsets, or single tools, that no session has.")
    ephemeral_system_prompt: str = Field(
        "",
        description=(
            "Goes behind the system prompt in each request, and is neither stored nor exported; "
            "a change needs a restart."
        ),
    )

    save_trajectories: bool = Field(False, description="Keep each finished turn as data to train with.")
    verify_on_stop: bool = Field(
        True,
        description=(
            "Tell the model, before a turn ends, of edits that no check has passed for, open todos and steps that it "
            "only announced; once each."
        ),
    )

    @field_validator("reasoning_effort", mode="before")
    @classmethod
    def _known_efforts(cls, value: object) -> object:
        if value is False:  # YAML reads a bare `off` or `no` so
            return "none"
        return (value.strip().lower() or None) if isinstance(value, str) else value


class SessionSettings(SettingsPart):
    """How stored sessions are handled."""

    idle_minutes: float = Field(
        30.0,
        ge=0,
        le=24 * 60,
        allow_inf_nan=False,
        description="Minutes until a session that nobody uses is unloaded; 0: never. Its next prompt brings it back.",
    )


class EditorSettings(SettingsPart):
    """What new sessions use of their editor."""

    terminals: bool = Field(
        False,
        description=(
            "Run commands in the editor's own terminals, where it offers them; "
            "the option *Editor terminals* changes it for a session."
        ),
    )


class ModelListSettings(SettingsPart):
    """How the lists of models are kept that can be chosen in the editor."""

    renew: bool = Field(
        True,
        description=(
            "Ask the providers that are set up for their models, in the background; "
            "without it what is known already is offered."
        ),
    )


class PluginSettings(SettingsPart):
    """Which plugins are loaded, and what they are told."""

    enabled: tuple[str, ...] | None = Field(
        None,
        description="Only these of the home and of packages, where there is such a list; an empty one loads none.",
    )
    disabled: tuple[str, ...] = Field((), description="Never these.")
    entries: dict[str, Any] = Field(
        default_factory=dict, description="What the plugin of that name is told: its `ctx.settings`.", repr=False
    )
    hook_callback_timeout: float = Field(
        30.0, ge=0, allow_inf_nan=False, description="Seconds that a plugin's hook has; 0, and more than 600: 600."
    )

    def allows(self, name: str) -> bool:
        """Whether the plugin of that name is loaded."""
        return name not in self.disabled and (self.enabled is None or name in self.enabled)


class ApprovalSettings(SettingsPart):
    """When you are asked."""

    mode: Literal["auto", "all", "off"] = Field(
        "auto",
        description=(
            "`auto`: as the session's mode says; `all`: also every command that is not proved harmless; "
            "`off`: sessions begin in *Run everything without asking*. `manual` and `ask` mean `auto`, "
            "`smart` means `auto` with `approvals.smart`."
        ),
    )
    smart: bool = Field(
        False, description="Let a model say yes to what comes back by itself, as `rm -rf node_modules`."
    )
    deny: tuple[RuleText, ...] = Field(
        (), description="Rules about what may not happen, as `run: git push*`; in every mode."
    )
    allow: tuple[RuleText, ...] = Field((), description="Rules about what need not be asked about.")
    timeout: float = Field(
        1800.0,
        gt=0,
        le=_LONGEST_WAIT,
        allow_inf_nan=False,
        description="Seconds a question waits; no answer means no.",
    )

    @model_validator(mode="before")
    @classmethod
    def _names_of_others(cls, value: object) -> object:
        if not isinstance(value, Mapping) or "mode" not in value:
            return value
        # YAML reads a bare `off` as false.
        name = "off" if value["mode"] is False else value["mode"]
        if name == "smart":
            return {"smart": True, **value, "mode": "auto"}
        return {**value, "mode": _APPROVAL_MODES.get(name, name) if isinstance(name, str) else name}


class Settings(SettingsPart):
    """Everything in `config.yaml` that this program reads."""

    model: ModelSettings = Field(default_factory=ModelSettings)
    agent: AgentSettings = Field(default_factory=AgentSettings)
    approvals: ApprovalSettings = Field(default_factory=ApprovalSettings)
    compression: CompressionPart = Field(default_factory=CompressionPart)
    delegation: DelegationPart = Field(default_factory=DelegationPart)
    sessions: SessionSettings = Field(default_factory=SessionSettings)
    editor: EditorSettings = Field(default_factory=EditorSettings)
    model_lists: ModelListSettings = Field(default_factory=ModelListSettings)
    terminal: TerminalPart = Field(default_factory=TerminalPart)
    web: WebPart = Field(default_factory=WebPart)
    lsp: LspPart = Field(default_factory=LspPart)
    memory: MemoryPart = Field(default_factory=MemoryPart)
    security: SecurityPart = Field(default_factory=SecurityPart)
    code_execution: CodePart = Field(default_factory=CodePart)
    sandbox: SandboxPart = Field(default_factory=SandboxPart)
    programs: dict[str, str] = Field(
        default_factory=dict,
        description=(
            "By name (`git`, `rg`, `bwrap`, `ssh`, `docker` …) the absolute path of a program that this agent runs "
            "on its own behalf; without an entry the first on PATH outside of workspaces and temporary directories."
        ),
    )
    context_files: ContextFilesPart = Field(default_factory=ContextFilesPart)
    skills: SkillPart = Field(default_factory=SkillPart)
    mcp: McpPart = Field(default_factory=McpPart)
    mcp_servers: dict[str, McpServerPart] = Field(
        default_factory=dict,
        description="MCP servers by name. Other programs may keep entries here too: a wrong one is left out.",
    )
    background: BackgroundPart = Field(default_factory=BackgroundPart)
    telemetry: TelemetryPart = Field(default_factory=TelemetryPart)
    tool_loop_guardrails: GuardrailSettings = Field(default_factory=GuardrailSettings)
    providers: dict[str, NamedServer] = Field(
        default_factory=dict, description="Model servers by name; a known provider's name: other values for it."
    )
    custom_providers: tuple[NamedServer, ...] = Field((), description="Model servers as a list.")
    fallback_providers: tuple[FallbackModel, ...] = Field(
        (),
        description=(
            "Asked in this order when the model cannot answer; an entry may be just `provider:model`. "
            "`fallback_model`, a single one, is understood too."
        ),
    )
    credential_pool_strategies: dict[str, PoolStrategy] = Field(
        default_factory=dict, description="By provider: which of several keys is used; without an entry `fill_first`."
    )
    prompt_caching: CachingSettings = Field(default_factory=CachingSettings)
    auxiliary: dict[str, AuxiliaryTask] = Field(
        default_factory=dict, description="Models of side tasks, by task; without an entry the session's model."
    )
    plugins: PluginSettings = Field(default_factory=PluginSettings)
    hooks: HooksPart = Field(default_factory=HooksPart)
    platform_toolsets: dict[str, tuple[str, ...]] = Field(
        default_factory=dict,
        description="The toolsets that sessions of a platform (`acp`) have; without an entry `hermes-acp`.",
    )
    command_allowlist: tuple[str, ...] = Field(
        (),
        description=(
            "An older form of `approvals.allow`: commands, word for word or as patterns with a `*`, "
            "that run without a question."
        ),
    )

    @field_validator("programs")
    @classmethod
    def _absolute(cls, value: dict[str, str]) -> dict[str, str]:
        found = {name: os.path.expanduser(path) for name, path in value.items()}  # noqa: PTH111 - text
        for name, path in found.items():
            if not path.startswith("/"):
                raise ValueError(f"{name}: give the program's absolute path")
        return found

    @model_validator(mode="before")
    @classmethod
    def _as_written(cls, value: object) -> object:
        return normalized(value) if isinstance(value, Mapping) else value


def normalized(written: Mapping[Any, Any]) -> dict[Any, Any]:
    """Settings as they may be written, in the form that `Settings` has: short forms and old names put in place."""
    known = {key: _without_nulls(part) for key, part in written.items() if part is not None}
    if isinstance(known.get("model"), str):
        known["model"] = {"default": known["model"]}
    old = known.pop("fallback_model", None)
    if old and "fallback_providers" not in known:
        known["fallback_providers"] = old if isinstance(old, list) else [old]
    return known


def _without_nulls(part: object) -> object:
    """A part of the settings without the keys that YAML has no value for (`max_turns:`)."""
    return {key: value for key, value in part.items() if value is not None} if isinstance(part, Mapping) else part
