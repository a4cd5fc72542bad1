"""What a user can set about MCP servers: `mcp_servers` and `mcp` of `config.yaml`. Upstream's form is understood."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from agent_core.settings.sections import ToolPart, bare_words

Sampling = Literal["ask", "allow", "off"]
ToolSearch = Literal["auto", "on", "off"]

_ONE_DAY = 24 * 3600
_SECRETIVE = frozenset({"env", "args", "headers", "url", "oauth", "command"})
"""Keys of a server whose values are not shown in errors."""


class McpToolsPart(ToolPart):
    """Which of a server's offers are used."""

    include: tuple[str, ...] | None = Field(
        None,
        description="Only these, by the server's own names; patterns with a `*`. `exclude` is not looked at.",
    )
    exclude: tuple[str, ...] = Field((), description="Not these tools.")
    resources: bool = Field(True, description="Offer its resources.")
    prompts: bool = Field(True, description="Offer its prompts as commands.")

    @field_validator("include", "exclude", mode="before")
    @classmethod
    def _listed(cls, value: object) -> object:
        return (value,) if isinstance(value, str) else value


class McpSamplingPart(ToolPart):
    """Whether a server may ask a model."""

    enabled: bool = Field(
        True, description="It may have a model's answer, as `mcp.sampling` says; `sampling: false` is enough."
    )
    max_tokens_cap: int = Field(4096, ge=1, description="The longest answer, in tokens.")
    max_rpm: int = Field(10, ge=1, description="Requests in a minute, at most.")


class McpElicitationPart(ToolPart):
    """Whether a server may ask the person."""

    enabled: bool = Field(True, description="Its questions reach you; `elicitation: false` is enough.")


class McpOAuthPart(ToolPart):
    """A client of the user's own at the server that signs in; normally none is needed."""

    client_id: str = Field("", description="The client's name.")
    client_secret: str = Field("", description="Its secret; `${NAME}` is the variable `NAME`.", repr=False)
    scope: str = Field("", description="What is asked for; empty: what the server names.")
    redirect_port: int = Field(0, ge=0, le=65535, description="The port on this machine; 0: any.")


class McpServerPart(ToolPart):
    """One MCP server: a program (`command`), or an address (`url`)."""

    command: str = Field("", description="A program. A server has either a `command` or a `url`.")
    args: tuple[str, ...] = Field((), description="Its arguments.", repr=False)
    env: dict[str, str] = Field(default_factory=dict, description="Variables that it gets.", repr=False)
    cwd: str = Field("", description="Its directory, as `${workspaceFolder}` or below it; empty: your home.")
    url: str = Field("", description="An address.", repr=False)
    headers: dict[str, str] = Field(default_factory=dict, description="Sent with each request.", repr=False)
    transport: Literal["", "stdio", "http", "sse"] = Field(
        "", alias="type", description="`sse` for addresses of the older kind."
    )
    enabled: bool = Field(True, description="Use it.")
    timeout: float = Field(
        300.0,
        gt=0,
        le=_ONE_DAY,
        allow_inf_nan=False,
        description="Seconds for a call; waiting for you does not count.",
    )
    connect_timeout: float = Field(
        60.0, gt=0, le=600, allow_inf_nan=False, description="Seconds until it has told its tools."
    )
    keepalive_interval: float = Field(
        180.0,
        ge=0,
        le=_ONE_DAY,
        allow_inf_nan=False,
        description="Seconds without a call after which a `url` is asked for a sign of life (a ping); 0: never.",
    )
    ca_file: str = Field(
        "",
        description="For a `url`: a file of certificates (PEM) to trust too; `ssl_verify: PATH` works as well.",
    )
    client_cert: str = Field("", description="For a `url` that wants one: your certificate (PEM).")
    client_key: str = Field(
        "", description="Its key, where it is in a file of its own; one with a password cannot be used."
    )
    tools: McpToolsPart = Field(default_factory=McpToolsPart)
    sampling: McpSamplingPart = Field(default_factory=McpSamplingPart)
    elicitation: McpElicitationPart = Field(default_factory=McpElicitationPart)
    oauth: McpOAuthPart = Field(default_factory=McpOAuthPart)

    @model_validator(mode="before")
    @classmethod
    def _as_written(cls, value: object) -> object:
        if not isinstance(value, Mapping):
            return value
        ours = {key: part for key, part in value.items() if part is not None}
        kind = ours.get("type", ours.pop("transport", ""))
        # Others write streamable-http, or streamable_http.
        if isinstance(kind, str):
            ours["type"] = "http" if "http" in kind.lower() else kind.lower()
        for key in ("sampling", "elicitation"):  # `sampling: false`
            if isinstance(ours.get(key), bool):
                ours[key] = {"enabled": ours[key]}
        return _with_certificates(ours)

    @field_validator("args", mode="before")
    @classmethod
    def _arguments(cls, value: object) -> object:
        if isinstance(value, str):
            return _split(value)
        return [_text(part) for part in value] if isinstance(value, list | tuple) else value

    @field_validator("env", "headers", mode="before")
    @classmethod
    def _pairs(cls, value: object) -> object:
        return {str(name): _text(part) for name, part in value.items()} if isinstance(value, Mapping) else value

    @model_validator(mode="after")
    def _is_one_of_both(self) -> McpServerPart:
        if bool(self.command.strip()) == bool(self.url.strip()):
            raise ValueError("it must have either a command or a url")
        return self


class McpPart(ToolPart):
    """How MCP servers are used."""

    sampling: Annotated[Sampling, bare_words("off", "on")] = Field(
        "ask", description="Servers that want a model's answer: `ask` you each time, `allow`, or `off`."
    )
    tool_search: Annotated[ToolSearch, bare_words("off", "on")] = Field(
        "auto", description="Put servers' tools behind a search; `auto`: where they are too long."
    )
    tool_search_share: float = Field(
        0.1,
        gt=0,
        le=1,
        allow_inf_nan=False,
        description="With `auto`: the share of the model's window from which they are too long.",
    )


def _with_certificates(ours: dict[str, Any]) -> dict[str, Any]:
    """Certificates as upstream writes them: `ssl_verify` may be a file, `client_cert` a list with the key."""
    verify, cert = ours.pop("ssl_verify", True), ours.get("client_cert")
    if verify is False:
        raise ValueError("ssl_verify cannot be switched off; give the certificate to trust as ca_file")
    if isinstance(verify, str):
        ours.setdefault("ca_file", verify)
    if isinstance(cert, list | tuple) and cert:
        ours["client_cert"] = cert[0]
        if len(cert) > 1:
            ours.setdefault("client_key", cert[1])
    return ours


def hides_values(steps: tuple[int | str, ...]) -> bool:
    """Whether what stands at this place of the settings may be a secret."""
    return bool(steps) and steps[0] == "mcp_servers" and not _SECRETIVE.isdisjoint(map(str, steps[2:]))


def _text(value: object) -> Any:
    """A number or a yes as the text that was meant (`PORT: 8080`)."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else value


def _split(text: str) -> list[str]:
    """Arguments that were written as one text: a JSON list, or as for a shell.

    Raises:
        ValueError: quotes are not closed.
    """
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    return [str(part) for part in found] if isinstance(found, list) else shlex.split(text)
