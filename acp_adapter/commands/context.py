"""`/context`: what fills the model's window, by kind."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Literal

from acp_adapter.commands.command import Desk, Told, Typed
from acp_adapter.commands.context_prompt import left_out_lines, prompt_rows
from acp_adapter.commands.markdown import code, table
from agent_core.asking.view import Omissions, rough_tokens
from agent_core.context.view import shown
from agent_core.errors import HermesError
from agent_core.events import ContextUsed
from agent_core.sessions.records import COMPACTED, RESET

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_core.context.compaction import Compaction
    from agent_core.messages import Message
    from agent_core.services import SessionServices
    from agent_core.sessions.records import Transcript

_Kind = Literal["system", "tools", "mcp", "summary", "yours", "answers", "results", "attached"]

_NAMES: dict[_Kind, str] = {
    "system": "System prompt",
    "tools": "Tools",
    "mcp": "Tools of MCP servers",
    "summary": "Summary of earlier work",
    "yours": "Your messages",
    "answers": "The model's messages",
    "results": "Tool results",
    "attached": "Images and documents",
}
_CHARS_A_TOKEN = 4
_ATTACHMENT = 1_500
"""Tokens of a picture or a page or two, roughly: what servers count differs."""

_BAR = 20
_FORGOTTEN = frozenset({RESET, COMPACTED})


def show_context(_typed: Typed, desk: Desk) -> Told:
    """How many tokens each kind takes, roughly, and how full the window is."""
    from acp_adapter.export.words import count  # noqa: PLC0415 - most people never ask

    sizes = _sizes(desk)
    total = sum(sizes.values())
    window, model = _window(desk)
    whole = max(window or total, total, 1)
    services = desk.session.services
    rows: list[tuple[str, str, str]] = []
    for kind, name in _NAMES.items():
        if sizes[kind]:
            rows.append((name, f"≈ {count(sizes[kind])}", f"`{_bar(sizes[kind], whole)}`"))
        if kind == "system":
            rows += prompt_rows(services, count, lambda size: _bar(size, whole))
    heading = f"≈ **{count(total)}** tokens"
    if window is not None:
        heading += f" of {count(window)} that {code(model)} can take: {100 * total / window:.0f} %"
    lines = [f"{heading}.", "", table(("", "tokens", ""), rows), *left_out_lines(services)]
    used = _reported(desk.factory.sessions.archive.story(desk.session.id))
    if used is not None:
        lines += ["", f"With the last request its server counted {count(used.used)} of {count(used.size)}."]
    if not sizes["system"]:
        lines += ["", "The system prompt is made with the first prompt."]
    return Told("\n".join([*lines, "", "These are estimates: four characters count as a token."]))


def _sizes(desk: Desk) -> Counter[_Kind]:
    session = desk.session
    store = desk.factory.sessions.store
    sizes = _of_messages(store.messages(session.id), session.services, store.compaction(session.id))
    services = session.services
    sizes["system"] = len(services.system or "") // _CHARS_A_TOKEN if services is not None else 0
    for entry in desk.tools():
        kind: _Kind = "mcp" if entry.toolset.startswith("mcp-") else "tools"
        sizes[kind] += len(json.dumps(entry.definition())) // _CHARS_A_TOKEN
    return sizes


def _of_messages(
    messages: Sequence[Message], services: SessionServices | None, made: Compaction | None
) -> Counter[_Kind]:
    kinds: dict[str, _Kind] = {"user": "yours", "assistant": "answers", "tool": "results"}
    sizes: Counter[_Kind] = Counter()
    for message in shown(messages, services.omissions if services is not None else Omissions(), made):
        kind = kinds.get(message["role"])
        if made is not None and made.summary and message["content"] == made.summary:
            kind = "summary"
        if kind is None:
            continue
        sizes[kind] += rough_tokens([message])
        content = message["content"]
        if isinstance(content, list):
            sizes["attached"] += _ATTACHMENT * sum(part["type"] != "text" for part in content)
    return sizes


def _window(desk: Desk) -> tuple[int | None, str]:
    try:
        choice = desk.model()
    except HermesError:
        return None, ""
    return choice.context_length, choice.name


def _reported(story: Transcript) -> ContextUsed | None:
    """What was counted last, if nothing was forgotten since."""
    anew = max((turn.number for turn in story.turns if turn.outcome in _FORGOTTEN), default=0)
    for stored in reversed(story.events):
        for event in stored.events:
            if isinstance(event, ContextUsed) and stored.turn > anew:
                return event
    return None


def _bar(size: int, whole: int) -> str:
    filled = min(_BAR, -(-size * _BAR // whole))
    return "█" * filled + "░" * (_BAR - filled)
