"""Which models the person may choose: configured ones and kept lists."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from agent_core.errors import AuthRequired, SettingsError
from agent_core.providers.catalog import CUSTOM, SERVICES, Service, is_local, shown
from agent_core.providers.choice import ModelChoice, ModelFacts
from agent_core.providers.resolve import (
    OFFLINE,
    Server,
    Wish,
    address_of,
    choose,
    find_server,
    keys_for,
    own_servers,
    places_for,
    resolve_model,
    resolve_named,
    wish,
    wishes_of,
)
from agent_core.providers.shared_file import SharedFile, SharedFileError

if TYPE_CHECKING:
    from agent_core.config import Configuration
    from agent_core.home import Home
    from agent_core.providers.model_listing import ListedModel, ModelListing
    from agent_core.settings.model import NamedServer


# Which providers can be asked as things are: those that are chosen, set up, or have a key in the environment.

_ANY = "any"


class ConfiguredProvider(NamedTuple):  # the cheapest to define: this is loaded before the first session
    """A provider that can be asked.

    Attributes:
        name: what stands before the colon in `provider:model`.
        title: what people call it.
        base_url: its address; '' where its own client finds it.
        service: the one whose ways it has.
        named: the models that the settings name for it, the chosen one first.
    """

    name: str
    title: str
    base_url: str
    service: Service
    named: tuple[str, ...] = ()

    @property
    def list_key(self) -> str:
        """What its list of models is kept under."""
        return list_key(self.name, self.base_url)


def list_key(provider: str, base_url: str) -> str:
    """What a provider's list of models is kept under: another address has another list."""
    return f"{provider} {shown(base_url)}".rstrip()


def configured_providers(config: Configuration, accounts: Collection[str] = ()) -> tuple[ConfiguredProvider, ...]:
    """Every provider that can be asked, the chosen one first; nothing is asked for this. Offline is none of them.

    Args:
        accounts: the services that the person has signed in to.
    """
    own = own_servers(config.settings)
    servers = {*own, *config.broken_servers}
    wishes = wishes_of(config, servers)
    named = _named_models(config, wishes, servers)
    candidates = dict.fromkeys(_candidates(config, wishes, own, named, accounts))
    found = (_reached(config, name, wishes, own, named.get(name, ())) for name in candidates)
    return tuple(provider for provider in found if provider is not None)


def offline_is_chosen(config: Configuration) -> bool:
    """Whether the offline model is the one that sessions begin with."""
    servers = {*own_servers(config.settings), *config.broken_servers}
    chosen = choose(wishes_of(config, servers), servers)
    return OFFLINE in (chosen.provider, chosen.model)


def _candidates(
    config: Configuration,
    wishes: Sequence[Wish],
    own: Mapping[str, NamedServer],
    named: Mapping[str, Sequence[str]],
    accounts: Collection[str],
) -> Iterator[str]:
    servers = {*own, *config.broken_servers}
    for position in range(len(wishes)):
        if provider := choose(wishes[position:], servers).provider:
            yield provider
    yield from own
    yield from named
    for service in SERVICES.values():
        # Another service's key may be one of a cloud's, too; what is signed in for is offered once it is chosen.
        keys = () if service.sign_in is not None else service.keys
        has_key = any(config.environ.get(name, "").strip() for name in keys)
        if has_key or service.name in accounts:
            yield service.name


def _named_models(config: Configuration, wishes: Sequence[Wish], servers: set[str]) -> Mapping[str, tuple[str, ...]]:
    """By provider, the models that the places of the settings name."""
    # A fallback with an address of its own is a server that has no name here.
    fallbacks = (entry for entry in config.settings.fallback_providers if not entry.base_url)
    others = (wish("", servers, entry.provider, entry.model, None) for entry in fallbacks)
    chosen = (
        *(choose(wishes[position:], servers) for position in range(len(wishes))),
        *(choose((other, *wishes), servers) for other in others),
    )
    found: dict[str, dict[str, None]] = {}
    for each in chosen:
        if each.provider and each.model:
            found.setdefault(each.provider, {})[each.model] = None
    return {provider: tuple(models) for provider, models in found.items()}


def _reached(
    config: Configuration, name: str, wishes: Sequence[Wish], own: Mapping[str, NamedServer], named: Sequence[str]
) -> ConfiguredProvider | None:
    """The provider of that name, if it has an address and, where it wants one, a key."""
    if name == OFFLINE:
        return None
    servers = {*own, *config.broken_servers}
    everything = (wish("offer", servers, name, _ANY, None), *wishes)
    try:
        server = find_server(config, name, own)
        base_url = address_of(server, choose(everything, servers).base_url, config)
        keys = keys_for(server, base_url, places_for(config, everything, server, base_url, own), config.environ)
    except SettingsError:
        return None
    needed = server.service is not None and server.service.access == "key"
    if not keys.found and (needed or keys.unset):
        return None
    entry_model = (server.entry.model,) if server.entry is not None and server.entry.model else ()
    models = tuple(dict.fromkeys((*named, *entry_model)))
    return ConfiguredProvider(name, _title(server, base_url), base_url, server.like(base_url), models)


def _title(server: Server, base_url: str) -> str:
    if server.service is CUSTOM:
        return f"Server at {urlsplit(base_url).netloc.rpartition('@')[2]}"
    if server.service is not None:
        return server.service.title
    return (server.entry.name if server.entry is not None else "") or server.name


# The models that a person can choose from: those of every provider that is set up, known without asking anybody.

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
    from agent_core.providers.model_listing import seems_to_chat  # noqa: PLC0415 - only for fresh lists

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
    from agent_core.providers.catalog import is_gpt_5_class  # noqa: PLC0415
    from agent_core.providers.model_listing import seems_to_chat  # noqa: PLC0415
    from agent_core.providers.pricing import facts_of, known_models  # noqa: PLC0415

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


# A server's list of models as the home's file has it. What cannot be understood there counts as never asked.


class KeptList(NamedTuple):  # the cheapest to define: this is loaded before the first session
    """A server's list.

    Attributes:
        asked_at: seconds since the epoch.
        models: None if the server never gave a list.
        failed: the last time that it was asked it gave none.
    """

    asked_at: float
    models: tuple[OfferedModel, ...] | None
    failed: bool = False


def list_entry(kept: KeptList) -> dict[str, Any]:
    """The list as JSON has it."""
    models = None
    if kept.models is not None:
        models = {each.name: [each.context_length, each.input_price, each.output_price] for each in kept.models}
    return {"asked_at": kept.asked_at, "failed": kept.failed, "models": models}


def lists_from(content: Mapping[str, Any]) -> dict[str, KeptList]:
    """The lists in the file's content, by their keys."""
    lists = content.get("lists")
    if not isinstance(lists, dict):
        return {}
    found = {key: _list_from(entry) for key, entry in lists.items() if isinstance(entry, dict)}
    return {key: each for key, each in found.items() if each is not None}


def _list_from(entry: Mapping[str, Any]) -> KeptList | None:
    asked_at, models = entry.get("asked_at"), entry.get("models")
    if not isinstance(asked_at, int | float) or not isinstance(models, dict | None):
        return None
    known = None if models is None else tuple(_model(name, facts) for name, facts in models.items())
    return KeptList(float(asked_at), known, entry.get("failed") is True)


def _model(name: str, facts: object) -> OfferedModel:
    match facts:
        case [int() | None as window, int() | float() | None as given, int() | float() | None as taken]:
            return OfferedModel(name, window, given, taken)
    return OfferedModel(name)


# Asking the servers for their models again, all at once and behind everything else.

log = logging.getLogger(__name__)

_TOGETHER = 1.0
"""Seconds that the first answers wait for others: what changes is shown once, and a dead server delays nobody."""

_Told = tuple[str, tuple[OfferedModel, ...] | None]


def _listed(choice: ModelChoice) -> ModelListing:
    from agent_core.providers.model_listing import list_models  # noqa: PLC0415 - most starts ask nobody

    return list_models(choice)


class Renewal:
    """Renews the lists of one process. Safe for threads.

    Args:
        ask: how a server is asked; it never raises, and has an end.
    """

    def __init__(self, lists: ModelLists, ask: Callable[[ModelChoice], ModelListing] = _listed) -> None:
        self._lists = lists
        self._ask = ask
        self._running = threading.Lock()
        self._ended = threading.Event()

    def run(self, config: Configuration, changed: Callable[[], None]) -> None:
        """Ask every server whose list is missing or old; blocks, for a worker thread. One run at a time: a second
        does nothing.

        Args:
            changed: is called when there is something else to choose from than before, at most a few times.
        """
        if self._ended.is_set() or not self._running.acquire(blocking=False):
            return
        try:
            for told in self._answers(config, self._lists.due(config)):
                if self._ended.is_set():
                    return
                before = self._lists.offered(config)
                self._lists.learned(dict(told))
                if self._lists.offered(config) != before:
                    changed()
        finally:
            self._running.release()

    def close(self) -> None:
        """The process ends: what is still answered is not kept."""
        self._ended.set()

    def _answers(self, config: Configuration, due: Sequence[ConfiguredProvider]) -> Iterator[list[_Told]]:
        answers: SimpleQueue[_Told] = SimpleQueue()
        for provider in due:
            # Daemons: nobody waits for a server when the process ends.
            threading.Thread(
                target=self._put, args=(config, provider, answers), name=f"models of {provider.name}", daemon=True
            ).start()
        return _batches(answers, len(due))

    def _put(self, config: Configuration, provider: ConfiguredProvider, answers: SimpleQueue[_Told]) -> None:
        models = None
        try:
            models = self._asked(config, provider)
        finally:
            answers.put((provider.list_key, models))

    def _asked(self, config: Configuration, provider: ConfiguredProvider) -> tuple[OfferedModel, ...] | None:
        try:
            choice = resolve_named(config, provider.name, next(iter(provider.named), _ANY), source="models")
        except (AuthRequired, SettingsError) as problem:
            log.info("the models of %s are not asked for: %s", provider.name, problem)
            return None
        listing = self._ask(choice)
        if listing.source != "live":
            log.info("the models of %s are as known: %s", provider.name, listing.problem)
            return None
        return as_offered(listing.models)


def _batches(answers: SimpleQueue[_Told], count: int) -> Iterator[list[_Told]]:
    while count:
        batch = [answers.get()]
        deadline = time.monotonic() + _TOGETHER
        while len(batch) < count and (left := deadline - time.monotonic()) > 0:
            try:
                batch.append(answers.get(timeout=left))
            except Empty:
                break
        count -= len(batch)
        yield batch


# The model of a session: chosen in it, used in it last, or the settings' own, in this order.


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


# The models that can be chosen, from the settings and from what servers said before: a new session asks nobody.

FILE_NAME = "model-lists.json"
GOOD_FOR = 24 * 3600.0
"""Seconds after which a server is asked again."""
LOCAL_GOOD_FOR = 5 * 60.0
"""The same for one on this machine or in its network: asking costs nothing, and its models come and go."""
FAILED_GOOD_FOR = 3600.0
"""The same for a server that did not answer as it should."""
_FORGOTTEN_AFTER = 30 * 24 * 3600.0
_LOCK_TIMEOUT = 2.0
_TOKENS_FILE = "oauth_tokens.json"

_Kept = Mapping[str, KeptList]


class ModelLists:
    """The models of every provider that is set up. Safe for threads; processes of one home share the file."""

    def __init__(self, home: Home, clock: Callable[[], float] = time.time) -> None:
        self._file = SharedFile(home.root / FILE_NAME, durable=False)
        self._home = home
        self._clock = clock
        self._lock = threading.Lock()
        # What was made of what, so that nothing is made twice: sessions ask for it again and again.
        self._stored: tuple[Mapping[str, Any], _Kept] = ({}, {})
        self._unsaved: _Kept = {}
        self._kept_from: tuple[_Kept, _Kept, _Kept] = ({}, {}, {})
        self._made: tuple[Configuration, _Kept, frozenset[str], OfferedModels] | None = None

    def offered(self, config: Configuration) -> OfferedModels:
        """What can be chosen, the chosen provider's models first; nobody is asked, and nothing raises."""
        kept, accounts = self._kept(), self._accounts()
        made = self._made
        if made is not None and made[0] is config and made[1] is kept and made[2] == accounts:
            return made[3]
        lists = {key: each.models for key, each in kept.items() if each.models is not None}
        offered = offered_models(self.providers(config), lists, offline=offline_is_chosen(config))
        self._made = config, kept, accounts, offered
        return offered

    def providers(self, config: Configuration) -> tuple[ConfiguredProvider, ...]:
        """The providers that can be asked; none where the process was started offline."""
        return () if only_offline(config) else configured_providers(config, self._accounts())

    def due(self, config: Configuration) -> tuple[ConfiguredProvider, ...]:
        """The providers that have a list which is missing here, or old."""
        kept, now = self._kept(), self._clock()
        return tuple(
            provider
            for provider in self.providers(config)
            if provider.base_url and provider.service.listing != "none" and _is_old(provider, kept, now)
        )

    def learned(self, told: Mapping[str, Sequence[OfferedModel] | None]) -> None:
        """Keep what servers have said, by `ConfiguredProvider.list_key`; None where one gave no list.

        What cannot be written is kept in memory, and the log has a line about it.
        """
        kept, now = self._kept(), self._clock()
        fresh = {key: _renewed(kept.get(key), models, now) for key, models in told.items()}
        with self._lock:
            unsaved = self._unsaved = {**self._unsaved, **fresh}
        try:
            with self._file.locked(_LOCK_TIMEOUT) as draft:
                lists = {**lists_from(draft.content), **unsaved}
                young = {key: each for key, each in lists.items() if now - each.asked_at < _FORGOTTEN_AFTER}
                draft.content["lists"] = {key: list_entry(each) for key, each in young.items()}
                draft.save()
        except SharedFileError as problem:
            log.warning("the lists of models are kept by this process alone: %s", problem)
            return
        with self._lock:
            self._unsaved = {key: each for key, each in self._unsaved.items() if unsaved.get(key) is not each}

    def _kept(self) -> _Kept:
        """Every list; the same object as long as nothing has changed."""
        try:
            content = self._file.read()
        except SharedFileError as problem:
            log.warning("the lists of models cannot be read: %s", problem)
            content = {}
        with self._lock:
            if content is not self._stored[0] and content != self._stored[0]:
                self._stored = content, lists_from(content)
            stored, unsaved = self._stored[1], self._unsaved
            if self._kept_from[0] is not stored or self._kept_from[1] is not unsaved:
                self._kept_from = stored, unsaved, {**stored, **unsaved}
            return self._kept_from[2]

    def _accounts(self) -> frozenset[str]:
        """The services that a person has signed in to."""
        if not (self._home.root / _TOKENS_FILE).exists():
            return frozenset()
        from agent_core.providers.token_store import TokenStore  # noqa: PLC0415 - for those who signed in

        tokens = TokenStore(self._home.root / _TOKENS_FILE)
        try:
            names = (service.name for service in SERVICES.values() if service.access == "sign-in")
            return frozenset(name for name in names if tokens.get(name) is not None)
        except SharedFileError as problem:
            log.info("who has signed in cannot be read: %s", problem)
            return frozenset()


def _renewed(before: KeptList | None, models: Sequence[OfferedModel] | None, now: float) -> KeptList:
    if models is not None:
        return KeptList(now, tuple(models[:MOST_MODELS]))
    # A server that is down today has the models that it had.
    return KeptList(now, None if before is None else before.models, failed=True)


def _is_old(provider: ConfiguredProvider, kept: _Kept, now: float) -> bool:
    found = kept.get(provider.list_key)
    if found is None or found.asked_at > now:  # the clock was put back
        return True
    good_for = LOCAL_GOOD_FOR if is_local(provider.base_url) else FAILED_GOOD_FOR if found.failed else GOOD_FOR
    return now - found.asked_at >= good_for
