"""What the prompt says of the session's surroundings: gathered once a session, on a worker thread."""

from __future__ import annotations

import datetime as dt
import os
import platform
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from tools.environments.containment import Containment
from tools.environments.git import GitState, git_state
from tools.environments.program_finder import PROGRAMS, project_interpreter
from tools.light_dataclass import dataclass

ALWAYS = ("rg",)
_MOST_CHARS = 4_096
_VERSION = re.compile(r"^version(?:_info)?\s*=\s*(\d+\.\d+(?:\.\d+)?)", re.MULTILINE)
_NAMED = re.compile(r"python(\d\.\d+)$")
# A program counts where one of these files is in the session's directory.
PROJECT_PROGRAMS: Mapping[str, tuple[str, ...]] = {
    "uv": ("pyproject.toml", "uv.lock"),
    "python3": ("pyproject.toml", "setup.py", "requirements.txt"),
    "poetry": ("poetry.lock",),
    "node": ("package.json",),
    "npm": ("package-lock.json",),
    "pnpm": ("pnpm-lock.yaml",),
    "yarn": ("yarn.lock",),
    "bun": ("bun.lock", "bun.lockb"),
    "deno": ("deno.json", "deno.jsonc"),
    "cargo": ("Cargo.toml",),
    "go": ("go.mod",),
    "make": ("Makefile", "makefile", "GNUmakefile"),
    "just": ("justfile", "Justfile"),
    "cmake": ("CMakeLists.txt",),
    "mvn": ("pom.xml",),
    "gradle": ("build.gradle", "build.gradle.kts"),
    "bundle": ("Gemfile",),
    "composer": ("composer.json",),
    "mix": ("mix.exs",),
    "swift": ("Package.swift",),
    "docker": ("Dockerfile", "compose.yaml", "compose.yml", "docker-compose.yml"),
}


@dataclass(frozen=True, slots=True)
class PromptFacts:
    """The facts; `today` is an ISO date, never a time.

    Attributes:
        machine: what people call the machine; '' for this one.
        copy: what the working directory there is a copy of, and what becomes of changes; '' for no copy.
        shell: what runs commands.
        python: which Python the project's programs run in, and which one commands find; '' where it is not known.
        commands: how far commands are confined, and which hosts they reach; '' where nobody here knows.
        git: the repository that `cwd` is in; None where it is in none.
        programs, missing: those that the project's files ask for: on PATH, and not there.
    """

    cwd: Path
    roots: tuple[Path, ...]
    today: str
    system: str
    shell: str
    git: GitState | None = None
    programs: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    python: str = ""
    commands: str = ""
    machine: str = ""
    copy: str = ""


def gather_facts(cwd: Path, roots: tuple[Path, ...], *, seconds: float = 1.0) -> PromptFacts:
    """The facts of this machine, now. Blocks, for git: `seconds` at most, and a twentieth of one as a rule."""
    programs, missing = _programs(cwd)
    return PromptFacts(
        cwd=cwd,
        roots=roots,
        today=dt.datetime.now(tz=dt.UTC).astimezone().date().isoformat(),
        system=platform.system(),
        shell="bash" if PROGRAMS.find("bash") else "sh",
        git=git_state(cwd, seconds=seconds),
        programs=programs,
        missing=missing,
        python=_python(cwd),
    )


def confinement_told(containment: Containment) -> str:
    """What the model should know of the sandbox before a command is refused; true in every mode of the session."""
    if containment.elsewhere():
        return ""
    if containment.level == "full":
        return "Commands run without a sandbox."
    if not containment.contains:
        return "No sandbox works here: commands that are not plainly harmless may need the user's permission."
    writes = "nowhere" if containment.level == "read-only" else f"only to {containment.places_told}"
    return f"Sandbox: commands write {writes}; {_reach(containment)}."


def _reach(containment: Containment) -> str:
    from tools.environments.sandbox.probe import reaches_hosts  # noqa: PLC0415 - with the first prompt

    if containment.network == "on":
        return "they reach every host"
    if containment.network == "off" or not reaches_hosts():
        return "they reach no host"
    if not containment.hosts_told:
        return "hosts may need the user's permission"
    return f"they reach {', '.join(containment.hosts_told)}; other hosts may need the user's permission"


def _python(cwd: Path) -> str:
    """The project's Python, and the one that commands find where that is another. Nothing is run for it."""
    project = project_interpreter(cwd, {}, os.environ)
    on_path = shutil.which("python3") or shutil.which("python")  # noqa: TID251 - what commands find
    command = on_path or project.path
    found = f"{command}{_version(Path(command))}"
    if project.is_system or Path(command) == Path(project.path):
        return found
    return f"{project.shown}{_version(Path(project.path))}; the command python3 is {found}"


def _version(program: Path) -> str:
    """The version of a Python: its virtual environment or its name tells it."""
    try:
        with (program.parent.parent / "pyvenv.cfg").open(encoding="utf-8", errors="replace") as file:
            found = _VERSION.search(file.read(_MOST_CHARS))
    except OSError:
        found = None
    found = found or _NAMED.search(os.path.realpath(program))
    return f" ({found[1]})" if found else ""


def _programs(cwd: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    wanted = [name for name, files in PROJECT_PROGRAMS.items() if any(os.path.lexists(cwd / file) for file in files)]
    # What commands find; nothing is run.
    found = {name: shutil.which(name) is not None for name in (*ALWAYS, *wanted)}  # noqa: TID251
    return (
        tuple(name for name, there in found.items() if there),
        tuple(name for name in wanted if not found[name]),
    )
