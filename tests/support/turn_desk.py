"""A session and whoever prompts it, without a wire; and a tool that hears no cancel."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from acp_adapter.capabilities import ClientCapabilities
from acp_adapter.content import to_draft
from acp_adapter.option_changes import Chooser
from acp_adapter.projection import CardFields
from acp_adapter.session import SessionManager, SessionState, Ticket
from acp_adapter.startup import SessionSeed
from acp_adapter.turn import Prompt, PromptTurn
from acp_adapter.workers import Workers
from agent_core.agent import AIAgent
from agent_core.cancel import CancelToken
from agent_core.config import ConfigSource
from agent_core.events import AgentText, SaidText, SessionEvent
from agent_core.factory import AgentFactory
from agent_core.home import Home
from agent_core.messages import Message
from agent_core.providers.offline import OfflineProvider
from agent_core.services import SessionServices
from agent_core.sessions.replay import replayed
from agent_core.settings.options import SessionChoices
from agent_core.workspace import Workspace
from tests.support.agent_end import AgentEnd, RawClient
from tests.support.gate import Gate
from tests.support.in_memory import OFFLINE
from tools.errors import ToolInterrupted


class Stubborn:
    """A tool that hears no cancel; what it tries afterwards is noted."""

    def __init__(self) -> None:
        self.entered, self.release, self.left = threading.Event(), threading.Event(), threading.Event()
        self.tried: list[object] = []

    def __call__(self, args: dict[str, Any], **kw: Any) -> str:
        ctx = kw["ctx"]
        ctx.progress("before\n")
        self.entered.set()
        self.release.wait(30)
        ctx.progress("after\n")
        effects: list[Callable[[], object]] = [
            lambda: ctx.fs.write(ctx.cwd / "late.txt", b"late", expected=None),
            lambda: ctx.fs.open(ctx.cwd / "README.md").close(),
        ]
        for effect in effects:
            try:
                self.tried.append(effect())
            except ToolInterrupted:
                self.tried.append("refused")
        self.left.set()
        return "{}"


class Factory(AgentFactory):
    """Agents that have the stubborn tool too; the first one is made once `slow` is set."""

    def __init__(self, config: ConfigSource) -> None:
        super().__init__(config)
        self.making, self.slow = threading.Event(), threading.Event()
        self.slow.set()
        self.made = 0

    def agent(
        self,
        session_id: str,
        workspace: Workspace,
        services: SessionServices,
        choices: SessionChoices | None = None,
        on_note: Callable[[str], None] = lambda _: None,
    ) -> AIAgent:
        self.made += 1
        if self.made == 1:
            self.making.set()
            self.slow.wait(30)
        return AIAgent(
            "offline",
            OfflineProvider(),
            enabled_toolsets=("hermes-acp", "stubborn"),
            session_store=self.sessions.store,
            session_id=session_id,
            workspace=workspace,
            services=services,
        )


class Sessions(SessionManager):
    """Sessions whose events are kept, and sent to nobody."""

    def __init__(self, shown: list[SessionEvent], *made_of: Any) -> None:
        super().__init__(*made_of)
        self._shown = shown

    def deliver(self, _session_id: str, _cards: CardFields, event: SessionEvent) -> int:
        self._shown.append(event)
        return 0


class Desk:
    """A session, and whoever prompts it."""

    session: SessionState

    def __init__(self, home: Path) -> None:
        config = ConfigSource(Home(home), OFFLINE)
        self.factory = Factory(config)
        self.workers = Workers(2, "turn")
        self.client = RawClient(AgentEnd())
        self.reading = Gate()
        self.client.transport.once_written = self.reading.once_written
        self.shown: list[SessionEvent] = []
        self.sessions = Sessions(self.shown, self.factory, self.client.transport, self.workers)
        self.chooser = Chooser(self.factory, config, self.sessions, self.workers)

    async def open(self, cwd: Path) -> None:
        choices = SessionChoices(mode="accept_edits")
        self.session = await self.sessions.open(lambda: SessionSeed("s", cwd, (), (), choices), held=False)

    def close(self) -> None:
        """Give back what the session's transport holds."""
        self.client.close_input()
        self.client.close()

    def begin(self, text: str) -> asyncio.Task[str]:
        return asyncio.create_task(self._run(text))

    async def _run(self, text: str) -> str:
        said, client = (SaidText(text),), ClientCapabilities(terminal_output=True)
        prompt, ticket = Prompt(said, to_draft(said), is_typed=True), Ticket("p", CancelToken())
        turn = PromptTurn(self.factory, self.workers, self.chooser, client, self.session, prompt, ticket)
        return (await turn.run()).stop

    async def prompt(self, text: str) -> str:
        return await asyncio.wait_for(self.begin(text), 10)

    async def free_worker(self) -> None:
        """Wait until one of the two workers is free."""
        await asyncio.wait_for(self.workers.run(lambda: None), 10)

    async def free_workers(self) -> None:
        """Wait until both are."""
        both = threading.Barrier(2)
        await asyncio.wait_for(asyncio.gather(*(self.workers.run(both.wait) for _ in range(2))), 10)

    async def cancel(self, turn: asyncio.Task[str]) -> None:
        """Cancel a turn, which must be answered."""
        self.session.cancel()
        assert await asyncio.wait_for(turn, 30) == "cancelled"

    @property
    def text(self) -> str:
        return "".join(event.text for event in self.shown if isinstance(event, AgentText))

    def texts(self, events: Iterable[SessionEvent]) -> list[str]:
        """What the agent and its commands have said, message by message."""
        found: dict[str, str] = {}
        for event in events:
            if isinstance(event, AgentText):
                found[event.message_id] = found.get(event.message_id, "") + event.text
        return [text.strip() for text in found.values()]

    @property
    def shown_again(self) -> list[SessionEvent]:
        """What a load would show."""
        return list(replayed(self.factory.sessions.archive.transcript("s")))

    @property
    def history(self) -> list[Message]:
        return self.factory.sessions.store.messages("s")
