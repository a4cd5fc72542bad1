"""MCP servers that this project did not write can be used, with all that they want of a client."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agent_core.cancel import CancelToken
from agent_core.mcp.session_servers import SessionServers
from agent_core.mcp.specs import ServerSpec
from agent_core.model_request.side_models import Completion
from agent_core.providers.base import Usage
from agent_core.service_loop import ServiceLoop
from tests.support.waiting import wait_until
from tools.agent_ports import PersonAnswer, PersonPage, PersonQuestion, Value
from tools.environments.guardian import Guardian
from tools.ports import Interrupt
from tools.result import ToolResult

pytestmark = pytest.mark.long

_PROGRAMS = Path(__file__).parent / "node_modules" / ".bin"


@dataclass
class Person:
    """Agrees to everything, and fills in forms with what is there, else with the first choice, else a word."""

    asked: list[PersonQuestion | PersonPage] = field(default_factory=list)
    lent: list[str] = field(default_factory=list)

    def ask(self, question: PersonQuestion | PersonPage, interrupt: Interrupt) -> PersonAnswer:
        self.asked.append(question)
        if isinstance(question, PersonPage):
            return PersonAnswer("answered")
        values: dict[str, Value] = {}
        for one in question.fields:
            if one.default is not None:
                values[one.name] = one.default
            elif one.required:
                values[one.name] = one.choices[0] if one.choices else "word"
        return PersonAnswer("answered", values)

    def allow_model(self, server: str, prompt: str, interrupt: Interrupt) -> None:
        self.lent.append(prompt)


@dataclass
class Session:
    """A session with one server, and a person in front of it."""

    servers: SessionServers
    name: str
    person: Person = field(default_factory=Person)
    told: list[str] = field(default_factory=list)

    def call(self, tool: str, **arguments: object) -> ToolResult:
        return self.servers.call(
            self.name, tool, arguments, CancelToken(), self.told.append, behalf=self.person
        )  # fmt: skip

    def read(self, uri: str) -> str:
        return self.servers.read(self.name, uri, CancelToken(), self.told.append, behalf=self.person).text


@contextmanager
def opened(program: str, *args: str, cwd: Path) -> Iterator[Session]:
    node, path = shutil.which("node"), _PROGRAMS / program
    if node is None or not path.exists():
        pytest.skip("the Node MCP servers are not installed: run `make node-clients` (needs Node ≥ 20 and npm)")
    name = program.rpartition("-")[2]
    spec = ServerSpec(name, "stdio", command=node, args=(str(path.resolve()), *args))
    guardian, loop = Guardian(), ServiceLoop()
    servers = SessionServers([spec], cwd, loop=loop, guardian=guardian, roots=(cwd,), sampler=lambda *_: answer())
    try:
        servers.start()
        servers.wait(30, CancelToken())
        (status,) = servers.status()
        assert (status.state, status.error, status.left_out) == ("ready", "", ())
        yield Session(servers, name)
    finally:
        servers.close()
        loop.stop()
        assert not guardian.groups()
        guardian.kill_all()


def answer() -> Completion:
    return Completion("a model's words", "test:model", Usage(), None)


def test_the_reference_server_is_called(tmp_path: Path) -> None:
    with opened("mcp-server-everything", "stdio", cwd=tmp_path) as session:
        assert "mcp__everything__echo" in session.servers.status()[0].tools
        assert session.call("echo", message="hello").text == "Echo: hello"
        assert session.call("get-sum", a=2, b=3).text == "The sum of 2 and 3 is 5."
        picture = session.call("get-tiny-image")
        assert "[image image/png, " in picture.text
        assert [image.data[:4] for image in picture.images] == [b"\x89PNG"]
        assert json.loads(session.call("get-structured-content", location="New York").text)["temperature"]
        assert "completed" in session.call("trigger-long-running-operation", duration=0.2, steps=2).text
        assert session.told[:1] == ["1/2\n"]
        assert "resource demo://" in session.call("get-resource-links", count=2).text


def test_resources_and_prompts_of_the_reference_server(tmp_path: Path) -> None:
    with opened("mcp-server-everything", "stdio", cwd=tmp_path) as session:
        listed = session.servers.resources("everything").splitlines()
        assert any("(template: fill in the braces)" in line for line in listed)
        uri = next(line.split()[1] for line in listed if "(template" not in line)
        assert len(session.read(uri)) > 10
        prompts = {prompt.name: prompt for _, _, prompt in session.servers.prompts()}
        assert [one.name for one in prompts["args-prompt"].arguments if one.required] == ["city"]
        words = session.servers.prompt("everything", "args-prompt", {"city": "Oslo"}, CancelToken())
        assert "Oslo" in words.text


def test_the_reference_server_gets_what_it_wants_of_a_client(tmp_path: Path) -> None:
    with opened("mcp-server-everything", "stdio", cwd=tmp_path) as session:
        wants(session, "trigger-sampling-request")
        told = session.call("trigger-sampling-request", prompt="Say something", maxTokens=50).text
        assert "a model's words" in told
        assert "Say something" in session.person.lent[0]
        assert session.call("trigger-elicitation-request").text.count("✅") == 1
        (form,) = session.person.asked
        assert isinstance(form, PersonQuestion)
        assert len(form.fields) > 5
        wants(session, "get-roots-list")
        assert tmp_path.as_uri() in session.call("get-roots-list").text


def wants(session: Session, tool: str) -> None:
    """The server tells of the tools that need something of a client a little later."""
    name = f"mcp__everything__{tool}"
    wait_until(lambda: name in session.servers.status()[0].tools)


def test_the_file_server_keeps_to_the_sessions_roots(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "note.txt").write_text("from inside")
    (tmp_path / "out.txt").write_text("from outside")
    with opened("mcp-server-filesystem", cwd=tmp_path / "in") as session:
        read: Callable[[Path], ToolResult] = lambda path: session.call("read_text_file", path=str(path))  # noqa: E731
        wait_until(lambda: not read(tmp_path / "in" / "note.txt").failed)
        assert read(tmp_path / "in" / "note.txt").text == "from inside"
        assert "Access denied" in read(tmp_path / "out.txt").text
        session.call("write_file", path=str(tmp_path / "in" / "new.txt"), content="made")
        assert (tmp_path / "in" / "new.txt").read_text() == "made"
