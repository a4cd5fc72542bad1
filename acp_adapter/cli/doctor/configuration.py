"""Checks of what belongs to the person: the home, the database, the settings, the model, MCP servers, plugins."""

from __future__ import annotations

import json
import os
import queue
import shutil
import stat
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acp_adapter.cli.doctor.checks import Case
from acp_adapter.cli.doctor.report import Finding, State, failing, warning, well
from agent_core.home import Home
from tools.environments.program_finder import PROGRAMS
from tools.os_compat import own_user

if TYPE_CHECKING:
    from acp_adapter.cli.model_trial import Asked
    from agent_core.mcp.oauth import ServerTokens
    from agent_core.mcp.specs import ServerSpec
    from agent_core.providers.choice import ModelChoice
    from agent_core.sessions.repair import Findings, Problem
    from agent_core.settings.problems import SettingsProblem


# What of the home is for its owner alone.

OTHERS = stat.S_IRWXG | stat.S_IRWXO
_FOLDERS = ("blobs", "cache", "logs", "memories", "outputs", "run", "trajectories")
_FILES = (
    ".env",
    "config.yaml",
    "config.yaml.bak*",
    "permissions.yaml",
    "hermes-acp.db*",
    "oauth_tokens.json",
    "credential_state.json",
)


def open_places(home: Home) -> Iterator[Path]:
    """The home itself, its files and folders that hold what is private, as far as others may use them.

    Links are somebody's arrangement, and are followed only to look.
    """
    if is_shared(home.root) or not home.root.is_dir():
        return
    for path in (home.root, *_private(home.root)):
        try:
            mode = path.stat().st_mode
        except OSError:
            continue
        if mode & OTHERS:
            yield path


def is_shared(root: Path) -> bool:
    """Whether it is a directory that all users need, as /tmp is: its permissions are not ours to change."""
    try:
        return root == root.parent or bool(root.stat().st_mode & stat.S_ISVTX)
    except OSError:
        return False


def close(path: Path) -> bool:
    """Take the others' permissions away; whether that was done. A link, and what is another user's, stay."""
    if path.is_symlink() or path.stat().st_uid != own_user():
        return False
    path.chmod(stat.S_IMODE(path.stat().st_mode) & ~OTHERS)
    return True


def _private(root: Path) -> Iterator[Path]:
    for name in _FOLDERS:
        yield root / name
    for pattern in _FILES:
        yield from sorted(root.glob(pattern))


# Sizes.

_UNITS = ("bytes", "KB", "MB", "GB", "TB")
_THOUSAND = 1000


def size_text(count: float) -> str:
    """A number of bytes."""
    for unit in _UNITS[:-1]:
        if count < _THOUSAND:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= _THOUSAND
    return f"{count:.1f} {_UNITS[-1]}"


def counted(number: int, noun: str) -> str:
    """`3 sessions`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def size_of(path: Path) -> int:
    """A file's size; 0 where there is none."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


# The home directory: whether it can be used, who else may, what killed processes left, and the room for more.

LITTLE_SPACE = 200 << 20
_MOST_NAMED = 4


def check_home(case: Case) -> Iterator[Finding]:
    """Whether the home can be written to."""
    root = case.home.root
    if not root.exists() and (obstacle := _obstacle(root)):
        yield failing("home", f"{root} cannot be made: {obstacle}", "Choose another home with HERMES_HOME.")
    elif not root.exists():
        yield well("home", f"{root} is not there yet; it is made when it is needed", exists=False)
    elif not root.is_dir():
        yield failing("home", f"{root} is not a directory", "Move it away, or set HERMES_HOME to a directory.")
    elif not _is_ours(root):
        step = f"Run hermes-acp as its owner, or give it to you: chown -R $(id -un) {root}"
        yield failing("home", f"{root} belongs to another user (sudo?)", step)
    elif not os.access(root, os.R_OK | os.W_OK | os.X_OK):
        step = f"Make {root} yours and writable, or choose another home with HERMES_HOME."
        yield failing("home", f"{root} cannot be written: nothing is saved", step)
    else:
        yield well("home", str(root), exists=True)


def check_permissions(case: Case) -> Iterator[Finding]:
    """Whether other users of this machine could read keys and conversations."""
    root = case.home.root
    if os.name == "nt" or not root.is_dir():
        return
    if is_shared(root):
        step = "Set HERMES_HOME to a directory of your own."
        yield failing("permissions", f"{root} is a directory for all users, and no home", step)
        return
    is_closed = not stat.S_IMODE(root.stat().st_mode) & (stat.S_IRWXG | stat.S_IRWXO)
    exposed = [] if is_closed else [place for place in open_places(case.home) if place != root]
    if exposed:
        names = ", ".join(place.name for place in exposed[:_MOST_NAMED])
        more = f" and {len(exposed) - _MOST_NAMED} more" if len(exposed) > _MOST_NAMED else ""
        text = f"other users of this machine may look into {names}{more}"
        yield failing("permissions", text, f"{_FIX}, or: chmod 700 {root}", mends=True, files=[*map(str, exposed)])
    elif not is_closed:
        text = f"other users may list {root}; its files are private"
        yield warning("permissions", text, f"{_FIX}, or: chmod 700 {root}", mends=True)
    else:
        yield well("permissions", "the home is for you alone")


def check_space(case: Case) -> Iterator[Finding]:
    """Whether there is room for more."""
    root = case.home.root
    place = next((path for path in (root, *root.parents) if path.is_dir()), None)
    try:
        free = shutil.disk_usage(place or "/").free
    except OSError as problem:
        yield warning("disk", f"the free space for {root} cannot be told: {problem.strerror}")
        return
    if free < LITTLE_SPACE:
        step = "Free some space: without it conversations cannot be saved."
        yield failing("disk", f"only {size_text(free)} are free for {root}", step, free=free)
    else:
        yield well("disk", f"{size_text(free)} free", free=free)


def _obstacle(root: Path) -> str:
    """Why a home that is not there cannot be made; '' where it can."""
    if root.is_symlink():
        return f"it is a link to {os.readlink(root)}, which is not there"  # noqa: PTH115 - as it is written there
    above = next(path for path in root.parents if os.path.lexists(path))
    if not above.is_dir():
        return f"{above} is not a directory"
    return "" if os.access(above, os.W_OK | os.X_OK) else f"{above} cannot be written"


def _is_ours(root: Path) -> bool:
    owner = getattr(os, "geteuid", lambda: None)()
    return owner is None or owner == 0 or root.stat().st_uid == owner


_FIX = "Run `hermes-acp doctor --fix`"


# Whether sessions, and what files were before they were changed, are stored well.

_MEANS = {
    "": "",
    "in place": "it mends that and leaves the rest as it is",
    "rebuild": "it saves what can be read into a new file and keeps the broken one under another name",
}
_SUBJECTS = {"blobs": "file history", "search": "search"}


def check_database(case: Case) -> Iterator[Finding]:
    """Every page, index and reference of the database; the kept contents of files."""
    from agent_core.sessions.repair import examine  # noqa: PLC0415 - loads SQLite

    found = examine(case.home.database, case.home.blobs)
    if not found.exists:
        yield well("database", f"no sessions are stored yet ({found.path} is not there)", exists=False)
        return
    for problem in found.problems:
        yield _of_database(problem)
    if not found.fault:
        yield well(
            "database",
            _text(found),
            sessions=found.sessions,
            messages=found.messages,
            size=found.size,
            format=found.version,
        )
        kept = f"{found.blobs.present} earlier contents, {size_text(found.blobs.size)}"
        yield well("file history", kept, contents=found.blobs.present, size=found.blobs.size)
    for path in found.beside:
        text = f"kept beside it: {path} ({size_text(size_of(path))}); delete it if you do not need it"
        yield well("database", text, kept=str(path))


def _of_database(problem: Problem) -> Finding:
    needs_step = problem.remedy and "doctor --fix" not in problem.text
    step = f"{_FIX}: {_MEANS[problem.remedy]}." if needs_step else ""
    state: State = "ok" if problem.is_notice else "fail"
    return Finding(_SUBJECTS.get(problem.subject, "database"), state, problem.text, step, bool(problem.remedy))


def _text(found: Findings) -> str:
    counts = f"{counted(found.sessions or 0, 'session')}, {counted(found.messages or 0, 'message')}"
    parts = [f"{counts}, {size_text(found.size)}, format {found.version}"]
    if found.holders:
        parts.append(f"in use by {', '.join(f'{holder.program} {holder.pid}' for holder in found.holders)}")
    return "; ".join(parts)


# What the sessions of running processes are doing.


def check_running(case: Case) -> Iterator[Finding]:
    """Each turn that runs, and processes that live and tell nothing any more."""
    from agent_core.activity import STALE_AFTER, running_processes, span  # noqa: PLC0415 - for this look only

    now = time.time()
    for process in running_processes(case.home.running):
        pid, silent = process.holder.pid, now - process.told
        if silent >= STALE_AFTER:
            text = f"process {pid} has turns that run, and told nothing for {span(silent)}"
            step = "If it does not answer in its editor either, end it. Nothing that was stored is lost."
            yield failing("running", text, step, pid=pid)
            continue
        for session in process.sessions:
            text = f"{session.cwd} (process {pid}): {session.doing.text(now)}"
            yield well("running", text, pid=pid, session=session.id)


# Whether the settings can be used, with the place of what is wrong in them.

_SETTINGS = "settings"
_MOST_UNKNOWN = 3


def check_settings(case: Case) -> Iterator[Finding]:
    """Each wrong value and each unknown key, as FILE:LINE:COLUMN."""
    from agent_core.settings.problems import problems_of  # noqa: PLC0415 - loads what settings are made of

    file = case.home.config_file
    problems = problems_of(case.home)
    # Other programs may have settings in the same file: many keys that are like none of ours are one line.
    strange = [found for found in problems if found.path and not found.meant and "is not a setting" in found.text]
    alone = strange if len(strange) > _MOST_UNKNOWN else []
    for problem in problems:
        if problem not in alone:
            yield _of_setting(problem)
    if alone:
        names = ", ".join(f"{'.'.join(map(str, found.path))} (line {found.line})" for found in alone)
        yield warning(
            _SETTINGS,
            f"{file} has {len(alone)} keys that this program ignores: {names}",
            "Leave them if another program reads them; else remove them.",
            file=str(file),
            keys=[".".join(map(str, found.path)) for found in alone],
        )
    if not any(problem.stops for problem in problems):
        there = file.exists()
        if file.is_symlink() and not there:
            text = f"{file} is a link to {os.readlink(file)}, which is not there: the defaults count"  # noqa: PTH115
            yield warning(_SETTINGS, text, "Make the file that it leads to, or remove the link.", file=str(file))
            return
        yield well(_SETTINGS, str(file) if there else f"no {file}: the defaults count", file=str(file), exists=there)


def _of_setting(problem: SettingsProblem) -> Finding:
    facts: dict[str, Any] = {"file": str(problem.file), "line": problem.line, "column": problem.column}
    if problem.path:
        facts["key"] = ".".join(map(str, problem.path))
    text = f"{problem.where}: {problem.text}"
    if problem.stops:
        step = "Correct it" if problem.line else "Make it readable for you"
        return failing(_SETTINGS, text, f"{step}: no session begins like this.", **facts)
    if problem.meant:
        return warning(_SETTINGS, text, f"Write {problem.meant}.", **facts)
    return warning(_SETTINGS, text, "Correct or remove it.", **facts)


# Whether there is a model with its key, and whether it answers and calls tools.

MODEL_SECONDS = 60.0
_TOOL = "report"
_PARAMETERS = {
    "type": "object",
    "properties": {"state": {"type": "string", "enum": ["ready"]}},
    "required": ["state"],
}
_QUESTION = f"Call the tool `{_TOOL}` once, with the state `ready`. Write nothing else."
# Models that think do so before they call.
_LONGEST_ANSWER = 1024
_SET_UP = "Run `hermes-acp setup`."
_OTHER_MODEL = "Choose a model that is made for tools: `hermes-acp models` lists them, `hermes-acp setup` changes it."


def check_key(case: Case) -> Iterator[Finding]:
    """Which model is configured, and whether its key and those of its stand-ins are there. Keys are not shown."""
    config = case.config()
    if config is None:
        return
    from agent_core.errors import AuthRequired, KeyMissing, SettingsError  # noqa: PLC0415 - after the settings
    from agent_core.providers.resolve import resolve_fallbacks, resolve_model  # noqa: PLC0415 - the same
    from agent_core.providers.sign_out import SignedOut  # noqa: PLC0415 - the same

    try:
        SignedOut(case.home).check()
        choice = resolve_model(config)
    except KeyMissing as problem:
        page = f" Keys are made at {problem.page}." if problem.page else ""
        yield failing("key", problem.public, f"{_SET_UP}{page}", variable=problem.variable)
        return
    except AuthRequired as problem:
        what = problem.cause[:1].upper() + problem.cause[1:]
        yield failing("key", what, f"{_SET_UP} docs/models.md lists every provider.")
        return
    except SettingsError as problem:
        what, _, step = problem.public.partition(". ")
        yield failing("key", what, step or _SET_UP)
        return
    count = 1 + len(choice.spare_keys) if choice.api_key else 0
    without = "a sign-in counts" if choice.sign_in is not None else "no key is set for it, or needed"
    keys = {0: without, 1: "a key is there"}.get(count, f"{count} keys are there")
    where = f" ({choice.endpoint.host})" if choice.base_url else ""
    facts: dict[str, Any] = {
        "provider": choice.provider,
        "model": choice.model,
        "source": choice.source,
        "keys": count,
    }
    yield well("key", f"{choice.name}{where}, chosen in {choice.source}: {keys}", **facts)
    for sentence in resolve_fallbacks(config, choice)[1]:
        what, _, step = sentence.partition(". ")
        yield warning("key", what, step)


def check_sign_in(case: Case) -> Iterator[Finding]:
    """Whether the cloud's sign-in works, where the model is asked with one. The model itself is not asked."""
    choice = _choice(case)
    if choice is None or choice.sign_in is None or choice.api_key:
        return
    from agent_core.errors import HermesError, SettingsError, TurnInterrupted  # noqa: PLC0415 - as above
    from agent_core.providers.catalog import SIGN_INS  # noqa: PLC0415 - the same
    from agent_core.providers.sdk_provider import try_sign_in  # noqa: PLC0415 - the same

    where, ended = SIGN_INS[choice.sign_in], threading.Event()
    try:
        with case.endings.by(ended.set):
            try_sign_in(choice, ended.is_set)
    except TurnInterrupted:  # the check's time is over, which is told elsewhere
        return
    except SettingsError as problem:
        what, _, step = problem.public.partition(". ")
        yield failing("sign-in", what, step)
    except HermesError as problem:
        yield failing("sign-in", problem.public, "Sign in, then run `hermes-acp doctor` again.")
    else:
        yield well("sign-in", f"signed in at {where} for {choice.provider}", sign_in=choice.sign_in)


def check_model(case: Case) -> Iterator[Finding]:
    """Whether the model answers, and calls a tool when it is told to: one tiny request."""
    choice = _choice(case)
    if choice is None:  # told with the key
        return
    if choice.api_mode == "offline":
        yield well("model", "the offline stand-in answers without a server", model=choice.name)
        return
    from acp_adapter.cli.model_trial import ask  # noqa: PLC0415 - loads what asks models
    from agent_core.messages import user_message  # noqa: PLC0415 - the same
    from agent_core.providers.base import ModelRequest  # noqa: PLC0415 - the same

    tool = {"name": _TOOL, "description": "Tells that you are ready.", "parameters": _PARAMETERS}
    request = ModelRequest(
        choice.model,
        [user_message(_QUESTION)],
        tools=[{"type": "function", "function": tool}],
        max_tokens=_LONGEST_ANSWER,
        cache_ttl=None,
    )
    yield _judged(choice, ask(choice, request, MODEL_SECONDS, case.endings.by))


def _choice(case: Case) -> ModelChoice | None:
    from agent_core.errors import HermesError  # noqa: PLC0415 - as above
    from agent_core.providers.resolve import resolve_model  # noqa: PLC0415 - the same
    from agent_core.providers.sign_out import SignedOut  # noqa: PLC0415 - the same

    config = case.config()
    if config is None or SignedOut(case.home).is_set():
        return None
    try:
        return resolve_model(config)
    except HermesError:
        return None


def _judged(choice: ModelChoice, asked: Asked) -> Finding:
    facts: dict[str, Any] = {"model": choice.name, "seconds": round(asked.seconds, 2)}
    if asked.error is not None:
        said = asked.error.public
        step = _OTHER_MODEL if _is_about_tools(said) else f"See what it says; {_SET_UP[0].lower()}{_SET_UP[1:]}"
        return failing("model", f"{choice.name} could not be asked: {said}", step, **facts)
    if not asked.ended:
        text = f"{choice.name} did not answer within {MODEL_SECONDS:g} s"
        return failing("model", text, "Look whether its server runs and is not overloaded; then try again.", **facts)
    called, arguments = _call(asked)
    if called != _TOOL:
        said = f"it called {called!r} instead" if called else "it called none"
        text = f"{choice.name} answers, but was told to call a tool, and {said}"
        return warning("model", text, _OTHER_MODEL, calls_tools=False, **facts)
    if not _is_object(arguments):
        text = f"{choice.name} calls tools, but with arguments that are no JSON object"
        return warning("model", text, _OTHER_MODEL, calls_tools=False, **facts)
    tokens = _tokens(asked)
    told = f", {tokens} tokens" if tokens else ""
    text = f"{choice.name} answers and calls tools ({asked.seconds:.1f} s{told})"
    return well("model", text, calls_tools=True, tokens=tokens, **facts)


def _call(asked: Asked) -> tuple[str, str]:
    """The first call's tool and arguments; '' where there is none."""
    from agent_core.providers.base import ToolCallArguments, ToolCallStarted  # noqa: PLC0415 - as above

    first = next((event for event in asked.events if isinstance(event, ToolCallStarted)), None)
    if first is None:
        return "", ""
    parts = [each for each in asked.events if isinstance(each, ToolCallArguments) and each.index == first.index]
    return first.name, "".join(part.text for part in parts)


def _is_object(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments), dict)
    except ValueError:
        return False


def _tokens(asked: Asked) -> int:
    from agent_core.providers.base import UsageReport  # noqa: PLC0415 - as above

    usage = [event.usage for event in asked.events if isinstance(event, UsageReport)]
    return sum((each.input_tokens or 0) + (each.output_tokens or 0) for each in usage[-1:])


def _is_about_tools(said: str) -> bool:
    return "tool" in said.lower() or "function call" in said.lower()


# The MCP servers of the settings: a line for each.

NAME = "mcp server"
_AT_ONCE = 4


def check_servers(case: Case) -> Iterator[Finding]:
    """Whether what the settings say of each server can be right; none is started."""
    found = _servers(case)
    if found is not None:
        specs, tokens, _ = found
        yield from (_of_server(spec, tokens) for spec in specs)


def try_servers(case: Case) -> Iterator[Finding]:
    """Whether each server can be connected to; a few at once."""
    found = _servers(case)
    if found is None:
        return
    specs, tokens, variables = found
    places, told = threading.Semaphore(_AT_ONCE), [queue.SimpleQueue[Finding]() for _ in specs]

    def work(spec: ServerSpec, answer: queue.SimpleQueue[Finding]) -> None:
        with places:
            answer.put(_tried(spec, tokens, variables))

    # Daemons, and no pool: the process does not wait at its end for a server that hangs.
    for spec, answer in zip(specs, told, strict=True):
        threading.Thread(target=work, args=(spec, answer), name=f"doctor-mcp-{spec.name}", daemon=True).start()
    for answer in told:
        yield answer.get()


def _servers(case: Case) -> tuple[tuple[ServerSpec, ...], ServerTokens, Mapping[str, str]] | None:
    """The servers, the sign-ins, and what programs' environments are made from; None where the settings cannot be
    read, which another check tells.
    """
    config = case.config()
    if config is None:
        return None
    from agent_core.mcp.factory import configured_servers, variables_of  # noqa: PLC0415 - after the settings
    from agent_core.mcp.oauth import ServerTokens  # noqa: PLC0415 - the same

    return configured_servers(config, Path.cwd()), ServerTokens(case.home.root), variables_of(config.settings)


def _of_server(spec: ServerSpec, tokens: ServerTokens) -> Finding:
    if spec.problem:
        return failing(NAME, f"{spec.name}: {spec.problem}", "Correct its entry in mcp_servers.", server=spec.name)
    if spec.transport == "stdio":
        path = dict(spec.env).get("PATH") or os.environ.get("PATH")
        if PROGRAMS.find(spec.command, path) is not None:
            return well(NAME, f"{spec.name}: {spec.command}", server=spec.name)
        step = "Install it, or give its absolute path in mcp_servers."
        return failing(NAME, f"{spec.name}: there is no program {spec.command}", step, server=spec.name)
    from agent_core.providers.shared_file import SharedFileError  # noqa: PLC0415 - as above

    try:
        state = " (signed in)" if tokens.has(spec.url) else ""
    except SharedFileError as problem:
        return failing(NAME, f"{spec.name}: {problem.public}", server=spec.name)
    return well(NAME, f"{spec.name}: {spec.place()}{state}", server=spec.name)


def _tried(spec: ServerSpec, tokens: ServerTokens, variables: Mapping[str, str]) -> Finding:
    from agent_core.mcp.sign_in import look  # noqa: PLC0415 - the same
    from agent_core.mcp.specs import McpFailure  # noqa: PLC0415 - loads the SDK

    try:
        found = look(spec, Path.cwd(), tokens, variables)
    except (McpFailure, OSError) as problem:
        return failing(NAME, f"{spec.name}: {problem}", f"`hermes-acp mcp test {spec.name}` tries it alone.")
    offers = f"{found.tools} tools, {found.prompts} prompts, {found.resources} resources"
    return well(NAME, f"{spec.name} is connected: {offers}", server=spec.name, tools=found.tools)


# Whether the plugins of the home and of packages work, shown by loading them; and which projects are trusted.


def check_plugins(case: Case) -> Iterator[Finding]:
    """Each plugin, and each project whose own things are trusted."""
    from agent_core.config import ConfigSource  # noqa: PLC0415 - loads what settings are made of
    from agent_core.plugins.plugins import Plugins  # noqa: PLC0415 - the same
    from agent_core.providers.shared_file import SharedFileError  # noqa: PLC0415 - the same
    from tools.toolsets import load_builtin_tools  # noqa: PLC0415 - the same

    plugins = Plugins(ConfigSource(case.home))
    with case.plugins:
        load_builtin_tools()
        plugins.load()
    for status in plugins.statuses:
        text = f"{status.name} ({status.origin}): {status.state}{f', it {status.detail}' if status.detail else ''}"
        facts: dict[str, Any] = {"plugin": status.name, "status": status.state}
        if status.state == "failed":
            yield failing("plugins", text, f"Mend it, or run `hermes-acp plugins disable {status.name}`.", **facts)
        else:
            yield well("plugins", text, **facts)
    try:
        for project, things in plugins.state.projects().items():
            yield well("plugins", f"trusted in {project}: {', '.join(things)}", project=str(project))
    except SharedFileError as problem:
        yield failing("plugins", problem.public)
