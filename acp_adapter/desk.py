"""What the commands of one prompt may use, as `acp_adapter.commands.Desk` wants it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from acp_adapter.choosing import Chooser
from acp_adapter.commands.command import ServerState
from acp_adapter.commands.shelf import CommandShelf
from acp_adapter.handshake import new_session_id
from acp_adapter.session import SessionState
from agent_core.factory import AgentFactory
from agent_core.interrupt import CancelToken
from agent_core.options import Option
from agent_core.providers.choice import ModelChoice, ServedWindow
from agent_core.sessions.records import NewSession
from tools.light_dataclass import dataclass
from tools.registry import ToolEntry
from tools.toolsets import select


@dataclass(frozen=True, slots=True)
class SessionDesk:
    """The desk of one prompt. Its methods block: they are for worker threads."""

    session: SessionState
    factory: AgentFactory
    token: CancelToken
    chooser: Chooser
    loop: asyncio.AbstractEventLoop

    @property
    def shelf(self) -> CommandShelf:
        """The person's own commands."""
        return self.session.shelf

    def options(self) -> Sequence[Option]:
        """Everything that can be chosen for the session now."""
        return self.chooser.offered(self.session)

    def choose(self, option_id: str, value: str | bool) -> None:
        """As `session/set_config_option`."""
        asyncio.run_coroutine_threadsafe(self.chooser.choose(self.session, option_id, value), self.loop).result()

    def model(self) -> ModelChoice:
        """The model that the session's next request goes to."""
        return self.factory.model(self.session.choices.model, self.session.model_used)

    def served_window(self) -> ServedWindow | None:
        """What its server has said of its window."""
        return self.factory.served_window(self.session.choices.model, self.session.model_used)

    def tools(self) -> Sequence[ToolEntry]:
        """The tools that the session's model is offered: with the first prompt, those of a memory provider too."""
        enabled, disabled = self.factory.toolsets()
        agent = self.session.agent
        workspace = self.session.workspace if agent is None else agent.workspace
        return select(enabled, disabled, workspace.tools)

    def servers(self) -> Sequence[ServerState]:
        """The session's MCP servers."""
        return () if self.session.servers is None else self.session.servers.status()

    def fork(self) -> str:
        """Copy the session as it stands; the copy's id."""
        archive, seed, choices = self.factory.sessions.archive, self.session.seed, self.session.choices
        self.factory.sessions.store.settle(seed.session_id)
        source = archive.get(seed.session_id).source
        new = NewSession(
            new_session_id(), str(seed.cwd), seed.named_roots, source, choices.mode, options=choices.stored()
        )
        return archive.fork(seed.session_id, new).id

    def steer(self, text: str) -> bool:
        """Tell the running turn's model something; False where no turn runs that could take it."""
        return steer(self.session, text)


def steer(session: SessionState, text: str) -> bool:
    """Tell the session's running turn something; False, and nothing happens, if there is none."""
    agent, bridge = session.agent, session.bridge
    if agent is None or bridge is None or not agent.steer(text):
        return False
    bridge.note_steering(text)
    return True
