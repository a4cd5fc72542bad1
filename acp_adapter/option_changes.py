"""Changing a session's options: checked, applied, stored, and told to the client."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from acp_adapter.capabilities import ClientCapabilities
from acp_adapter.options import (
    AS_CONFIGURED,
    EDIT_POLICIES,
    EDITOR_TERMINALS,
    EDITS,
    EFFORT,
    MODE,
    MODEL,
    THOUGHTS,
    offered_options,
    parse_mode,
)
from acp_adapter.session import SessionManager, SessionState
from acp_adapter.workers import Workers
from agent_core.config import ConfigSource, Configuration
from agent_core.errors import AuthRequired, HermesError, RequestError, SettingsError, StoreError
from agent_core.events import ModeChanged, OptionsOffered
from agent_core.factory import AgentFactory
from agent_core.providers.available_models import (
    OFFLINE_MODEL,
    ModelLists,
    OfferedModels,
    Renewal,
    only_offline,
    present_model,
    resolve_chosen,
    split_name,
)
from agent_core.providers.resolve import available_efforts
from agent_core.settings.options import Option, SessionChoices
from tools.approval.policy import Mode

if TYPE_CHECKING:
    from agent_core.providers.choice import ModelChoice


# From the ids and values that a client sends to other choices.

_OLD_EDITS = "edit_approval_policy"
"""Upstream's name for `edits`, with other values: its sessions of automatic edits are a mode here."""
_OLD_EDIT_VALUES = ("ask", "workspace_session", "session")
_MOST_NAMED = 12
_LONGEST_SHOWN = 60


def chosen(
    choices: SessionChoices,
    config_id: str,
    value: object,
    config: Configuration,
    *,
    known: OfferedModels = (),
    client: ClientCapabilities | None = None,
    used: str = "",
) -> SessionChoices:
    """The choices with one of them changed; nothing is asked of any server.

    A model may be one that no list has, as long as its provider can be asked. A model that does not have the chosen
    effort leaves it to the settings.

    Args:
        known, used: as `offered_options` has them.
        client: None is one that can do nothing.

    Raises:
        RequestError: there is no such option or value; the text says what there is, and what to do.
    """
    client = client or ClientCapabilities()
    match config_id:
        case "mode":
            return replace(choices, mode=parse_mode(value))
        case "model":
            return _with_model(choices, value, config, known)
        case "thought_level":
            return _with_effort(choices, value, config, used)
        case "edits":
            return _with_edits(choices, value)
        case "thoughts":
            return replace(choices, thoughts=_switch(config_id, value))
        case "editor_terminals" if client.terminals:
            return replace(choices, editor_terminals=_switch(config_id, value))
        case "edit_approval_policy":
            return _with_old_edits(choices, value)
    ids = [MODE, MODEL, EFFORT, EDITS, THOUGHTS]
    if client.terminals:
        ids.append(EDITOR_TERMINALS)
    raise RequestError(f"There is no option {_shown(config_id)}. Choose one of: {', '.join(ids)}.")


def _with_model(
    choices: SessionChoices, value: object, config: Configuration, known: OfferedModels
) -> SessionChoices:
    choice = _model(value, config, known)
    effort = choices.effort if choices.effort in available_efforts(choice) else None
    return replace(choices, model=choice.name, effort=effort)


def _model(value: object, config: Configuration, known: OfferedModels) -> ModelChoice:
    name = _full_name(value, config, known)
    if only_offline(config) and name != OFFLINE_MODEL:
        raise RequestError("This agent was started offline. Start it without --offline to choose another model.")
    try:
        return resolve_chosen(config, name)
    except (AuthRequired, SettingsError) as problem:
        raise RequestError(
            f"The model {_shown(name)} cannot be used, so nothing is changed. {problem.public}"
        ) from problem


def _full_name(value: object, config: Configuration, known: OfferedModels) -> str:
    """The value as `provider:model`; a bare name is that of the first listed model which is called so."""
    names = [(provider.value(model), model.name) for provider in known for model in provider.models]
    if not isinstance(value, str):
        raise _no_value(MODEL, value, [name for name, _ in names])
    if any(name == value for name, _ in names):
        return value
    if bare := next((name for name, model in names if model == value), ""):
        return bare
    provider, model = split_name(config, value)
    if provider.strip() and model.strip():
        return value
    raise _no_value(MODEL, value, [name for name, _ in names])


def _with_effort(choices: SessionChoices, value: object, config: Configuration, used: str) -> SessionChoices:
    if value == AS_CONFIGURED:
        return replace(choices, effort=None)
    choice = present_model(config, choices.model, used).choice
    efforts = () if choice is None else available_efforts(choice)
    for effort in efforts:
        if effort == value:
            return replace(choices, effort=effort)
    if not efforts:
        whose = choice.name if choice is not None else "this session's model"
        raise RequestError(f"How much {whose} thinks cannot be chosen. Choose another model first.")
    raise _no_value(EFFORT, value, [AS_CONFIGURED, *efforts])


def _with_edits(choices: SessionChoices, value: object) -> SessionChoices:
    match value:
        case "mode":
            return replace(choices, edits="mode")
        case "ask":
            return replace(choices, edits="ask")
    raise _no_value(EDITS, value, [each.value for each in EDIT_POLICIES])


def _with_old_edits(choices: SessionChoices, value: object) -> SessionChoices:
    if value == "ask":
        return replace(choices, edits="ask")
    if value not in _OLD_EDIT_VALUES:
        raise _no_value(_OLD_EDITS, value, _OLD_EDIT_VALUES)
    # Both of its others let the session's own files be edited; here nothing lets edits outside them pass unseen.
    mode = choices.mode if choices.mode == "dont_ask" else "accept_edits"
    return replace(choices, edits="mode", mode=mode)


def _switch(config_id: str, value: object) -> bool:
    match value:
        case bool():
            return value
        case "true":
            return True
        case "false":
            return False
    raise _no_value(config_id, value, ["true", "false"])


def _no_value(config_id: str, value: object, known: Sequence[str]) -> RequestError:
    named = ", ".join(known[:_MOST_NAMED])
    more = f" and {len(known) - _MOST_NAMED} more" if len(known) > _MOST_NAMED else ""
    return RequestError(f"The option {config_id} has no value {_shown(value)}. Choose one of: {named}{more}.")


def _shown(value: object) -> str:
    text = str(value)
    return repr(text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…")


# The change: put into effect, stored, and announced.

log = logging.getLogger(__name__)

QUIET_SECONDS = 10.0
"""How long nothing has to happen until servers are asked for their models without a prompt having been answered."""


class Chooser:
    """Changes sessions' choices, one change of a session after the other.

    Used on the event loop, but for `offered`, `offered_first` and `renew`, which block.
    """

    def __init__(
        self,
        factory: AgentFactory,
        config: ConfigSource,
        sessions: SessionManager,
        workers: Workers,
        *,
        quiet: float = QUIET_SECONDS,
    ) -> None:
        self._factory = factory
        self._config = config
        self._sessions = sessions
        self._workers = workers
        self._lists = ModelLists(config.home)
        self._renewal = Renewal(self._lists)
        self._quiet = quiet
        self._waiting: asyncio.TimerHandle | None = None
        self._renewing: asyncio.Future[None] | None = None
        self._closed = False

    async def options(self, session: SessionState) -> tuple[Option, ...]:
        """Everything that can be chosen for a session now.

        Raises:
            SettingsError: the settings cannot be read.
        """
        return await self._workers.run(lambda: self.offered(session, everything=False))

    def offered(self, session: SessionState, *, everything: bool = True) -> tuple[Option, ...]:
        """The same on a worker thread; with `everything` all models, however many there are.

        Raises:
            SettingsError: the settings cannot be read.
        """
        return self._offered(session.choices, session.model_used, everything=everything)

    def offered_first(self, choices: SessionChoices) -> tuple[Option, ...]:
        """The same for a session that is about to begin."""
        return self._offered(choices, "", everything=False)

    def _offered(self, choices: SessionChoices, used: str, *, everything: bool) -> tuple[Option, ...]:
        config = self._config.load()
        known, client = self._lists.offered(config), self._sessions.client
        return offered_options(choices, config, known, client, used, everything=everything)

    async def choose(
        self, session: SessionState, option_id: str, value: object, *, announced: bool = True
    ) -> tuple[Option, ...]:
        """Give an option another value, from the next request to the model on.

        Args:
            announced: the client is sent the options; else the caller answers with them.

        Returns:
            Everything that can be chosen from now on.

        Raises:
            RequestError: there is no such option or value, or another process has the session; nothing was changed.
            SettingsError: the settings cannot be read; nothing was changed but the mode, if it was that.
        """
        async with session.choosing:
            await self._refuse_held(session)
            before, used, client = session.choices, session.model_used, self._sessions.client

            def checked() -> SessionChoices:
                config = self._config.load()
                known = self._lists.offered(config)
                return chosen(before, option_id, value, config, known=known, client=client, used=used)

            if option_id == MODE:
                await self._take_mode(session, parse_mode(value))
            else:
                await self._take(session, await self._workers.run(checked))
            options = await self.options(session)
            if announced and session.choices != before:
                session.outbox.put(OptionsOffered(options))
            return options

    async def set_mode(self, session: SessionState, mode: object) -> None:
        """Change the permission mode.

        Raises:
            RequestError: there is no such mode, or another process has the session; nothing was changed.
        """
        wanted = parse_mode(mode)
        async with session.choosing:
            await self._refuse_held(session)
            await self._change_mode(session, wanted)

    async def follow(self, session: SessionState, mode: str) -> None:
        """The agent itself has changed the mode."""
        async with session.choosing:
            if session.mode == mode:  # else the person has chosen another one since
                await self._change_mode(session, session.mode)

    def renew_when_quiet(self) -> None:
        """A session was opened. New models are looked for once a prompt was answered, or nothing happens for a while:
        loading what asks servers would take the time of the first prompt.
        """
        if self._closed:
            return
        if self._waiting is not None:
            self._waiting.cancel()
        self._waiting = asyncio.get_running_loop().call_later(self._quiet, self._on_quiet)

    def answered(self) -> None:
        """A prompt was answered: what waited for that begins."""
        if self._waiting is None:
            return
        self._waiting.cancel()
        self._waiting = None
        loop = asyncio.get_running_loop()
        self._renewing = asyncio.ensure_future(self._workers.run(lambda: self.renew(loop)))

    def renew(self, loop: asyncio.AbstractEventLoop) -> None:
        """Ask the servers whose models are not known, or not as of today, and show what is new; on a worker. The
        setting `model_lists.renew` turns it off.
        """
        try:
            config = self._config.load()
        except HermesError:
            log.info("no server is asked for its models: the settings cannot be read", exc_info=True)
            return
        if not config.settings.model_lists.renew:
            return
        self._renewal.run(config, lambda: _on(loop, self._show_to_all))

    def show_from(self, loop: asyncio.AbstractEventLoop, session: SessionState) -> None:
        """From a worker: send the options as they are once nobody is choosing."""
        _on(loop, lambda: self._show_soon(session))

    def close(self) -> None:
        """The process ends."""
        self._closed = True
        self._renewal.close()
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None
        if self._renewing is not None:
            self._renewing.cancel()

    def _on_quiet(self) -> None:
        # While a prompt runs nothing is quiet: its answer comes.
        if not any(session.tickets for session in self._sessions.all()):
            self.answered()

    def _show_to_all(self) -> None:
        for session in self._sessions.all():
            self._show_soon(session)

    def _show_soon(self, session: SessionState) -> None:
        asyncio.ensure_future(self._show(session))  # noqa: RUF006 - it catches what can go wrong, and is short

    async def _show(self, session: SessionState) -> None:
        async with session.choosing:
            await self._show_options(session)

    async def _show_options(self, session: SessionState) -> None:
        try:
            options = await self.options(session)
        except HermesError:
            log.info("session %s is not shown its options", session.id, exc_info=True)
            return
        if session in self._sessions.all():  # it may have been closed meanwhile
            session.outbox.put(OptionsOffered(options))

    async def _refuse_held(self, session: SessionState) -> None:
        """Let nobody choose for another process, which did not ask. A turn that runs here is ours to restrict.

        Raises:
            SessionInUse: another living process has the session.
        """
        if session.agent is not None and session.agent.is_running:
            return
        try:
            await self._workers.run(lambda: self._factory.sessions.refuse_held(session.id, "changed"))
        except StoreError:
            log.info("whether session %s is in use elsewhere cannot be seen", session.id, exc_info=True)

    async def _change_mode(self, session: SessionState, mode: Mode) -> None:
        before = session.choices
        await self._take_mode(session, mode)
        if session.choices != before:
            await self._show_options(session)

    async def _take_mode(self, session: SessionState, mode: Mode) -> None:
        """Needs no settings: what is allowed can be taken back whatever state they are in."""
        # Also where it looks as if nothing changed: the agent may have left plan mode just now.
        session.workspace.approvals.choose(mode)
        await self._take(session, replace(session.choices, mode=mode))

    async def _take(self, session: SessionState, choices: SessionChoices) -> None:
        before, used = session.choices, session.model_used
        if choices == before:
            return
        # First of all, for an agent that is being made just now: it looks again when it is there.
        session.choices = choices
        agent = session.agent
        if agent is not None and (choices.model, choices.effort) != (before.model, before.effort):
            try:
                await self._workers.run(lambda: self._factory.switch(agent, choices, used))
            except BaseException:
                session.choices = before
                raise
        # What was not chosen now stays: the agent may have left plan mode just now.
        mode = choices.mode if choices.mode != before.mode else None
        session.workspace.approvals.choose(mode, choices.edits)
        if mode is not None:
            session.outbox.put(ModeChanged(mode))
        library = self._factory.sessions
        await self._workers.run(lambda: library.remember(session.id, mode=choices.mode, options=choices.stored()))


def _on(loop: asyncio.AbstractEventLoop, act: Callable[[], None]) -> None:
    try:
        loop.call_soon_threadsafe(act)
    except RuntimeError:
        log.info("the connection is over; nobody is shown the new models")
