"""What `hermes-acp doctor` looks at: a table of checks, each on its own."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from agent_core.home import Home
    from agent_core.sessions.repair.findings import Findings

_FIX = "Run `hermes-acp doctor --fix`"
_LITTLE_SPACE = 200 << 20
_UNITS = ("bytes", "KB", "MB", "GB", "TB")
_STEP = 1000


@dataclass(frozen=True, slots=True)
class Check:
    """What one look has found.

    Attributes:
        name: what was looked at, in a word or two.
        ok: nothing has to be done.
        text: what is there, or what is wrong.
        next_step: what to do; '' where nothing is, or the text says it.
    """

    name: str
    ok: bool
    text: str
    next_step: str = ""


class Look(Protocol):
    """One of the checks. It changes nothing and raises nothing."""

    def __call__(self, home: Home, /) -> Iterator[Check]:
        """What is found in this home."""
        ...


def check_home(home: Home) -> Iterator[Check]:
    """Whether the home can be written to."""
    root = home.root
    if not root.exists():
        yield Check("home", ok=True, text=f"{root} is not there yet; it is made when it is needed")
    elif not root.is_dir():
        yield Check(
            "home",
            ok=False,
            text=f"{root} is not a directory",
            next_step="Move it away, or set HERMES_HOME to a directory.",
        )
    elif not os.access(root, os.R_OK | os.W_OK | os.X_OK):
        step = f"Make {root} yours and writable, or choose another home with HERMES_HOME."
        yield Check("home", ok=False, text=f"{root} cannot be written: nothing is saved", next_step=step)
    else:
        yield Check("home", ok=True, text=str(root))


def check_settings(home: Home) -> Iterator[Check]:
    """Whether the settings can be used."""
    from agent_core.config import load  # noqa: PLC0415 - loads what settings are made of
    from agent_core.errors import SettingsError  # noqa: PLC0415 - the same

    try:
        configuration = load(home)
    except SettingsError as problem:
        yield Check("settings", ok=False, text=problem.public, next_step=f"Correct it in {home.config_file}.")
        return
    there = home.config_file.exists()
    yield Check(
        "settings", ok=True, text=str(home.config_file) if there else f"no {home.config_file}: the defaults count"
    )
    for warning in configuration.warnings:
        yield Check("settings", ok=False, text=warning, next_step="Correct or remove it.")


def check_database(home: Home) -> Iterator[Check]:
    """Whether sessions, and what files were before they were changed, are stored well."""
    from agent_core.sessions.repair.examining import examine  # noqa: PLC0415 - loads SQLite

    found = examine(home.database, home.blobs)
    if not found.exists:
        yield Check("database", ok=True, text=f"no sessions are stored yet ({found.path} is not there)")
        return
    for problem in found.problems:
        needs_step = problem.remedy and "doctor --fix" not in problem.text
        step = f"{_FIX}: {_MEANS[problem.remedy]}." if needs_step else ""
        yield Check(
            _SUBJECTS.get(problem.subject, "database"),
            ok=problem.is_notice,
            text=problem.text,
            next_step=step,
        )
    if not found.fault:
        yield Check("database", ok=True, text=_database_text(found))
        yield Check(
            "file history", ok=True, text=f"{found.blobs.present} earlier contents, {size_text(found.blobs.size)}"
        )
    for kept in found.beside:
        yield Check(
            "database",
            ok=True,
            text=f"kept beside it: {kept} ({size_text(_size(kept))}); delete it if you do not need it",
        )


def check_space(home: Home) -> Iterator[Check]:
    """Whether there is room for more."""
    place = next((path for path in (home.root, *home.root.parents) if path.is_dir()), None)
    try:
        free = shutil.disk_usage(place or "/").free
    except OSError as problem:
        yield Check("disk", ok=False, text=f"the free space for {home.root} cannot be told: {problem.strerror}")
        return
    if free < _LITTLE_SPACE:
        step = "Free some space: without it conversations cannot be saved."
        yield Check("disk", ok=False, text=f"only {size_text(free)} are free for {home.root}", next_step=step)
    else:
        yield Check("disk", ok=True, text=f"{size_text(free)} free")


def check_sandbox(home: Home) -> Iterator[Check]:  # noqa: ARG001 - it is the machine's
    """Which sandbox contains commands, shown by trying to break out of each."""
    from tools.environments.sandbox.probe import probe  # noqa: PLC0415 - starts processes

    tried = probe()
    active = next((each for each in tried if each.works), None)
    if active is None:
        reasons = "; ".join(f"{each.name}: {each.why_not}" for each in tried) or "there is none for this system"
        yield Check(
            "sandbox",
            ok=False,
            text=f"commands are not contained, so that ordinary ones are asked about ({reasons})",
            next_step="On Linux, use a kernel with Landlock (5.13 or newer), or install bubblewrap.",
        )
        return
    missing = [words for promise, words in _PROMISES.items() if promise not in active.promises]
    but = f"; it does not keep them from {', '.join(missing)}" if missing else ""
    yield Check("sandbox", ok=True, text=f"{active.name} contains commands, and holds when they try to get out{but}")


def check_elsewhere(home: Home) -> Iterator[Check]:
    """Whether the machine that sessions work on can be reached, where it is not this one."""
    import tempfile  # noqa: PLC0415 - for this look only

    from agent_core.config import ConfigSource, load  # noqa: PLC0415 - loads what settings are made of
    from agent_core.elsewhere import elsewhere_of  # noqa: PLC0415 - the same
    from agent_core.errors import SettingsError  # noqa: PLC0415 - the same
    from agent_core.plugins.plugins import Plugins  # noqa: PLC0415 - the same
    from tools.environments.guardian import Guardian  # noqa: PLC0415 - starts processes
    from tools.errors import CommandError  # noqa: PLC0415 - with it
    from tools.settings import ToolSettings  # noqa: PLC0415 - with it

    try:
        settings = load(home).settings
    except SettingsError:  # another check tells of it
        return
    if settings.terminal.backend == "local":
        return
    Plugins(ConfigSource(home)).load_for_backend(settings.terminal.backend)
    guardian = Guardian()
    # A container gets a directory: an empty one will do.
    with tempfile.TemporaryDirectory(prefix="hermes-doctor-") as folder:
        try:
            elsewhere = elsewhere_of(settings, "", (Path(folder),), ToolSettings(), guardian)
            if elsewhere is None:
                return
            try:
                facts = elsewhere.facts()
                note = f". {elsewhere.note}" if elsewhere.note else ""
                text = f"sessions work on {elsewhere.where} ({facts.system}, {facts.shell}){note}"
                yield Check("terminal", ok=True, text=text)
            finally:
                elsewhere.close()
        except (SettingsError, CommandError) as problem:
            step = "See docs/environments.md; with terminal.backend: local sessions work on this machine."
            yield Check("terminal", ok=False, text=str(problem), next_step=step)
        finally:
            guardian.kill_all()


def check_running(home: Home) -> Iterator[Check]:
    """What the sessions of running processes are doing."""
    import time  # noqa: PLC0415 - for this look only

    from agent_core.activity import span  # noqa: PLC0415 - the same
    from agent_core.running import STALE_AFTER, running_processes  # noqa: PLC0415 - the same

    now = time.time()
    for process in running_processes(home.running):
        silent = now - process.told
        if silent >= STALE_AFTER:
            yield Check(
                "running",
                ok=False,
                text=f"process {process.holder.pid} has turns that run, and told nothing for {span(silent)}",
                next_step="If it does not answer in its editor either, end it. Nothing that was stored is lost.",
            )
            continue
        for session in process.sessions:
            text = f"{session.cwd} (process {process.holder.pid}): {session.doing.text(now)}"
            yield Check("running", ok=True, text=text)


def check_plugins(home: Home) -> Iterator[Check]:
    """Whether the plugins of the home and of packages work, shown by loading them; and which projects are trusted."""
    from agent_core.config import ConfigSource  # noqa: PLC0415 - loads what settings are made of
    from agent_core.plugins.plugins import Plugins  # noqa: PLC0415 - the same
    from agent_core.providers.credentials.shared_file import SharedFileError  # noqa: PLC0415 - the same
    from tools.toolsets import load_builtin_tools  # noqa: PLC0415 - the same

    plugins = Plugins(ConfigSource(home))
    load_builtin_tools()
    plugins.load()
    for status in plugins.statuses:
        text = f"{status.name} ({status.origin}): {status.state}{f', it {status.detail}' if status.detail else ''}"
        step = f"Mend it, or run `hermes-acp plugins disable {status.name}`." if status.state == "failed" else ""
        yield Check("plugins", ok=status.state != "failed", text=text, next_step=step)
    try:
        for project, things in plugins.state.projects().items():
            yield Check("plugins", ok=True, text=f"trusted in {project}: {', '.join(things)}")
    except SharedFileError as problem:
        yield Check("plugins", ok=False, text=problem.public)


CHECKS: tuple[Look, ...] = (
    check_home,
    check_settings,
    check_database,
    check_sandbox,
    check_elsewhere,
    check_space,
    check_running,
    check_plugins,
)
"""All of them, in the order in which they are told."""

_PROMISES = {
    "writes": "changing files elsewhere",
    "secrets": "reading hidden files",
    "network": "reaching other hosts",
    "signals": "signalling other processes",
    "memory": "looking into other processes",
    "metadata": "changing modes and owners elsewhere",
}
"""What a sandbox may promise, in words."""

_MEANS = {
    "": "",
    "in place": "it mends that and leaves the rest as it is",
    "rebuild": "it saves what can be read into a new file and keeps the broken one under another name",
}
_SUBJECTS = {"blobs": "file history", "search": "search", "permissions": "permissions"}


def size_text(count: float) -> str:
    """A number of bytes for people."""
    for unit in _UNITS[:-1]:
        if count < _STEP:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= _STEP
    return f"{count:.1f} {_UNITS[-1]}"


def _database_text(found: Findings) -> str:
    counts = f"{_counted(found.sessions or 0, 'session')}, {_counted(found.messages or 0, 'message')}"
    parts = [f"{counts}, {size_text(found.size + found.wal_size)}"]
    parts.append(f"format {found.version}, journal {found.journal_mode}")
    if found.holders:
        parts.append(f"in use by {', '.join(f'{holder.program} {holder.pid}' for holder in found.holders)}")
    if found.abandoned:
        parts.append(f"{found.abandoned} left open by a process that ended: they can be used again")
    return "; ".join(parts)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
