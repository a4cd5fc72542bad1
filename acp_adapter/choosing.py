"""What the person chooses for a session: checked, put into effect, stored, and announced."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace

from acp_adapter.options.chosen import chosen
from acp_adapter.options.modes import parse_mode
from acp_adapter.options.offering import MODE, offered_options
from acp_adapter.session import SessionState
from acp_adapter.session_manager import RunBlocking, SessionManager
from agent_core.choices import SessionChoices
from agent_core.config import ConfigSource
from agent_core.errors import HermesError, StoreError
from agent_core.events import ModeChanged, OptionsOffered
from agent_core.factory import AgentFactory
from agent_core.options import Option
from agent_core.providers.available_models import ModelLists, Renewal
from tools.approval.policy import Mode

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
        run_blocking: RunBlocking,
        *,
        quiet: float = QUIET_SECONDS,
    ) -> None:
        self._factory = factory
        self._config = config
        self._sessions = sessions
        self._run_blocking = run_blocking
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
        return await self._run_blocking(lambda: self.offered(session, everything=False))

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
                await self._take(session, await self._run_blocking(checked))
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
        self._renewing = asyncio.ensure_future(self._run_blocking(lambda: self.renew(loop)))

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
            await self._run_blocking(lambda: self._factory.sessions.refuse_held(session.id, "changed"))
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
                await self._run_blocking(lambda: self._factory.switch(agent, choices, used))
            except BaseException:
                session.choices = before
                raise
        # What was not chosen now stays: the agent may have left plan mode just now.
        mode = choices.mode if choices.mode != before.mode else None
        session.workspace.approvals.choose(mode, choices.edits)
        if mode is not None:
            session.outbox.put(ModeChanged(mode))
        library = self._factory.sessions
        await self._run_blocking(lambda: library.remember(session.id, mode=choices.mode, options=choices.stored()))


def _on(loop: asyncio.AbstractEventLoop, act: Callable[[], None]) -> None:
    try:
        loop.call_soon_threadsafe(act)
    except RuntimeError:
        log.info("the connection is over; nobody is shown the new models")
