"""Where a scenario plays: a home, a small project, a server in memory, and an editor of some profile."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Self
from unittest.mock import patch

from acp_adapter import tools
from agent_core.config import ConfigSource
from agent_core.home import Home
from tests.support.editor import Editor
from tests.support.editor_frames import Frame
from tests.support.editor_host import RpcError
from tests.support.editor_profiles import EVERY_PROFILE
from tests.support.in_memory import serving
from tests.support.model_server import ModelServer
from tests.support.settings_files import configure, use_model
from tests.support.waiting import wait_until

FILES = {
    "README.md": "# Sums\n\nA small example.\n",
    "sums.py": "def add(a, b):\n    return a - b\n",
    "tests/test_sums.py": "from sums import add\n\n\ndef test_add():\n    assert add(2, 2) == 4\n",
}

# A transcript must not depend on whether this machine has a sandbox.
_ANY_MACHINE = {"sandbox": {"level": "full"}}
TOLD_OF_A_MODE = ("current_mode_update", "config_option_update")
"""The updates that tell of a chosen mode; a scenario waits for them, so that what it does next comes after them."""


class Stage:
    """What a scenario uses. The server starts with `greet`, so that settings can be written first.

    Attributes:
        agent: the editor of the present connection.
        session: the session that was opened last.
        connections: the frames of the connections so far.
    """

    agent: Editor
    session: str

    def __init__(self, root: Path, profile: str) -> None:
        self.profile = profile
        self.home, self.workspace = root / "home", root / "workspace"
        self.outside = root / "outside"
        self.connections: list[list[Frame]] = []
        self._config: ConfigSource | None = None
        self._stack = AsyncExitStack()
        self.home.mkdir(parents=True)
        configure(self.home, _ANY_MACHINE)
        for name, text in FILES.items():
            self.write(name, text)
        self.outside.mkdir()

    def write(self, name: str, text: str) -> Path:
        """A file of the project."""
        path = self.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def settings(self, **settings: Any) -> None:
        """The home's config.yaml."""
        configure(self.home, {**_ANY_MACHINE, **settings})

    def model(self, *replies: Any, default: Any = None, **settings: Any) -> ModelServer:
        """A model on the wire, with these replies, in place of the offline one."""
        server = self._stack.enter_context(ModelServer(*replies, default=default))
        use_model(self.home, server, **{**_ANY_MACHINE, **settings})
        self.use_own_settings()
        return server

    def server(self, default: Any) -> ModelServer:
        """A model on the wire that always answers so; the settings must name it."""
        return self._stack.enter_context(ModelServer(default=default))

    def use_own_settings(self) -> None:
        """No offline model: what the settings say."""
        self._config = ConfigSource(Home(self.home))

    async def greet(self, **changes: Any) -> Any:
        """Start the server and send initialize, with `changes` to the profile's capabilities."""
        # How long cards are held must not depend on how busy this machine is.
        self._stack.enter_context(patch.object(tools, "LONGEST_HOLD", 60.0))
        running = serving(self.home, config=self._config, front_door=True)
        self.agent = await self._stack.enter_async_context(running)
        self.connections.append(self.agent.frames)
        return await self.agent.initialize(EVERY_PROFILE[self.profile], **changes)

    async def greet_with_notices(self) -> Any:
        """As `greet`, by a client that takes notices too."""
        session = EVERY_PROFILE[self.profile].get("session", {})
        return await self.greet(session={**session, "notices": {}})

    async def open(self, **params: Any) -> str:
        """session/new in the project, with what is told behind its answer."""
        self.session = await self.agent.new_session(self.workspace, **params)
        await self.agent.wait_for_update(self.session, "available_commands_update")
        return self.session

    async def begin(self, **params: Any) -> None:
        """Greet and open."""
        await self.greet()
        await self.open(**params)

    async def prompt(self, *lines: str) -> Any:
        """A prompt whose lines the offline model does."""
        return await self.agent.prompt(self.session, "\n".join(lines))

    def begin_prompt(self, *lines: str) -> asyncio.Future[Any]:
        """A prompt that is not waited for."""
        return self.agent.begin_prompt(self.session, "\n".join(lines))

    def fill(self, form: Mapping[str, Any] | None) -> None:
        """From now on the person fills forms so; None declines them."""

        async def answer(_: dict[str, Any]) -> dict[str, Any]:
            return {"action": "decline"} if form is None else {"action": "accept", "content": dict(form)}

        self.agent.host.forms = answer

    def offers(self, option: str) -> bool:
        """Whether the session's answer had an option of that id."""
        return any(each["id"] == option for each in self.agent.opened[self.session]["configOptions"])

    async def load(self) -> Any:
        """session/load of the session."""
        return await self.ask("session/load", cwd=str(self.workspace), mcpServers=[])

    async def refused(self, method: str, params: Mapping[str, Any]) -> RpcError:
        """A request that must be answered with an error."""
        try:
            result = await self.agent.request(method, params)
        except RpcError as error:
            return error
        raise AssertionError(f"{method} was answered with {result}, not with an error")

    async def ask(self, method: str, **params: Any) -> Any:
        """A request about the session."""
        return await self.agent.request(method, {"sessionId": self.session, **params})

    async def choose(self, method: str, *told: str, **params: Any) -> None:
        """Set a mode or an option, and wait until it is told by each of the updates `told` as well."""
        since = len(self.agent.frames)
        await self.ask(method, **params)
        for kind in told or TOLD_OF_A_MODE:
            await self.agent.wait_for_update(self.session, kind, since=since)

    async def until_text(self, text: str) -> None:
        """Wait until the answer so far ends so."""
        await self.agent.until(lambda: self.agent.text(self.session).endswith(text), what=f"the text {text!r}")

    async def until_told(self, text: str) -> None:
        """Wait until a notice or the answer has such words."""

        def tells(frame: Frame) -> bool:
            return frame.is_update(self.session) and text in json.dumps(frame.update)

        await self.agent.wait_for(tells, what=f"the words {text!r}")

    async def until_there(self, name: str) -> None:
        """Wait until the project has a file."""
        await asyncio.to_thread(wait_until, (self.workspace / name).exists)

    async def until_output(self) -> None:
        """Wait until a command has printed something."""

        def prints(frame: Frame) -> bool:
            update = frame.update
            return update.get("sessionUpdate") == "tool_call_update" and (
                "terminal_output" in update.get("_meta", {}) or is_picture(update)
            )

        await self.agent.wait_for(prints, what="output")

    async def until_asked(self) -> Frame:
        """Wait for a permission question."""
        return await self.agent.wait_for_call("session/request_permission")

    async def reconnect(self) -> None:
        """The editor ends, and begins again with another server on the same home."""
        await self._stack.aclose()
        self._stack = AsyncExitStack()
        await self.greet()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()


def is_picture(update: Mapping[str, Any]) -> bool:
    """Whether this shows a command's last lines while it runs."""
    if set(update) != {"sessionUpdate", "toolCallId", "status", "content"} or update["status"] != "in_progress":
        return False
    return all(item["type"] == "content" for item in update["content"])
