"""What is asked for, and where: the places that may choose a model, the most specific first, and what they say."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from agent_core.providers.resolution.names import canonical, split_model
from tools.light_dataclass import dataclass

if TYPE_CHECKING:
    from agent_core.config import Configuration
    from agent_core.settings.model import ServerSettings


OPENAI_ADDRESS = "OPENAI_BASE_URL"


@dataclass(frozen=True, slots=True)
class Wish:
    """What one place says; None where it says nothing.

    Attributes:
        source: the place, for messages.
        provider: in canonical form.
        values: keys, limits and the like that belong to this wish.
    """

    source: str
    provider: str | None = None
    model: str | None = None
    base_url: str | None = None
    values: ServerSettings | None = None

    @property
    def realm(self) -> str | None:
        """Whose names its model's name is one of; an address alone is a compatible server's."""
        return self.provider or ("custom" if self.base_url else None)


class Chosen(NamedTuple):  # the cheapest to define: this is loaded before the first session
    """What the places say together.

    Attributes:
        model: None where none is named, or only one that a less specific place meant for another provider's server.
        named_beside: the model was named no less specifically than the provider.
        requested: the model's name as it was written.
    """

    provider: str | None
    model: str | None
    base_url: str | None
    source: str
    requested: str
    named_beside: bool


def wishes_of(config: Configuration, servers: Container[str]) -> tuple[Wish, ...]:
    """The command line's, the environment's and the settings' wish."""
    over, environ, model = config.overrides, config.environ, config.settings.model
    return (
        wish("command line", servers, over.provider, over.model, over.base_url),
        wish(
            "HERMES_MODEL",
            servers,
            environ.get("HERMES_PROVIDER"),
            environ.get("HERMES_MODEL"),
            environ.get("HERMES_BASE_URL") or _openai_address(environ, servers),
        ),
        wish(str(config.home.config_file), servers, model.provider, model.default, model.base_url, values=model),
    )


def _openai_address(environ: Mapping[str, str], servers: Container[str]) -> str | None:
    """OpenAI's own variable for the address, where the environment also chooses OpenAI."""
    chosen = canonical(environ.get("HERMES_PROVIDER") or "", servers)
    return environ.get(OPENAI_ADDRESS) if chosen == "openai" else None


def wish(
    source: str,
    servers: Container[str],
    provider: str | None,
    model: str | None,
    base_url: str | None,
    *,
    values: ServerSettings | None = None,
) -> Wish:
    """A wish from what was written: blanks, and the provider `auto`, say nothing."""
    name = canonical(provider or "", servers)
    named = None if name in {"", "auto"} else name
    return Wish(source, named, (model or "").strip() or None, (base_url or "").strip().rstrip("/") or None, values)


def choose(wishes: Sequence[Wish], servers: Container[str]) -> Chosen:
    """Provider, model and address, each from the most specific place that names it.

    A provider in a model's name counts as named there. An address belongs to the provider that is named beside it, or
    further down, and to no other one.
    """
    position, provider = _first_provider(wishes, servers)
    at = next((index for index, found in enumerate(wishes) if found.model), None)
    model = None if at is None else _taken_apart(wishes, at, servers)[1]
    return Chosen(
        provider,
        model,
        _address(wishes, provider, position, servers),
        "" if at is None else wishes[at].source,
        "" if at is None else wishes[at].model or "",
        named_beside=at is not None and at <= position,
    )


def _first_provider(wishes: Sequence[Wish], servers: Container[str]) -> tuple[int, str | None]:
    for index, found in enumerate(wishes):
        if found.provider:
            return index, found.provider
        if found.model and (named := _taken_apart(wishes, index, servers)[0]):
            return index, named
    at = next((index for index, found in enumerate(wishes) if found.base_url), len(wishes))
    return at, "custom" if at < len(wishes) else None


def _taken_apart(wishes: Sequence[Wish], at: int, servers: Container[str]) -> tuple[str | None, str]:
    """The provider in the name of the model at `at`, and the name without it."""
    text, beside = wishes[at].model or "", wishes[at].realm
    if beside is None:
        below = next((found.realm for found in wishes[at + 1 :] if found.realm), None)
        return split_model(text, servers, below)
    named, rest = split_model(text, servers)
    return (None, rest) if named == beside else (None, text)


def _address(wishes: Sequence[Wish], provider: str | None, position: int, servers: Container[str]) -> str | None:
    for index, found in enumerate(wishes):
        meant_for = {found.realm, _first_provider(wishes[index:], servers)[1]}
        if found.base_url and (index <= position or provider in meant_for):
            return found.base_url
    return None
