"""Commands that tell how things stand: `/status`, `/tools`, `/mcp`, `/cost`, `/context`, `/tasks` and others."""

from __future__ import annotations

import platform
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Literal

from acp_adapter import __version__
from acp_adapter.commands.command import CommandSession, Desk, Told, Typed, code, plain, prose, table
from acp_adapter.format import count, dollars
from acp_adapter.startup import PROTOCOL_VERSION
from agent_core.activity import Doing, span
from agent_core.background_tasks import VERBS, TaskBoard, TaskError, TaskInfo
from agent_core.compaction.view import shown
from agent_core.errors import HermesError, RequestError
from agent_core.events import ContextUsed
from agent_core.messages import Message, text_of, user_message
from agent_core.notifications import KIND_WORDS, last_line
from agent_core.prompt.rules_files import without_rules
from agent_core.providers.choice import USUAL_WINDOW, ModelChoice, ModelFacts
from agent_core.services import SessionServices
from agent_core.sessions.records import COMPACTED, RESET, Transcript
from tools.errors import ToolError

if TYPE_CHECKING:
    from agent_core.compaction.engine import Compaction
    from agent_core.factory import AgentFactory
    from agent_core.mcp.specs import ServerStatus
    from agent_core.providers.pricing import Spent


# What `/context` tells of the system prompt: its parts, and what was left out of it.

_FEW = 5
"""Tokens of headings and the like, which are no part to speak of."""


def prompt_rows(
    services: SessionServices, tokens: int, count: Callable[[int], str], bar: Callable[[int], str]
) -> Iterator[tuple[str, str, str]]:
    """A row of the table for each part of the prompt, in order: name, tokens, bar.

    Args:
        tokens: of the whole prompt.
    """
    whole = len(services.system or "") or 1
    for name, chars in services.prompt_layers:
        part = round(tokens * chars / whole)
        if part >= _FEW:
            yield f"· {plain(name)}", f"≈ {count(part)}", f"`{bar(part)}`"


def left_out_lines(services: SessionServices) -> Sequence[str]:
    """What the model is not told of the project's rules files, and why; none where it is told all."""
    notes = services.prompt_notes
    return ("", *(f"- {plain(note)}" for note in notes)) if notes else ()


# `/context`.

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
    used = _reported(desk.factory.sessions.archive.transcript(desk.session.id))
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
    # Before the first prompt what it will be, but for a small window.
    definitions: Sequence[Mapping[str, Any]] = services.tools or [entry.definition() for entry in desk.tools()]
    for definition in definitions:
        tools: _Kind = "mcp" if definition["function"]["name"].startswith("mcp_") else "tools"
        sizes[tools] += services.meter.measure_tools(model, [definition])
    return sizes


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
    choice = _choice(desk)
    if choice is None:
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


# Commands that only look: `/version`, `/tools`, `/mcp`, `/cost`, `/config`.

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
    if choice is None or not (lessons := desk.factory.lessons.of(choice)):
        return []
    until = time.strftime("%d %B", time.localtime(min(lesson.until for lesson in lessons)))
    words = "; ".join(lesson.words for lesson in lessons)
    told = f"Learned of {code(choice.name)} from what its server refused: {prose(words)}."
    return [f"{told} This is kept until {until}; `/status forget` forgets it at once."]


def _forgotten(desk: Desk) -> str:
    choice = _choice(desk)
    if choice is None or not (lessons := desk.factory.lessons.forget(choice)):
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
    name = desk.session.model_used or ((choice := _choice(desk)) and choice.name)
    return code(name) if name else "none"


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


def _offers(server: ServerStatus) -> str:
    counts = ((len(server.tools), "tool"), (server.prompts, "prompt"), (server.resources, "resource"))
    return ", ".join(f"{count} {what}{'' if count == 1 else 's'}" for count, what in counts if count)


def show_cost(_typed: Typed, desk: Desk) -> Told:
    """What the session has used so far."""
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


def _wrong(server: ServerStatus, refused: Collection[str] = ()) -> str:
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
    choice = _choice(desk)
    if choice is None:
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


# `/tasks`: what runs in the background of the session, and how what ran there came out. `/stop` ends the turn.

_USAGE = "`/tasks stop ID` ends one; `pause` and `resume` are for what can be paused."
_TITLE_CHARS = 80


def manage_tasks(typed: Typed, desk: Desk) -> Told:
    """Show the tasks, or do something to one of them.

    Raises:
        RequestError: the words are none of the command's, or it cannot be done.
    """
    match typed.words.split():
        case []:
            return Told(_task_list(session_tasks(desk.factory, desk.session), desk))
        case [verb, name] if verb in VERBS:
            now = control_task(desk.factory, desk.session, verb, name)
            # A sub-agent ends with its next step.
            state = "it is being stopped" if verb == "stop" and now.is_live else now.state
            return Told(f"{code(now.id)}: {state}.")
    raise RequestError(f"/tasks does not know {typed.words[:80]!r}; nothing was changed. {_USAGE}")


def stop_turn(_typed: Typed, desk: Desk) -> Told:
    """Cancel everything that was prompted before this command."""
    if desk.session.cancel(before=desk.token):
        return Told("Stopped. `/tasks` shows what still runs in the background.", notice=True)
    return Told("Nothing runs that could be stopped. `/tasks` shows what runs in the background.")


def control_task(factory: AgentFactory, session: CommandSession, verb: str, name: str) -> TaskInfo:
    """Do one of `VERBS` to a task of the session, and tell how it is then. Blocks.

    Raises:
        RequestError: there is no such task, or that cannot be done to it; nothing was changed.
    """
    live = factory.background.live(session.id)
    board = TaskBoard() if live is None else live.tasks
    board.control(name, verb)
    found = board.get(name)
    if found is None:
        raise TaskError(f"{name} is forgotten already.")
    return found


def session_tasks(factory: AgentFactory, session: CommandSession) -> Sequence[TaskInfo]:
    """The session's tasks, oldest first, those that run with the last line of what they have printed. Blocks.

    Raises:
        StoreError: they cannot be read.
    """
    found = factory.background.tasks(session.id, elsewhere=_runs_elsewhere(factory, session))
    return [_with_last_line(task, session) for task in found]


def news_waiting(factory: AgentFactory, session: CommandSession) -> int:
    """How many news of the session no turn has told the model of. Blocks.

    Raises:
        StoreError: they cannot be read.
    """
    return factory.background.waiting(session.id, elsewhere=_runs_elsewhere(factory, session))


def _runs_elsewhere(factory: AgentFactory, session: CommandSession) -> bool:
    if factory.background.live(session.id) is not None:
        return False
    library = factory.sessions
    return library.runs_elsewhere(library.archive.get(session.id))


def _with_last_line(task: TaskInfo, session: CommandSession) -> TaskInfo:
    processes = session.workspace.processes
    if task.kind != "process" or not task.is_live or processes is None:
        return task
    try:
        return replace(task, detail=last_line(processes.log(task.id).output) or task.detail)
    except ToolError:  # it runs elsewhere
        return task


def _task_list(tasks: Sequence[TaskInfo], desk: Desk) -> str:
    if not tasks:
        return "Nothing was begun in the background of this session."
    now = time.time()
    waiting = desk.session.news_waiting
    rows = [
        (code(task.id), KIND_WORDS[task.kind], task.state, _age(task, now), code(_title(task)), _detail(task))
        for task in tasks
    ]
    told = table(("task", "what", "state", "when", "doing", "last heard"), rows)
    if waiting:
        told = f"{told}\n\n{waiting} of its news wait for the next turn."
    return f"{told}\n\n{_USAGE}" if any(task.is_live for task in tasks) else told


def _detail(task: TaskInfo) -> str:
    if task.state == "lost":
        known = (
            f": {code(f'hermes-acp sessions show {task.id}')} has what it did" if task.kind == "delegation" else ""
        )
        return f"{plain(task.detail)}; nobody knows how it came out{known}"
    if task.kind == "delegation" and task.is_live and task.detail:
        return f"uses {code(task.detail)}"
    return plain(task.detail)


def _age(task: TaskInfo, now: float) -> str:
    if task.is_live:
        return f"for {span(now - task.started_at)}"
    if task.ended_at is None:
        return ""
    return f"{span(now - task.ended_at)} ago, after {span(task.ended_at - task.started_at)}"


def _title(task: TaskInfo) -> str:
    return task.title if len(task.title) <= _TITLE_CHARS else f"{task.title[: _TITLE_CHARS - 1]}…"
