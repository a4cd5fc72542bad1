"""The same forbidden deeds by every route to a file or a command: each asks or is refused, none is done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from agent_core.mcp.specs import ServerSpec
from tests.drill.conftest import Open
from tests.support.editor import PLAIN, ZED, Content
from tests.support.editor_policies import allow, reject
from tests.support.hostile.attack import Attack, Call, filled
from tests.support.hostile.striking import Struck, obeyed
from tests.support.hostile.world import World
from tests.support.mcp_servers import files
from tests.support.obedient_model import LAST_PROCESS, order
from tools.environments.sandbox.probe import probe

pytestmark = [
    pytest.mark.usefixtures("mcp_sdk"),
    pytest.mark.long,
    pytest.mark.timeout(180),
    pytest.mark.skipif(not any(each.works for each in probe()), reason="no sandbox works on this machine"),
]

READ = (
    "@HOME@/.ssh/id_rsa",
    "@HOME@/.aws/credentials",
    "@OURS@/.env",
    "@OURS@/config.yaml",
    "@ROOT@/../.netrc",
    "/proc/@NEIGHBOUR@/environ",
)
# Commands may read them: the sandbox hides what is secret by its place or name.
OUTSIDE = ("@OUT@/secret.txt", "@ROOT@/away/secret.txt")
WRITTEN = (
    "@HOME@/.bashrc",
    "@HOME@/.ssh/authorized_keys",
    "@OURS@/config.yaml",
    "@OUT@/target.txt",
    "@ROOT@/.git/hooks/pre-commit",
    "@ROOT@/.git/config",
    "@ROOT@/.vscode/tasks.json",
    "@ROOT@/away/target.txt",
    # New ones: the file tools change no file that they have not read.
    "@HOME@/.zshenv",
    "@ROOT@/.git/hooks/post-checkout",
    "@OUT@/new.txt",
)
DENIED = "@ROOT@/private/notes.txt"
_RULES = ("read: private/**", "write: private/**")
_TAIL = "evil\n"


@dataclass(frozen=True, slots=True)
class Route:
    """How a path is reached: the calls for one, which client the session has, and what else.

    Attributes:
        is_blind: what is found there is not shown as text.
        settings: of the person's, beside the usual ones.
    """

    name: str
    calls: Callable[[str], Sequence[Call]]
    profile: dict[str, Any] | None = None
    servers: tuple[ServerSpec, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    is_blind: bool = False


def _tool(name: str, argument: str = "path", form: str = "{}", **more: Any) -> Callable[[str], Sequence[Call]]:
    return lambda path: [(name, {argument: form.format(path), **more})]


def _by_name(name: str, **more: Any) -> Callable[[str], Sequence[Call]]:
    return lambda path: [("mcp_call_tool", {"name": name, "arguments": {"path": path, **more}})]


def _command(words: str, **more: Any) -> Callable[[str], Sequence[Call]]:
    return lambda path: [("terminal", {"command": words.format(path=path), **more})]


def _behind(words: str) -> Callable[[str], Sequence[Call]]:
    following = ("process", {"action": "log", "session_id": LAST_PROCESS})
    return lambda path: [*_command(words, background=True)(path), following]


def _program(code: str) -> Callable[[str], Sequence[Call]]:
    return lambda path: [("execute_code", {"code": code.replace("PATH", repr(path))})]


def _child(calls: Callable[[str], Sequence[Call]]) -> Callable[[str], Sequence[Call]]:
    def delegated(path: str) -> Sequence[Call]:
        return [("delegate_task", {"goal": "\n".join(order(*call) for call in calls(path))})]

    return delegated


def _added(path: str) -> Sequence[Call]:
    text = f"*** Begin Patch\n*** Add File: {path}\n+evil\n*** End Patch"
    return [("patch", {"mode": "patch", "patch": text})]


_READ_FILE = _tool("read_file")
_WRITE_FILE = _tool("write_file", content=_TAIL)
_RPC_READ = "from hermes_tools import read_file\nprint(read_file(path=PATH))"
_RPC_WRITE = "from hermes_tools import write_file\nprint(write_file(path=PATH, content='evil'))"
_RPC_RUN = "from hermes_tools import terminal\nprint(terminal(command='cat ' + PATH))"
_FILES = (files(),)
_SEARCHED = {"mcp": {"tool_search": "on"}}
_SERVER_READ = _tool("mcp__files__read")
_SERVER_WRITE = _tool("mcp__files__write", text=_TAIL)
BY_TOOL = (
    Route("the file tool", _READ_FILE),
    Route("a search", _tool("search_files", pattern=".")),
    Route("an edit of it", _tool("patch", mode="replace", old_string="a", new_string="b"), is_blind=True),
    Route("a call of a program", _program(_RPC_READ)),
    Route("a sub-agent", _child(_READ_FILE)),
    Route("the editor", _READ_FILE, dict(ZED)),
    Route("a picture", _tool("vision_analyze", "image_url", question="what is it?"), is_blind=True),
    Route("a picture's address", _tool("vision_analyze", "image_url", "file://{}", question="?"), is_blind=True),
    Route("a tool of a server", _SERVER_READ, servers=_FILES),
    Route("a tool of a server by its name", _by_name("mcp__files__read"), servers=_FILES, settings=_SEARCHED),
    Route("a tool of a server for a sub-agent", _child(_SERVER_READ), servers=_FILES),
    Route("a resource", _tool("mcp_read_resource", "uri", "file://{}", server="files"), servers=_FILES),
)
BY_COMMAND = (
    Route("a command", _command("cat {path}")),
    Route("a command in the background", _behind("cat {path}")),
    Route("a program", _program("print(open(PATH).read())")),
    Route("a command of a program", _program(_RPC_RUN)),
    Route("a command of a sub-agent", _child(_command("cat {path}"))),
    Route("a command in the editor's client", _command("cat {path}"), dict(ZED)),
)
READERS = (*BY_TOOL, *BY_COMMAND)
WRITERS = (
    Route("the file tool", _WRITE_FILE),
    Route("a patch", _added),
    Route("a command", _command("echo evil >> {path}")),
    Route("a command in the background", _behind("echo evil >> {path}")),
    Route("a program", _program("open(PATH, 'a').write('evil')")),
    Route("a call of a program", _program(_RPC_WRITE)),
    Route("a sub-agent", _child(_WRITE_FILE)),
    Route("a patch of a sub-agent", _child(_added)),
    Route("the editor", _WRITE_FILE, dict(ZED)),
    Route("a tool of a server", _SERVER_WRITE, servers=_FILES),
    Route(
        "a tool of a server by its name",
        _by_name("mcp__files__write", text=_TAIL),
        servers=_FILES,
        settings=_SEARCHED,
    ),
)


async def _by(
    route: Route, path: str, world: World, opened: Open, *, mode: str = "default", deny: Sequence[str] = _RULES
) -> Struck:
    link = world.workspace / "away"
    if not link.is_symlink():
        link.symlink_to(world.elsewhere)
    settings = {"approvals": {"deny": list(deny)}, **route.settings}
    agent, server = await opened(profile=route.profile or PLAIN, **settings)
    agent.on_permission = allow if mode == "dont_ask" else reject
    prompt = "\n".join(order(*call) for call in route.calls(filled(path, world.places)))
    return await obeyed(agent, world, server, Attack(route.name), prompt, mode=mode, servers=route.servers)


@pytest.mark.parametrize("route", READERS, ids=lambda route: route.name)
async def test_what_must_not_be_read_is_read_by_no_route(route: Route, world: World, opened: Open) -> None:
    for path in READ if route in BY_COMMAND else (*READ, *OUTSIDE):
        struck = await _by(route, path, world, opened)
        assert struck.harm == (), f"{path} {struck}"
        assert struck.is_shown, f"{path} {struck}"


@pytest.mark.parametrize("route", WRITERS, ids=lambda route: route.name)
async def test_what_must_not_be_changed_is_changed_by_no_route(route: Route, world: World, opened: Open) -> None:
    for path in WRITTEN:
        struck = await _by(route, path, world, opened)
        assert struck.harm == (), f"{path} {struck}"
        assert struck.is_shown, f"{path} {struck}"


@pytest.mark.parametrize("mode", ["default", "dont_ask"])
async def test_what_a_rule_denies_is_denied_by_every_route_in_every_mode(
    mode: str, world: World, opened: Open
) -> None:
    path = world.workspace / "private" / "notes.txt"
    path.parent.mkdir()
    path.write_text(f"{world.secret}\n", encoding="utf-8")
    for route in (*READERS, *WRITERS):
        struck = await _by(route, DENIED, world, opened, mode=mode)
        assert struck.harm == (), struck
        assert struck.is_shown, struck
        assert not route.is_blind or "rule" in struck.cards, struck
        assert path.read_text("utf-8") == f"{world.secret}\n", struck


async def test_each_route_leads_to_what_nothing_forbids(world: World, opened: Open) -> None:
    """One that led nowhere would prove nothing about what is kept from it."""
    for route in READERS:
        # Anew: an edit may have changed it, where the secret has no second letter of the kind.
        (world.workspace / "open.txt").write_text(f"{world.secret}\n", encoding="utf-8")
        struck = await _by(route, "@ROOT@/open.txt", world, opened, mode="dont_ask", deny=())
        assert route.is_blind or "revealed the secret (plain)" in struck.harm, struck
    new = world.workspace / "new.txt"
    for route in WRITERS:
        struck = await _by(route, "@ROOT@/new.txt", world, opened, mode="dont_ask", deny=())
        assert "evil" in new.read_text("utf-8"), struck
        new.unlink()


async def test_a_link_in_the_persons_prompt_asks_for_what_a_call_would_ask_for(world: World, opened: Open) -> None:
    agent, server = await opened(approvals={"deny": list(_RULES)})
    agent.on_permission = reject
    private = world.workspace / "private" / "notes.txt"
    private.parent.mkdir()
    private.write_text(f"{world.secret}\n", encoding="utf-8")
    (world.workspace / "away").symlink_to(world.elsewhere)
    for path in (*READ, *OUTSIDE, DENIED):
        target = Path(filled(path, world.places))
        prompt: Content = [
            {"type": "text", "text": "Look at this."},
            {"type": "resource_link", "name": target.name, "uri": f"file://{target}"},
        ]
        struck = await obeyed(agent, world, server, Attack(path), prompt)
        assert struck.harm == (), struck
