"""Checks of what belongs to the person: the home, the database, the settings, the model, MCP servers, plugins."""

from __future__ import annotations

import json
import os
import shutil
import stat
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from acp_adapter.cli.doctor.report import Finding, Mended, failing, warning, well
from acp_adapter.cli.model_trial import Asked, ask
from acp_adapter.format import size_text
from agent_core.activity import STALE_AFTER, running_processes, span
from agent_core.config import ConfigSource, Configuration, load, teach
from agent_core.errors import AuthRequired, HermesError, KeyMissing, SettingsError, StoreError
from agent_core.home import Home
from agent_core.mcp.factory import configured_servers, variables_of
from agent_core.mcp.oauth import ServerTokens
from agent_core.mcp.specs import McpFailure, ServerSpec
from agent_core.messages import user_message
from agent_core.plugins.plugins import Plugins
from agent_core.providers.base import ModelRequest, ToolCallArguments, ToolCallStarted
from agent_core.providers.catalog import SIGN_INS
from agent_core.providers.choice import ModelChoice
from agent_core.providers.resolve import resolve_fallbacks, resolve_model
from agent_core.providers.sdk_provider import try_sign_in
from agent_core.providers.shared_file import SharedFileError
from agent_core.providers.sign_out import SignedOut
from agent_core.sessions.repair import Problem, examine, repair
from agent_core.settings.problems import SettingsProblem, problems_of
from tools.environments.program_finder import PROGRAMS
from tools.redaction import Redact, Redactor
from tools.toolsets import load_builtin_tools


@dataclass(frozen=True, slots=True)
class Case:
    """What is looked at.

    Attributes:
        user: the person's home directory, where editors keep their settings.
        environ: this process's environment.
    """

    home: Home
    user: Path
    environ: Mapping[str, str]
    profile: str | None

    def config(self) -> Configuration | None:
        """The settings; None where they cannot be used, which the check of the settings tells."""
        try:
            return load(self.home, environ=self.environ)
        except SettingsError:
            return None

    def redactor(self) -> Redact:
        """What takes secrets out of what is told: those that look like some, and those of the settings by value."""
        redact = Redactor()
        config = self.config()
        if config is not None:
            teach(redact.learn, config)
        return redact


# The home directory: whether it can be used, who else may, and the room for more.

LITTLE_SPACE = 200 << 20
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_PRIVATE = (".env", "config.yaml", "hermes-acp.db")
_FIX = "Run `hermes-acp doctor --fix`"


def check_home(case: Case) -> Iterator[Finding]:
    """Whether the home can be written to."""
    root = case.home.root
    if not root.exists() and (obstacle := _obstacle(root)):
        yield failing("home", f"{root} cannot be made: {obstacle}", "Choose another home with HERMES_HOME.")
    elif not root.exists():
        yield well("home", f"{root} is not there yet; it is made when it is needed")
    elif not root.is_dir():
        yield failing("home", f"{root} is not a directory", "Move it away, or set HERMES_HOME to a directory.")
    elif not _is_ours(root):
        step = f"Run hermes-acp as its owner, or give it to you: chown -R $(id -un) {root}"
        yield failing("home", f"{root} belongs to another user (sudo?)", step)
    elif not os.access(root, os.R_OK | os.W_OK | os.X_OK):
        step = f"Make {root} yours and writable, or choose another home with HERMES_HOME."
        yield failing("home", f"{root} cannot be written: nothing is saved", step)
    else:
        yield well("home", str(root))


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


def check_permissions(case: Case) -> Iterator[Finding]:
    """Whether other users of this machine could read keys and conversations."""
    root = case.home.root
    if os.name == "nt" or not root.is_dir():
        return
    step = f"{_FIX}, or: chmod 700 {root}"
    if _is_for_all(root):
        text = f"{root} is a directory for all users, and no home"
        yield failing("permissions", text, "Set HERMES_HOME to a directory of your own.")
    elif not root.stat().st_mode & _OTHERS:
        yield well("permissions", "the home is for you alone")
    elif found := [name for name in _PRIVATE if (root / name).exists() and (root / name).stat().st_mode & _OTHERS]:
        text = f"other users of this machine may look into {', '.join(found)}"
        yield failing("permissions", text, step, mends=True)
    else:
        yield warning("permissions", f"other users may list {root}; its files are private", step, mends=True)


def mend_permissions(case: Case) -> Iterator[Mended]:
    """Take other users' permissions from the home: with that nobody else gets at anything in it."""
    root = case.home.root
    if os.name == "nt" or not root.is_dir() or _is_for_all(root) or not root.stat().st_mode & _OTHERS:
        return
    root.chmod(stat.S_IMODE(root.stat().st_mode) & ~_OTHERS)
    yield Mended("permissions", done=True, text=f"{root} is for you alone now")


def _is_for_all(root: Path) -> bool:
    """Whether it is a directory that all users need, as /tmp is: its permissions are not ours to change."""
    return root == root.parent or bool(root.stat().st_mode & stat.S_ISVTX)


def check_space(case: Case) -> Iterator[Finding]:
    """Whether there is room for more."""
    root = case.home.root
    place = next((path for path in (root, *root.parents) if path.is_dir()), Path("/"))
    free = shutil.disk_usage(place).free
    if free < LITTLE_SPACE:
        step = "Free some space: without it conversations cannot be saved."
        yield failing("disk", f"only {size_text(free)} are free for {root}", step)
    else:
        yield well("disk", f"{size_text(free)} free")


# Whether sessions, and what files were before they were changed, are stored well.

_MEANS = {
    "in place": "it mends that and leaves the rest as it is",
    "rebuild": "it saves what can be read into a new file and keeps the broken one under another name",
}


def check_database(case: Case) -> Iterator[Finding]:
    """Every page, index, reference and row of the database."""
    found = examine(case.home.database, case.home.blobs)
    yield from map(_of_database, found.problems)
    if not found.exists:
        yield well("database", f"no sessions are stored yet ({found.path} is not there)")
    elif not found.fault:
        counts = ((found.sessions, "session"), (found.messages, "message"))
        parts = [f"{number} {noun}{'s' * (number != 1)}" for number, noun in counts]
        text = f"{', '.join(parts)}, {size_text(found.size)}, format {found.version}"
        if found.holders:
            text += f"; in use by {', '.join(f'{holder.program} {holder.pid}' for holder in found.holders)}"
        yield well("database", text)
        yield well("file history", f"{found.contents} earlier contents, {size_text(found.contents_size)}")
    for path in found.beside:
        size = size_text(path.stat().st_size)
        yield well("database", f"kept beside it: {path} ({size}); delete it if you do not need it")


def _of_database(problem: Problem) -> Finding:
    step = f"{_FIX}: {_MEANS[problem.remedy]}." if problem.remedy and "doctor --fix" not in problem.text else ""
    check = "search" if problem.subject == "search" else "database"
    return failing(check, problem.text, step, mends=bool(problem.remedy))


def mend_database(case: Case) -> Iterator[Mended]:
    """Repair the database, or set it aside and save what can be read of it. Nothing stored is ever deleted."""
    try:
        report = repair(case.home.database)
    except StoreError as problem:
        yield Mended("database", done=False, text=problem.public)
        return
    for text in report.done:
        yield Mended("database", done=True, text=text)
    if report.refused:
        yield Mended("database", done=False, text=report.refused)


# What the sessions of running processes are doing.


def check_running(case: Case) -> Iterator[Finding]:
    """Each turn that runs, and processes that live and tell nothing any more."""
    now = time.time()
    for process in running_processes(case.home.running):
        pid, silent = process.holder.pid, now - process.told
        if silent >= STALE_AFTER:
            text = f"process {pid} has turns that run, and told nothing for {span(silent)}"
            step = "If it does not answer in its editor either, end it. Nothing that was stored is lost."
            yield failing("running", text, step)
            continue
        for session in process.sessions:
            yield well("running", f"{session.cwd} (process {pid}): {session.doing.text(now)}")


# Whether the settings can be used, with the place of what is wrong in them.

_SETTINGS = "settings"
_MOST_UNKNOWN = 3


def check_settings(case: Case) -> Iterator[Finding]:
    """Each wrong value and each unknown key, as FILE:LINE:COLUMN."""
    file = case.home.config_file
    problems = problems_of(case.home)
    # Other programs may have settings in the same file: many keys that are like none of ours are one line.
    strange = [found for found in problems if found.path and not found.meant and "is not a setting" in found.text]
    alone = strange if len(strange) > _MOST_UNKNOWN else []
    yield from (_of_setting(problem) for problem in problems if problem not in alone)
    if alone:
        names = ", ".join(f"{'.'.join(map(str, found.path))} (line {found.line})" for found in alone)
        text = f"{file} has {len(alone)} keys that this program ignores: {names}"
        yield warning(_SETTINGS, text, "Leave them if another program reads them; else remove them.")
    if any(problem.stops for problem in problems):
        return
    if file.is_symlink() and not file.exists():
        text = f"{file} is a link to {os.readlink(file)}, which is not there: the defaults count"  # noqa: PTH115
        yield warning(_SETTINGS, text, "Make the file that it leads to, or remove the link.")
    else:
        yield well(_SETTINGS, str(file) if file.exists() else f"no {file}: the defaults count")


def _of_setting(problem: SettingsProblem) -> Finding:
    text = f"{problem.where}: {problem.text}"
    if problem.stops:
        step = "Correct it" if problem.line else "Make it readable for you"
        return failing(_SETTINGS, text, f"{step}: no session begins like this.")
    return warning(_SETTINGS, text, f"Write {problem.meant}." if problem.meant else "Correct or remove it.")


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

    try:
        SignedOut(case.home).check()
        choice = resolve_model(config)
    except KeyMissing as problem:
        page = f" Keys are made at {problem.page}." if problem.page else ""
        yield failing("key", problem.public, f"{_SET_UP}{page}")
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
    yield well("key", f"{choice.name}{where}, chosen in {choice.source}: {keys}")
    for sentence in resolve_fallbacks(config, choice)[1]:
        what, _, step = sentence.partition(". ")
        yield warning("key", what, step)


def check_sign_in(case: Case) -> Iterator[Finding]:
    """Whether the cloud's sign-in works, where the model is asked with one. The model itself is not asked."""
    choice = _choice(case)
    if choice is None or choice.sign_in is None or choice.api_key:
        return
    try:
        try_sign_in(choice)
    except SettingsError as problem:
        what, _, step = problem.public.partition(". ")
        yield failing("sign-in", what, step)
    except HermesError as problem:
        yield failing("sign-in", problem.public, "Sign in, then run `hermes-acp doctor` again.")
    else:
        yield well("sign-in", f"signed in at {SIGN_INS[choice.sign_in]} for {choice.provider}")


def _choice(case: Case) -> ModelChoice | None:
    """The model; None where there is none, which is told with the key."""
    config = case.config()
    try:
        return None if config is None or SignedOut(case.home).is_set() else resolve_model(config)
    except HermesError:
        return None


def check_model(case: Case) -> Iterator[Finding]:
    """Whether the model answers, and calls a tool when it is told to: one tiny request."""
    choice = _choice(case)
    if choice is None:
        return
    if choice.api_mode == "offline":
        yield well("model", "the offline stand-in answers without a server")
        return

    tool = {"name": _TOOL, "description": "Tells that you are ready.", "parameters": _PARAMETERS}
    request = ModelRequest(
        choice.model,
        [user_message(_QUESTION)],
        tools=[{"type": "function", "function": tool}],
        max_tokens=_LONGEST_ANSWER,
        cache_ttl=None,
    )
    yield _judged(choice, ask(choice, request, MODEL_SECONDS))


def _judged(choice: ModelChoice, asked: Asked) -> Finding:
    if asked.error is not None:
        said = asked.error.public
        is_about_tools = "tool" in said.lower() or "function call" in said.lower()
        step = _OTHER_MODEL if is_about_tools else f"See what it says; {_SET_UP[0].lower()}{_SET_UP[1:]}"
        return failing("model", f"{choice.name} could not be asked: {said}", step)
    if not asked.ended:
        text = f"{choice.name} did not answer within {MODEL_SECONDS:g} s"
        return failing("model", text, "Look whether its server runs and is not overloaded; then try again.")
    if not _calls_the_tool(asked):
        text = f"{choice.name} answers, but was told to call a tool, and did not, or not rightly"
        return warning("model", text, _OTHER_MODEL)
    return well("model", f"{choice.name} answers and calls tools ({asked.seconds:.1f} s)")


def _calls_the_tool(asked: Asked) -> bool:
    first = next((event for event in asked.events if isinstance(event, ToolCallStarted)), None)
    if first is None or first.name != _TOOL:
        return False
    parts = [event for event in asked.events if isinstance(event, ToolCallArguments) and event.index == first.index]
    try:
        return isinstance(json.loads("".join(part.text for part in parts)), dict)
    except ValueError:
        return False


# The MCP servers of the settings: a line for each.

_SERVER = "mcp server"


def check_servers(case: Case) -> Iterator[Finding]:
    """Whether what the settings say of each server can be right; none is started."""
    found = _servers(case)
    if found is not None:
        specs, tokens, _ = found
        yield from (_of_server(spec, tokens) for spec in specs)


def try_servers(case: Case) -> Iterator[Finding]:
    """Whether each server can be connected to."""
    found = _servers(case)
    if found is None:
        return

    from agent_core.mcp.sign_in import look  # noqa: PLC0415 - loads the SDK

    specs, tokens, variables = found
    for spec in specs:
        try:
            has = look(spec, Path.cwd(), tokens, variables)
        except (McpFailure, OSError) as problem:
            step = f"`hermes-acp mcp test {spec.name}` tries it alone."
            yield failing(_SERVER, f"{spec.name}: {problem}", step)
        else:
            offers = f"{has.tools} tools, {has.prompts} prompts, {has.resources} resources"
            yield well(_SERVER, f"{spec.name} is connected: {offers}")


def _servers(case: Case) -> tuple[tuple[ServerSpec, ...], ServerTokens, Mapping[str, str]] | None:
    """The servers, the sign-ins, and what programs' environments are made from; None where the settings cannot be
    read, which another check tells.
    """
    config = case.config()
    if config is None:
        return None

    return configured_servers(config, Path.cwd()), ServerTokens(case.home.root), variables_of(config.settings)


def _of_server(spec: ServerSpec, tokens: ServerTokens) -> Finding:

    if spec.problem:
        return failing(_SERVER, f"{spec.name}: {spec.problem}", "Correct its entry in mcp_servers.")
    if spec.transport == "stdio":
        path = dict(spec.env).get("PATH") or os.environ.get("PATH")
        if PROGRAMS.find(spec.command, path) is not None:
            return well(_SERVER, f"{spec.name}: {spec.command}")
        step = "Install it, or give its absolute path in mcp_servers."
        return failing(_SERVER, f"{spec.name}: there is no program {spec.command}", step)
    try:
        state = " (signed in)" if tokens.has(spec.url) else ""
    except SharedFileError as problem:
        return failing(_SERVER, f"{spec.name}: {problem.public}")
    return well(_SERVER, f"{spec.name}: {spec.place()}{state}")


# Whether the plugins of the home and of packages work, shown by loading them; and which projects are trusted.


def check_plugins(case: Case) -> Iterator[Finding]:
    """Each plugin, and each project whose own things are trusted."""
    plugins = Plugins(ConfigSource(case.home))
    load_builtin_tools()
    plugins.load()
    for status in plugins.statuses:
        text = f"{status.name} ({status.origin}): {status.state}{f', it {status.detail}' if status.detail else ''}"
        if status.state == "failed":
            yield failing("plugins", text, f"Mend it, or run `hermes-acp plugins disable {status.name}`.")
        else:
            yield well("plugins", text)
    try:
        for project, things in plugins.state.projects().items():
            yield well("plugins", f"trusted in {project}: {', '.join(things)}")
    except SharedFileError as problem:
        yield failing("plugins", problem.public)
