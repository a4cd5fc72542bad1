"""The model of a session: chosen in it, used in it last, or the settings' own, in this order."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agent_core.errors import AuthRequired, SettingsError
from agent_core.providers.choice import ModelChoice
from agent_core.providers.resolution.resolve import OFFLINE, resolve_model, resolve_named
from agent_core.providers.resolution.servers import own_servers

if TYPE_CHECKING:
    from agent_core.config import Configuration


class PresentModel(NamedTuple):  # the cheapest to define: this is loaded before the first session
    """The model that a session shows as its own.

    Attributes:
        provider, model: '' where nothing is configured.
        choice: None where it cannot be used now; `problem` says why.
    """

    provider: str
    model: str
    choice: ModelChoice | None
    problem: str = ""

    @property
    def name(self) -> str:
        """`provider:model`; '' where nothing is configured."""
        return f"{self.provider}:{self.model}" if self.model else ""


def command_line_decides(config: Configuration) -> bool:
    """Whether the command line names a model: it goes before what a stored session had, not before what the person
    chooses from now on.
    """
    return bool(config.overrides.model or config.overrides.provider)


def only_offline(config: Configuration) -> bool:
    """Whether this process was started without any model's server, as `--offline` does."""
    return OFFLINE in (config.overrides.provider, config.overrides.model)


def resolve_chosen(config: Configuration, name: str) -> ModelChoice:
    """The model of that name, `provider:model`; without a provider it is one of the configured provider.

    Raises:
        AuthRequired, SettingsError: it cannot be used; the text says what to do.
    """
    provider, model = split_name(config, name)
    return resolve_named(config, provider or None, model or None, source="session")


def split_name(config: Configuration, name: str) -> tuple[str, str]:
    """The provider and the model in `provider:model`; the provider is '' if there is no colon.

    A server of the user's own may have a colon in its name.
    """
    servers = {*own_servers(config.settings), *config.broken_servers}
    own = max((server for server in servers if name.startswith(f"{server}:")), key=len, default="")
    if own:
        return own, name[len(own) + 1 :]
    provider, colon, model = name.partition(":")
    return (provider, model) if colon else ("", name)


def present_model(config: Configuration, chosen: str, used: str = "") -> PresentModel:
    """The model that answers in a session, or would if it could be used.

    Args:
        chosen: provider:model that the person chose; '' if nothing was.
        used: provider:model that the session used last; '' before its first turn.
    """
    name = chosen or ("" if command_line_decides(config) else used)
    try:
        choice = resolve_chosen(config, name) if name else resolve_model(config)
    except (AuthRequired, SettingsError) as problem:
        provider, model = split_name(config, name)
        return PresentModel(provider, model, None, problem.public)
    return PresentModel(choice.provider, choice.model, choice)
