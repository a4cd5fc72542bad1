"""Commands that only look: `/version`, `/tools`, `/mcp`, `/cost`, `/config`."""

from __future__ import annotations

import platform
import re
import time
from collections import defaultdict
from collections.abc import Collection
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from acp_adapter.commands.command import Desk, ServerState, Told, Typed
from acp_adapter.commands.markdown import code, plain, prose, table
from acp_adapter.handshake import PROTOCOL_VERSION
from acp_adapter.version import __version__
from agent_core.activity import Doing, span
from agent_core.errors import HermesError
from agent_core.providers.choice import USUAL_WINDOW, ModelChoice, ModelFacts

if TYPE_CHECKING:
    from agent_core.providers.pricing import Spent

_WRITES_CALLS = (
    "The server of {model} has no parser for the model's tool calls: it leaves them in the text. They are read from "
    "there, less surely. Start vLLM with `--enable-auto-tool-choice --tool-call-parser NAME`, SGLang with "
    "`--tool-call-parser NAME`, llama.cpp with `--jinja`; in Ollama and LM Studio take a model that is marked for "
    "tools."
)
_SDK = "agent-client-protocol"
_SENTENCE = re.compile(r"(?<=[.!?])\s")
_LONGEST = 160
_MCP = "mcp-"
_PATIENCE = 20.0  # seconds that a new connection may take


def show_version(_typed: Typed, _desk: Desk) -> Told:
    """Which program this is, and on what it runs."""
    try:
        sdk = version(_SDK)
    except PackageNotFoundError:
        sdk = "unknown"
    return Told(
        f"hermes-acp {__version__}, ACP protocol {PROTOCOL_VERSION}, {_SDK} {sdk}, "
        f"Python {platform.python_version()} on {platform.system()}."
    )


def show_settings(_typed: Typed, desk: Desk) -> Told:
    """Where the settings are, and how they are changed."""
    return Told(
        f"The settings are in {code(str(desk.factory.home.config_file))}. `hermes-acp setup` in a terminal changes "
        "the model and its key, `hermes-acp doctor` checks everything. For this session alone, `/model` chooses the "
        "model, `/mode` when you are asked, `/reasoning` how much the model thinks."
    )


def show_status(typed: Typed, desk: Desk) -> Told:
    """What the agent is doing, with which model, in which mode, and what was learned of the model's server.

    `forget`: nothing was learned of it.
    """
    if typed.words.strip() == "forget":
        return Told(_forgotten(desk))
    services, now = desk.session.services, time.time()
    doing = Doing() if services is None else services.activity.now()
    lines = [f"Now: {plain(doing.text(now))}."]
    if doing.turn_since:
        lines.append(f"This turn has run for {span(now - doing.turn_since)}.")
    lines.append(f"Mode: {code(desk.session.mode)}. Model: {_model_in_use(desk)}.")
    lines += _learned(desk)
    if services is not None:
        lines += [_WRITES_CALLS.format(model=code(model)) for model in services.habits.writing_calls()]
    if window := _window_in_use(desk):
        lines.append(window)
    return Told("\n\n".join(lines))


def _learned(desk: Desk) -> list[str]:
    """What refusals have taught about the model's server, and until when it is kept; nothing for no lessons."""
    choice = _choice(desk)
    lessons = [] if choice is None else desk.factory.lessons.of(choice)
    if choice is None or not lessons:
        return []
    until = time.strftime("%d %B", time.localtime(min(lesson.until for lesson in lessons)))
    words = "; ".join(lesson.words for lesson in lessons)
    told = f"Learned of {code(choice.name)} from what its server refused: {prose(words)}."
    return [f"{told} This is kept until {until}; `/status forget` forgets it at once."]


def _forgotten(desk: Desk) -> str:
    choice = _choice(desk)
    lessons = [] if choice is None else desk.factory.lessons.forget(choice)
    if choice is None or not lessons:
        return "There is nothing to forget: nothing was learned of the model's server."
    words = "; ".join(lesson.words for lesson in lessons)
    return f"Forgotten of {code(choice.name)}: {prose(words)}. It will be tried again."


def _choice(desk: Desk) -> ModelChoice | None:
    try:
        return desk.model()
    except HermesError:
        return None


def _model_in_use(desk: Desk) -> str:
    """The model that answered last; before the first turn the one that will be asked."""
    try:
        return code(desk.session.model_used or desk.model().name)
    except HermesError:
        return "none"


def _window_in_use(desk: Desk) -> str:
    """How large the model's window is, and who says so; '' where there is no model."""
    try:
        choice, served = desk.model(), desk.served_window()
    except HermesError:
        return ""
    if choice.api_mode == "offline":
        return ""
    if choice.context_length is None:
        return (
            f"Window: not known; the meter takes it for {USUAL_WINDOW:,} tokens, which is a guess. Set "
            "`model.context_length` where you know it."
        )
    told = f"Window: {choice.context_length:,} tokens"
    if served is None or served.tokens != choice.context_length:
        return f"{told}."
    most = f"; the model can take {served.maximum:,}" if (served.maximum or 0) > served.tokens else ""
    return f"{told}, as its server says{most}."


def show_tools(_typed: Typed, desk: Desk) -> Told:
    """The tools, by toolset."""
    toolsets: defaultdict[str, list[str]] = defaultdict(list)
    for entry in desk.tools():
        toolsets[entry.toolset].append(f"- {code(entry.name)}: {prose(_first_sentence(entry.description))}")
    lines: list[str] = []
    for name in sorted(toolsets, key=lambda name: (name.startswith(_MCP), name)):
        title = f"MCP server {name.removeprefix(_MCP)}" if name.startswith(_MCP) else name
        lines += [f"**{plain(title)}**", *toolsets[name], ""]
    return Told("\n".join(lines).rstrip() or "This session has no tools.")


def show_servers(typed: Typed, desk: Desk) -> Told:
    """How it stands with each MCP server; `reconnect NAME` connects to one anew."""
    servers = desk.servers()
    if not servers:
        return Told(
            "This session has no MCP servers. Add some in your editor's settings, or as `mcp_servers` in "
            "config.yaml, and open a new session."
        )
    verb, _, name = typed.words.partition(" ")
    if verb == "reconnect":
        return _reconnected(name.strip(), desk)
    choice = _choice(desk)
    refused = [] if choice is None else [lesson.tool for lesson in desk.factory.lessons.of(choice)]
    rows = [
        (plain(server.name), plain(server.state), _offers(server), plain(_wrong(server, refused)))
        for server in servers
    ]  # fmt: skip
    return Told(table(("server", "state", "offers", "what is wrong"), rows))


def _reconnected(name: str, desk: Desk) -> Told:
    servers = desk.session.servers
    if servers is None or not servers.reconnect(name):
        return Told(f"There is no MCP server {code(name)} in this session. `/mcp` shows them.")
    servers.wait(_PATIENCE, desk.token)
    now = next(server for server in servers.status() if server.name == name)
    return Told(f"{plain(name)} is {plain(now.state)}. {plain(_wrong(now))}".rstrip())


def _offers(server: ServerState) -> str:
    counts = ((len(server.tools), "tool"), (server.prompts, "prompt"), (server.resources, "resource"))
    return ", ".join(f"{count} {what}{'' if count == 1 else 's'}" for count, what in counts if count)


def show_cost(_typed: Typed, desk: Desk) -> Told:
    """What the session has used so far."""
    from acp_adapter.export.words import count, dollars  # noqa: PLC0415 - most people never ask

    spent = _spent(desk)
    if not spent.requests:
        return Told("Nothing yet: no model was asked in this session.")
    usage = spent.usage
    rows = [
        (name, "not told" if number is None else count(number))
        for name, number in (
            ("read by the model (all prompts)", usage.input_tokens),
            ("of these from its server's cache", usage.cached_tokens),
            ("written by the model", usage.output_tokens),
            ("of these reasoning", usage.reasoning_tokens),
        )
    ]
    asked = f"{spent.requests} request{'s' if spent.requests > 1 else ''}"
    price = "not known" if spent.cost is None else f"**{dollars(spent.cost)}**"
    return Told(f"Cost of this session: {price}, {asked}.\n\n{table(('tokens', ''), rows)}{_prices(desk)}")


def _wrong(server: ServerState, refused: Collection[str] = ()) -> str:
    """What is wrong with a server; `refused` are tools whose schema the model's server does not take."""
    if server.error:
        return f"{server.error} {server.retry}".strip()
    left_out = [
        *server.left_out,
        *(f"{name}: the model's server refuses its schema" for name in server.tools if name in refused),
    ]
    return f"not used: {'; '.join(left_out)}" if left_out else ""


def _spent(desk: Desk) -> Spent:
    services = desk.session.services
    return desk.factory.sessions.archive.get(desk.session.id).spent if services is None else services.spent


def _prices(desk: Desk) -> str:
    try:
        choice = desk.model()
    except HermesError:
        return ""
    prices = _listed(choice.facts)
    told = f"for a million tokens: {prices}" if prices else "its prices are not known"
    return f"\n\nNow {code(choice.name)} answers; {told}."


def _listed(facts: ModelFacts) -> str:
    prices = (
        (facts.input_price, "read"),
        (facts.cached_price, "read from the cache"),
        (facts.output_price, "written"),
    )
    return ", ".join(f"${price:g} {name}" for price, name in prices if price is not None)


def _first_sentence(text: str) -> str:
    sentence = _SENTENCE.split(" ".join(text.split()), maxsplit=1)[0]
    return sentence if len(sentence) <= _LONGEST else f"{sentence[: _LONGEST - 1].rstrip()}…"
