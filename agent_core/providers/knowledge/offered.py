"""The models that a person can choose from: those of every provider that is set up, known without asking anybody."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from agent_core.providers.resolution.resolve import OFFLINE

if TYPE_CHECKING:
    from agent_core.providers.choice import ModelFacts
    from agent_core.providers.knowledge.configured import ConfiguredProvider
    from agent_core.providers.knowledge.model_list import ListedModel

MOST_MODELS = 300
"""Models of one provider that are offered, at most."""

MOST_SHOWN = 250
"""Models of all providers together that one list of options shows; more are chosen by their names."""

_LONGEST_NAME = 200


class OfferedModel(NamedTuple):  # the cheapest to define: this is loaded before the first session
    """A model that can be chosen. The window is in tokens, prices are US dollars for a million; None is unknown."""

    name: str
    context_length: int | None = None
    input_price: float | None = None
    output_price: float | None = None


class OfferedProvider(NamedTuple):  # the cheapest to define: this is loaded before the first session
    """A provider with its models, the most useful first.

    Attributes:
        name: what stands before the colon in `provider:model`.
        title: what people call it.
        named: how many of the models, the first ones, the settings name.
    """

    name: str
    title: str
    models: tuple[OfferedModel, ...]
    named: int = 0

    def value(self, model: OfferedModel) -> str:
        """The model as `provider:model`."""
        return f"{self.name}:{model.name}"


OfferedModels: TypeAlias = tuple[OfferedProvider, ...]

OFFLINE_MODEL = f"{OFFLINE}:{OFFLINE}"
_OFFLINE = OfferedProvider(OFFLINE, "Without a model", (OfferedModel(OFFLINE),))


def offered_models(
    providers: Sequence[ConfiguredProvider], lists: Mapping[str, Sequence[OfferedModel]], *, offline: bool
) -> OfferedModels:
    """What can be chosen of these providers; one of which no model is known is left out.

    Args:
        lists: by `ConfiguredProvider.list_key`, what servers have said of their models.
        offline: the offline model is the chosen one.
    """
    found = [_offered_by(each, lists.get(each.list_key)) for each in providers]
    known = tuple(provider for provider in found if provider.models)
    return (_OFFLINE, *known) if offline else known


def as_offered(models: Sequence[ListedModel]) -> tuple[OfferedModel, ...]:
    """Those of a server's list that can be offered, none twice, at most `MOST_MODELS`.

    The newest come first where the server tells their age; else they stand in its own order.
    """
    from agent_core.providers.knowledge.chat_models import seems_to_chat  # noqa: PLC0415 - only for fresh lists

    wanted = (model for model in models if _can_be_shown(model.id) and model.chats is not False)
    usable = {model.id: model for model in wanted if model.chats or seems_to_chat(model.id)}
    newest = sorted(usable.values(), key=lambda model: model.created or 0.0, reverse=True)
    return tuple(_offered(model.id, model.facts) for model in newest[:MOST_MODELS])


def _offered_by(provider: ConfiguredProvider, listed: Sequence[OfferedModel] | None) -> OfferedProvider:
    """The named models first, for they are wanted; then the server's own list, or what is known of it."""
    others = {model.name: model for model in (_known(provider) if listed is None else listed)}
    named = [others.pop(name, OfferedModel(name)) for name in provider.named if _can_be_shown(name)]
    models = tuple([*named, *others.values()][:MOST_MODELS])
    return OfferedProvider(provider.name, provider.title, models, len(named))


def _known(provider: ConfiguredProvider) -> Iterator[OfferedModel]:
    service = provider.service
    # A deployment at Azure has the name that its owner gave it.
    if not service.facts_as or service.name == "azure":
        return
    # All three are needed only where the server has not been asked yet.
    from agent_core.providers.knowledge.chat_models import seems_to_chat  # noqa: PLC0415
    from agent_core.providers.knowledge.facts import facts_of, known_models  # noqa: PLC0415
    from agent_core.providers.resolution.traits import is_gpt_5_class  # noqa: PLC0415

    for name in known_models(service.facts_as):
        if seems_to_chat(name) and (service.access != "sign-in" or is_gpt_5_class(name)):
            yield _offered(name, facts_of(service.facts_as, name))


def _offered(name: str, facts: ModelFacts) -> OfferedModel:
    return OfferedModel(name, facts.context_length, facts.input_price, facts.output_price)


def _can_be_shown(name: str) -> bool:
    return 0 < len(name) <= _LONGEST_NAME and name.isprintable() and name == name.strip()


def with_model(offered: OfferedModels, provider: str, model: str) -> OfferedModels:
    """The same with this model among them, in its provider's group where there is one, else before all."""
    for position, group in enumerate(offered):
        if group.name == provider:
            if any(each.name == model for each in group.models):
                return offered
            more = group._replace(models=(OfferedModel(model), *group.models), named=group.named + 1)
            return (*offered[:position], more, *offered[position + 1 :])
    return (OfferedProvider(provider, provider, (OfferedModel(model),), 1), *offered)


def shortened(offered: OfferedModels, provider: str, model: str, most: int = MOST_SHOWN) -> OfferedModels:
    """The same with about `most` models: a list goes to the editor whole, again and again.

    Every provider keeps its first ones, as many as there is room for: what short lists leave is for the long ones.
    This model, and those that the settings name, are always there.
    """
    if sum(len(each.models) for each in offered) <= most:
        return offered
    shares = _shares([len(each.models) for each in offered], most)
    return tuple(
        each._replace(models=_first(each, max(share, each.named), model if each.name == provider else ""))
        for each, share in zip(offered, shares, strict=True)
    )


def _shares(counts: Sequence[int], room: int) -> list[int]:
    """How much of each fits, the same for all that want more."""
    shares = [0] * len(counts)
    left = len(counts)
    for position in sorted(range(len(counts)), key=counts.__getitem__):
        shares[position] = min(counts[position], room // left)
        room -= shares[position]
        left -= 1
    return shares


def _first(provider: OfferedProvider, count: int, wanted: str) -> tuple[OfferedModel, ...]:
    further = (model for model in provider.models[count:] if model.name == wanted)
    return (*provider.models[:count], *further)
