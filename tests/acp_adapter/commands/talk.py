"""A session that a test types commands into."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from agent_core.messages import text_of
from agent_core.sessions.database import Database
from agent_core.sessions.rows import read_bodies, unpack_message
from tests.support.editor import Content, Editor
from tests.support.merged_view import MergedView, merged_view


@dataclass(slots=True)
class Talk:
    """The session, in an editor."""

    editor: Editor
    home: Path
    workspace: Path
    session: str

    @classmethod
    async def begin(cls, editor: Editor, home: Path, workspace: Path) -> Self:
        """A new session, once the editor knows its commands."""
        session = await editor.new_session(workspace)
        await editor.wait_for_update(session, "available_commands_update")
        return cls(editor, home, workspace, session)

    async def say(self, content: Content) -> str:
        """Send a prompt; the text that comes for an answer."""
        before = len(self.editor.text(self.session))
        assert (await self.editor.prompt(self.session, content))["stopReason"] == "end_turn"
        return self.editor.text(self.session)[before:]

    async def reloaded(self) -> MergedView:
        """What the editor shows when the session is loaded again."""
        known = len(self.editor.updates(self.session))
        await self.editor.load_session(self.session, self.workspace)
        return merged_view(self.editor.updates(self.session)[known:])

    def offered(self) -> Sequence[dict[str, Any]]:
        """The commands as they were offered last."""
        offer = self.editor.updates(self.session, "available_commands_update")[-1]
        commands: list[dict[str, Any]] = offer["availableCommands"]
        return commands

    def history(self, session: str = "") -> list[str]:
        """The texts that the model is shown of the session, as they are stored."""
        database = Database(self.home / "hermes-acp.db")
        try:
            with database.read() as connection:
                messages = [unpack_message(body) for body in read_bodies(connection, session or self.session)]
                return [text_of(message["content"]) for message in messages]
        finally:
            database.close()
