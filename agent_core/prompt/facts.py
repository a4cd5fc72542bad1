"""What the prompt says of the session's surroundings: gathered once a session, on a worker thread."""

from __future__ import annotations

import datetime as dt
import os
import platform
import shutil
from collections.abc import Mapping
from pathlib import Path

from tools.environments.git_state import GitState, git_state
from tools.environments.own_programs import PROGRAMS
from tools.light_dataclass import dataclass

ALWAYS = ("rg",)
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
    machine: str = ""
    copy: str = ""


def gather_facts(cwd: Path, roots: tuple[Path, ...], *, seconds: float = 1.0) -> PromptFacts:
    """The facts of this machine, now. Blocks, for git: `seconds` at most, and a twentieth of one as a rule."""
    programs, missing = _programs(cwd)
    return PromptFacts(
        cwd=cwd,
        roots=roots,
        today=dt.datetime.now(tz=dt.UTC).astimezone().date().isoformat(),
        system=f"{platform.system()} {platform.release()}",
        shell="bash" if PROGRAMS.find("bash") else "sh",
        git=git_state(cwd, seconds=seconds),
        programs=programs,
        missing=missing,
    )


def _programs(cwd: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    wanted = [name for name, files in PROJECT_PROGRAMS.items() if any(os.path.lexists(cwd / file) for file in files)]
    # What commands find; nothing is run.
    found = {name: shutil.which(name) is not None for name in (*ALWAYS, *wanted)}  # noqa: TID251
    return (
        tuple(name for name, there in found.items() if there),
        tuple(name for name in wanted if not found[name]),
    )
