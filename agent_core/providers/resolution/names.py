"""Names of providers as people write them: aliases, `provider:model`, and what is near a name that nobody knows."""

from __future__ import annotations

import difflib
from collections.abc import Container, Iterable, Mapping

from agent_core.errors import SettingsError
from agent_core.providers.resolution.catalog import SERVICES

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
