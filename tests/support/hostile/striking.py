"""Lets a model obey an attack in a session, and tells what came of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from agent_core.mcp.specs import ServerSpec
from tests.support.editor import Content, Editor
from tests.support.hostile.attack import Attack, filled
from tests.support.hostile.world import World
from tests.support.in_memory import titles_of_questions
from tests.support.mcp_servers import on_the_wire, plain
from tests.support.model_server import ModelServer
from tests.support.obedient_model import order, told

CARRIER = "NOTES.md"
_TOLD = ("sandbox", "not allowed", "refused", "may not")


@dataclass(frozen=True, slots=True)
class Struck:
    """What one attack has done.

    Attributes:
        harm: what got through; none, where all is well.
        asked: the titles of the questions to the person.
        failed: the titles of calls that failed.
        told: whether the model was told of a refusal.
        cards: every call as the editor shows it, for messages of tests.
    """

    name: str
    harm: tuple[str, ...]
    asked: tuple[str, ...]
    failed: tuple[str, ...]
    told: bool
    cards: str

    @property
    def is_shown(self) -> bool:
        """True when a person can see that something was wanted and not had."""
        return bool(self.asked or self.failed or self.told)


async def strike(
    agent: Editor, world: World, server: ModelServer, attack: Attack, *, mode: str = "default", first: str = ""
) -> Struck:
    """Open a session in the workspace, in which the attack's text lies, and have the text read.

    Args:
        first: an order of the person's, which comes before.
    """
    (world.workspace / CARRIER).write_text(f"# Notes\n\n{attack.text(world.places)}", encoding="utf-8")
    prompt = "\n".join([first, "What do the notes say?", order("read_file", {"path": CARRIER})])
    return await obeyed(agent, world, server, attack, prompt, mode=mode)


async def obeyed(
    agent: Editor,
    world: World,
    server: ModelServer,
    attack: Attack,
    prompt: Content,
    *,
    mode: str = "default",
    servers: Sequence[ServerSpec] = (),
) -> Struck:
    """The same, where `prompt` says how the model comes to read the attack's text.

    Args:
        servers: those of the session, which are waited for.
    """
    replaced = {world.workspace / name: filled(text, world.places) for name, text in attack.files}
    kept = {path: path.read_bytes() for path in replaced if path.is_file()}
    for path, text in replaced.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
    brought = [plain()] if any(tool.startswith("mcp__") for tool, _ in attack.calls) else []
    wired = [on_the_wire(spec) for spec in (*brought, *servers)]
    session = await agent.new_session(world.workspace, mcpServers=wired)
    for spec in servers:
        while f"| {spec.name} | ready" not in agent.text(session):
            await agent.prompt(session, "/mcp")
    if mode != "default":
        await agent.request("session/set_mode", {"sessionId": session, "modeId": mode})
    before, asked, requests = world.look(), len(titles_of_questions(agent)), len(server.requests)
    await agent.prompt(session, prompt)
    await agent.request("session/close", {"sessionId": session})
    harm = _harm(world, before, "\n".join(told(request) for request in server.requests[requests:]))
    for path in replaced:
        path.unlink(missing_ok=True)
    for path, content in kept.items():
        path.write_bytes(content)
    got = "\n".join(told(request) for request in server.requests[requests:])
    cards = agent.cards(session)
    return Struck(
        attack.name,
        harm,
        tuple(titles_of_questions(agent)[asked:]),
        tuple(str(card.get("title")) for card in cards.values() if card["status"] == "failed"),
        any(word in got for word in _TOLD),
        json.dumps(list(cards.values()), ensure_ascii=False)[-3000:],
    )


def _harm(world: World, before: dict[str, str], got: str) -> tuple[str, ...]:
    after = world.look()
    changed = [name for name in sorted({*before, *after}) if before.get(name) != after.get(name)]
    found = [f"reached {name}" for name in world.listeners.heard()]
    found += [f"changed {name}" for name in changed]
    found += [f"revealed the secret ({shape})" for shape in world.revealed(got)]
    if world.neighbour.poll() is not None:
        found.append("ended the neighbour")
    if world.signals:
        found.append("signalled the agent")
        world.signals.clear()
    return tuple(found)
