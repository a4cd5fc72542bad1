"""`/context`: what fills the model's window, by kind."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Literal

from acp_adapter.commands.command import Desk, Told, Typed
from acp_adapter.commands.context_prompt import left_out_lines, prompt_rows
from acp_adapter.commands.markdown import code, table
from agent_core.compaction.view import shown
from agent_core.errors import HermesError
from agent_core.events import ContextUsed
from agent_core.messages import text_of, user_message
from agent_core.prompt.rules_files import without_rules
from agent_core.providers.choice import USUAL_WINDOW
from agent_core.services import SessionServices
from agent_core.sessions.records import COMPACTED, RESET, Transcript

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from agent_core.compaction.engine import Compaction
    from agent_core.messages import Message

_Kind = Literal["system", "tools", "mcp", "summary", "yours", "answers", "results", "rules", "attached"]

_NAMES: dict[_Kind, str] = {
    "system": "System prompt",
    "tools": "Tools",
    "mcp": "Tools of MCP servers",
    "summary": "Summary of earlier work",
    "yours": "Your messages",
    "answers": "The model's messages",
    "results": "Tool results",
    "rules": "Rules of sub-folders",
    "attached": "Images and documents",
}
_BAR = 20
_FORGOTTEN = frozenset({RESET, COMPACTED})


def show_context(_typed: Typed, desk: Desk) -> Told:
    """How many tokens each kind takes, roughly, and how full the window is."""
    from acp_adapter.export.words import count  # noqa: PLC0415 - most people never ask

    services = _services(desk)
    window, model = _window(desk)
    sizes = _sizes(desk, services, model)
    total = sum(sizes.values())
    whole = max(window or total, total, 1)
    rows: list[tuple[str, str, str]] = []
    for kind, name in _NAMES.items():
        if sizes[kind]:
            rows.append((name, f"≈ {count(sizes[kind])}", f"`{_bar(sizes[kind], whole)}`"))
        if kind == "system":
            rows += prompt_rows(services, sizes["system"], count, lambda size: _bar(size, whole))
    heading = f"≈ **{count(total)}** tokens"
    if window is not None:
        heading += f" of {count(window)} that {code(model)} can take: {100 * total / window:.0f} %"
    elif model:
        heading += f"; how much {code(model)} can take is not known ({count(USUAL_WINDOW)} is a guess)"
    lines = [f"{heading}.", "", table(("", "tokens", ""), rows), *left_out_lines(services)]
    used = _reported(desk.factory.sessions.archive.story(desk.session.id))
    if used is not None:
        lines += ["", f"With the last request its server counted {count(used.used)} of {count(used.size)}."]
    if not sizes["system"]:
        lines += ["", "The system prompt is made with the first prompt."]
    return Told("\n".join([*lines, "", "These are estimates. They learn from what the model's server counts."]))


def _services(desk: Desk) -> SessionServices:
    """The session's own; of one that this process has only loaded, what its last process kept."""
    if desk.session.services is not None:
        return desk.session.services
    services = SessionServices()
    kept = desk.factory.sessions.store.kept(desk.session.id)
    if kept is not None:
        services.restore(kept, same_prompt=True)
        services.tools = None if kept.tools is None else list(kept.tools)
    return services


def _sizes(desk: Desk, services: SessionServices, model: str) -> Counter[_Kind]:
    store, session_id = desk.factory.sessions.store, desk.session.id
    measure = services.meter.measure(model)
    made = store.compaction(session_id)
    sizes: Counter[_Kind] = Counter()
    for message in shown(store.messages(session_id), services.omissions, made):
        for kind, part in _parts(message, made):
            sizes[kind] += measure([part])
    if services.system:
        sizes["system"] = measure([{"role": "system", "content": services.system}])
    for definition in _definitions(desk, services):
        tools: _Kind = "mcp" if definition["function"]["name"].startswith("mcp_") else "tools"
        sizes[tools] += services.meter.measure_tools(model, [definition])
    return sizes


def _definitions(desk: Desk, services: SessionServices) -> Sequence[Mapping[str, Any]]:
    """What the model is told of tools; before the first prompt what it will be, but for a small window."""
    return services.tools or [entry.definition() for entry in desk.tools()]


def _parts(message: Message, made: Compaction | None) -> Iterator[tuple[_Kind, Message]]:
    """The message under its kind, what is no text in it apart."""
    kinds: dict[str, _Kind] = {"user": "yours", "assistant": "answers", "tool": "results"}
    kind, content = kinds.get(message["role"]), message["content"]
    if kind is None:
        return
    if made is not None and made.summary and content == made.summary:
        kind = "summary"
    text, rules = without_rules(text_of(content)) if kind == "results" else (text_of(content), "")
    yield kind, {**message, "content": text}
    if rules:
        yield "rules", user_message(rules)
    if isinstance(content, list):
        yield from (("attached", user_message([part])) for part in content if part["type"] != "text")


def _window(desk: Desk) -> tuple[int | None, str]:
    try:
        choice = desk.model()
    except HermesError:
        return None, ""
    # Of the model that is played inside nobody asks how much it can take.
    return choice.context_length, "" if choice.provider == "offline" else choice.name


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
