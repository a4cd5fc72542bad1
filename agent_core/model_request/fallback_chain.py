"""The models of a session in the order in which they are asked, each with its keys."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from agent_core.cancel import CancelToken
from agent_core.config import Configuration, Overrides, load
from agent_core.errors import AuthRequired, RequestError
from agent_core.home import find_home
from agent_core.providers.base import Provider
from agent_core.providers.chat_completions import CHAT_COMPLETIONS
from agent_core.providers.choice import ModelChoice, ServedWindow
from agent_core.providers.credentials import FILE_NAME as KEYS_FILE
from agent_core.providers.credentials import Credential, CredentialPool, PoolState
from agent_core.providers.errors import ClassifiedError
from agent_core.providers.http_provider import HttpProvider
from agent_core.providers.lessons import FILE_NAME as LESSONS_FILE
from agent_core.providers.lessons import Lessons
from agent_core.providers.model_windows import Windows
from agent_core.providers.resolve import resolve_fallbacks, resolve_model
from agent_core.providers.token_renewal import OAuthBearer
from agent_core.providers.token_store import FILE_NAME as TOKENS_FILE
from agent_core.providers.token_store import TokenStore
from tools.light_dataclass import dataclass

if TYPE_CHECKING:
    from agent_core.providers.protocol import WireProtocol

Connect = Callable[[ModelChoice], Provider]


@dataclass(frozen=True, slots=True)
class Member:
    """A model that may answer: with the keys of a pool, a renewable token, or the key of `choice` alone."""

    choice: ModelChoice
    pool: CredentialPool | None = None
    bearer: OAuthBearer | None = None


@dataclass(frozen=True, slots=True)
class Route:
    """The models of a session: the one that was chosen, then its fallbacks. Every turn begins with the first.

    Attributes:
        lessons: what was learned of their servers; providers that `connect` makes know it too.
        windows: who knows how large their windows are, beyond what is set; None: nobody.
    """

    members: Sequence[Member]
    connect: Connect
    lessons: Lessons = field(default_factory=Lessons)
    windows: Windows | None = None

    @classmethod
    def single(cls, choice: ModelChoice, provider: Provider) -> Route:
        """One model behind a provider that exists already."""
        return cls((Member(choice),), lambda _: provider, getattr(provider, "lessons", None) or Lessons())

    def begin(self, token: CancelToken) -> TurnRoute:
        """The way of one turn, whose waits end with `token`."""
        if self.windows is not None:
            self.windows.begin(self.members[0].choice)
        return TurnRoute(self, token)

    @property
    def first(self) -> ModelChoice:
        """The model that is asked first, as far as it is known."""
        return self.fitted(self.members[0].choice)

    def fitted(self, choice: ModelChoice) -> ModelChoice:
        """The model with the window that its server has, where nobody has set one and it is known."""
        return choice if self.windows is None else self.windows.fitted(choice)


class TurnRoute:
    """Where one turn stands on its route. Used by the turn's worker alone.

    Attributes:
        choice: the model to ask now, with the key to use and the window that it has.
        lessons: what was learned of the models' servers.
        problem: why a sign-in could not be renewed.
    """

    def __init__(self, route: Route, token: CancelToken) -> None:
        self.lessons = route.lessons
        self.problem = ""
        self._route = route
        self._token = token
        self._ready = self._at_end = self._may_rest = False
        self._credential: Credential | None = None
        self._refreshed: set[int] = set()
        self._spent: set[str] = set()
        self._provider: Provider | None = None
        self._position, self._keyed = 0, route.members[0].choice
        self.choice = route.fitted(self._keyed)

    def make_ready(self) -> bool:
        """Before each question: take the first model's key, once; True if that model is passed over because its keys
        rest.

        Raises:
            AuthRequired: no model can be asked before the person signs in again.
        """
        if self._ready:
            self._look()
            return False
        self._ready = True
        if self._stand_at_one_of(range(len(self._route.members))):
            return self._position > 0
        self._position = 0
        raise AuthRequired(self._member.bearer.problem if self._member.bearer is not None else "")

    @property
    def served(self) -> ServedWindow | None:
        """What the model's server has said of its window."""
        return None if self._route.windows is None else self._route.windows.of(self._keyed)

    @property
    def provider(self) -> Provider:
        """The connection to it."""
        if self._provider is None:
            self._provider = self._route.connect(self._keyed)
        return self._provider

    @property
    def skipped(self) -> Sequence[ModelChoice]:
        """The models before the present one."""
        return [member.choice for member in self._route.members[: self._position]]

    def worked(self) -> None:
        """The model answered."""
        if self._route.windows is not None:
            self._route.windows.answered(self._keyed)
            self._look()
        self._refreshed.discard(self._position)
        self._spent.clear()
        if self._may_rest and self._member.pool is not None and self._credential is not None:
            self._member.pool.served(self._credential)
            self._may_rest = False

    def failed(self, failure: ClassifiedError) -> None:
        """The model failed: its key rests where that helps. The only key rests only if the server said how long."""
        self._look()
        pool = self._member.pool
        if pool is None or self._credential is None or not failure.should_rotate_credential:
            return
        self._spent.add(self._credential.id)
        if pool.others(self._credential) or failure.retry_after is not None:
            pool.failed(self._credential, failure.reason, failure.retry_after)
            self._may_rest = True

    def can_refresh(self) -> bool:
        """Whether a renewed token has not been tried yet."""
        return self._member.bearer is not None and self._position not in self._refreshed

    def refresh(self) -> bool:
        """Renew the token; False if there is no other one."""
        self._refreshed.add(self._position)
        bearer = self._member.bearer
        renewed = bearer.refreshed(self._keyed.api_key or "", self._token.is_set) if bearer is not None else None
        self.problem = "" if bearer is None or renewed else bearer.problem
        if renewed is not None:
            self._stand(self._position, self._keyed.with_key(renewed))
        return renewed is not None

    def can_rotate(self) -> bool:
        """Whether another key of this model's provider is usable."""
        pool = self._member.pool
        return pool is not None and self._credential is not None and pool.untried(self._spent)

    def rotate(self) -> None:
        """Use another key."""
        self._take_key(self._position, even_cooling=True, without=self._spent)

    def can_fall_back(self) -> bool:
        """Whether there is another model that has not turned out to be out of reach."""
        return not self._at_end and self._position + 1 < len(self._route.members)

    def fall_back(self) -> bool:
        """Go on to the next model that can be asked; False, and nothing changes, if there is none."""
        self._at_end = not self._stand_at_one_of(range(self._position + 1, len(self._route.members)))
        if not self._at_end:
            self._spent.clear()
        return not self._at_end

    def _stand_at_one_of(self, positions: Sequence[int]) -> bool:
        return any(self._take_key(place, even_cooling=cooling) for cooling in (False, True) for place in positions)

    def _take_key(self, position: int, *, even_cooling: bool, without: Collection[str] = ()) -> bool:
        """Stand at a model, where it has a key to use; else nothing changes."""
        member, credential = self._route.members[position], None
        keyed = member.choice
        if member.bearer is not None:
            if (key := member.bearer.current(self._token.is_set)) is None:
                return False
            keyed = keyed.with_key(key)
        elif member.pool is not None:
            if (credential := member.pool.take(even_cooling=even_cooling, without=without)) is None:
                return False
            keyed = keyed.with_key(credential.key)
        self._credential, self._may_rest = credential, even_cooling
        self._stand(position, keyed)
        return True

    def _stand(self, position: int, keyed: ModelChoice) -> None:
        self._position, self._keyed, self._provider = position, keyed, None
        self._look()

    def _look(self) -> None:
        """Follow what is known of the model's window."""
        self.choice = self._route.fitted(self._keyed)

    @property
    def _member(self) -> Member:
        return self._route.members[self._position]


# How routes are made: which servers are asked, with which keys, over shared connections.

log = logging.getLogger(__name__)


class Routes:
    """The connections to models of one process; safe to use from several threads.

    Attributes:
        tokens: the stored sign-ins.
        lessons: what was learned of models' servers.
        windows: what is learnt of their servers' windows.
    """

    def __init__(self, root: Path) -> None:
        """Take the home directory, where sign-ins and the state of keys are."""
        self._providers: dict[ModelChoice, Provider] = {}
        self._pool_state = PoolState(root / KEYS_FILE)
        self.tokens = TokenStore(root / TOKENS_FILE)
        self.lessons = Lessons(root / LESSONS_FILE)
        self.windows = Windows()
        self._lock = threading.Lock()

    def route(self, config: Configuration, choice: ModelChoice) -> Route:
        """`choice`, and behind it what the settings fall back to."""
        fallbacks, problems = resolve_fallbacks(config, choice)
        for problem in problems:
            log.warning("a fallback is left out: %s", problem)
        return Route(
            [self.member(config, each) for each in (choice, *fallbacks)], self.provider, self.lessons, self.windows
        )

    def member(self, config: Configuration, choice: ModelChoice) -> Member:
        """`choice` with what it signs in with."""
        if choice.api_key is None and self.tokens.get(choice.provider) is not None:
            return Member(choice, bearer=OAuthBearer(self.tokens, choice.provider))
        keys = tuple(key for key in (choice.api_key, *choice.spare_keys) if key)
        strategy = config.settings.credential_pool_strategies.get(choice.provider, "fill_first")
        # Each pool looks into the shared state for itself: there is nothing to keep of it here.
        return Member(choice, CredentialPool(choice.provider, keys, strategy, self._pool_state))

    def provider(self, choice: ModelChoice) -> Provider:
        """The connection for `choice`, made at its first use."""
        with self._lock:
            if choice not in self._providers:
                self._providers[choice] = make_provider(choice, self.lessons)
            return self._providers[choice]

    def close(self) -> None:
        """End every connection."""
        with self._lock:
            for provider in self._providers.values():
                provider.close()
            self._providers.clear()


# A provider by its name in the user's settings, for those who make an agent in a script.


def provider_by_name(name: str, model: str, api_mode: str | None = None) -> tuple[ModelChoice, Provider]:
    """The provider `name` of the user's settings, for `model`, and what is known of that model.

    Raises:
        AuthRequired, SettingsError: the settings do not make it usable.
        RequestError: it does not speak `api_mode`.
    """
    choice = resolve_model(load(find_home(os.environ), Overrides(model=model, provider=name)))
    if api_mode not in (None, choice.api_mode):
        raise RequestError(
            f"The wire protocol {api_mode!r} is not available for {name}; it speaks {choice.api_mode}."
        )
    return choice, make_provider(choice)


# From a choice of model to something that can be asked.


def make_provider(choice: ModelChoice, lessons: Lessons | None = None) -> Provider:
    """The provider for a choice. Cheap: libraries are loaded and connections made with the first request.

    Args:
        lessons: what was learned of servers, and where more is kept; None: for this provider alone.

    Raises:
        SettingsError: it needs an extra that is not installed.
    """
    if choice.api_mode == "offline":
        from agent_core.providers.offline import OfflineProvider  # noqa: PLC0415 - only what is asked for is loaded

        return OfflineProvider()
    if choice.api_mode == "bedrock_converse":
        from agent_core.providers.bedrock import BedrockProvider  # noqa: PLC0415

        return BedrockProvider(choice, lessons)
    if choice.transport == "sdk":
        from agent_core.providers.sdk_provider import SdkProvider  # noqa: PLC0415

        return SdkProvider(choice, _protocol(choice), lessons)

    return HttpProvider(choice, _protocol(choice), lessons)


def _protocol(choice: ModelChoice) -> WireProtocol:
    if choice.api_mode == "anthropic_messages":
        from agent_core.providers.anthropic_messages import ANTHROPIC_MESSAGES  # noqa: PLC0415

        return ANTHROPIC_MESSAGES
    if choice.api_mode == "codex_responses":
        from agent_core.providers.responses import CODEX_RESPONSES  # noqa: PLC0415

        return CODEX_RESPONSES

    return CHAT_COMPLETIONS
