"""Where the agent works: facts gathered once a session, and the layer of the prompt that tells them."""

from __future__ import annotations

import datetime as dt
import os
import platform
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from tools.environments.containment import Containment
from tools.environments.git import GitState, git_state
from tools.environments.program_finder import PROGRAMS, project_interpreter
from tools.light_dataclass import dataclass
from tools.untrusted.scanner import scan

# Gathered once a session, on a worker thread.

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
    if containment.network == "on":
        return "they reach every host"
    from tools.environments.sandbox.probe import reaches_hosts  # noqa: PLC0415 - sessions open without a sandbox

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


# The layer. It comes last: it differs from session to session.

_LONGEST_SUBJECT = 72


def environment_text(facts: PromptFacts) -> str:
    """Directories, machine, repository, programs and date, a line each."""
    return "\n".join(["# Where you work", *_lines(facts)])


def _lines(facts: PromptFacts) -> Iterator[str]:
    if facts.machine:
        yield f"Files and commands are those of another machine: {facts.machine}"
    yield f"Working directory: {facts.cwd}"
    if facts.copy:
        yield facts.copy
    for root in facts.roots:
        if root != facts.cwd:
            yield f"Further directory of the session: {root}"
    yield f"System: {facts.system}; commands run in {facts.shell}"
    if facts.commands:
        yield facts.commands
    yield _repository(facts.git, facts) if facts.git is not None else "In no git repository."
    if facts.programs:
        yield f"On PATH: {', '.join(facts.programs)}"
    if facts.python:
        yield f"Python: {facts.python}"
    if facts.missing:
        yield f"Not on PATH, though the project seems to need it: {', '.join(facts.missing)}"
    yield f"Today is {facts.today}."


def _repository(git: GitState, facts: PromptFacts) -> str:
    told = [f"branch {git.branch}" if git.branch else "no branch checked out"]
    if git.is_dirty is not None:
        told.append("with uncommitted changes" if git.is_dirty else "nothing uncommitted")
    if git.commit:
        told.append(f"last commit {git.commit}{_subject(git)}")
    place = f"Git repository at {git.root}" if git.root != facts.cwd else "Git repository"
    return f"{place}, as it was at the session's start: {', '.join(told)}"


def _subject(git: GitState) -> str:
    """The commit's subject, a short line in quotes; left out where it looks like an attack on agents."""
    line = "".join(char if char.isprintable() else " " for char in git.subject)
    found = scan(line, "context")
    short = " ".join(found.cleaned.split()).replace('"', "'")
    if not short or found.is_blocked:
        return ""
    return f' "{short if len(short) <= _LONGEST_SUBJECT else short[: _LONGEST_SUBJECT - 1].rstrip() + "…"}"'
