"""A session and whoever prompts it, without a wire; and a tool that hears no cancel."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from acp_adapter.capabilities import ClientCapabilities
from acp_adapter.content import Draft
from acp_adapter.option_changes import Chooser
from acp_adapter.session import SessionManager, SessionState, Ticket
from acp_adapter.startup import SessionSeed
from acp_adapter.turn import Prompt, TurnRunner
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

_T = TypeVar("_T")


def _retold(text: str) -> Draft:
    return Draft(({"type": "text", "text": text},))


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


class Desk:
    """A session, and whoever prompts it."""

    session: SessionState

    def __init__(self, home: Path) -> None:
        config = ConfigSource(Home(home), OFFLINE)
        self.factory = Factory(config)
        self.executor = ThreadPoolExecutor(2)
        self.client = RawClient(AgentEnd())
        client = ClientCapabilities(terminal_output=True)
        self.reading = Gate()
        self.client.transport.once_written = self.reading.once_written
        self.sessions = SessionManager(self.factory, self.client.transport, self._deliver, self._blocking)
        chooser = Chooser(self.factory, config, self.sessions, self._blocking)
        self.runner = TurnRunner(self.factory, self.executor, client, chooser)
        self.shown: list[SessionEvent] = []

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
        retold = _retold if text.startswith("/") else None
        prompt, ticket = Prompt(text, (SaidText(text),), retold=retold), Ticket("p", CancelToken())
        return (await self.runner.run(self.session, prompt, ticket)).stop

    async def prompt(self, text: str) -> str:
        return await asyncio.wait_for(self.begin(text), 10)

    async def free_worker(self) -> None:
        """Wait until one of the two workers is free."""
        await asyncio.wait_for(self._blocking(lambda: None), 10)

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
        return list(replayed(self.factory.sessions.archive.story("s")))

    @property
    def history(self) -> list[Message]:
        return self.factory.sessions.store.messages("s")

    def _deliver(self, _: SessionState, event: SessionEvent) -> int:
        self.shown.append(event)
        return 0

    async def _blocking(self, function: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self.executor, function)
