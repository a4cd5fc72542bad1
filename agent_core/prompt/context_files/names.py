"""Which files hold rules for agents, and where they are looked for."""

from __future__ import annotations

import os
from pathlib import Path

HERMES = ".hermes.md"
AGENTS = "AGENTS.md"
CLAUDE = "CLAUDE.md"
CURSOR = ".cursorrules"
COPILOT = ".github/copilot-instructions.md"

DEFAULT_NAMES = (HERMES, AGENTS, CLAUDE, CURSOR, COPILOT)
"""In this order: the first that a directory has counts. `.cursorrules` stands for `.cursor/rules` too."""


def present(directory: Path, name: str) -> Path | None:
    """The file of that name, as it is really written: capitals do not count; None where nothing is."""
    for variant in variants(name):
        if os.path.lexists(path := directory / variant):
            return path
    return None


def chain(top: Path, directory: Path) -> list[Path]:
    """The directories from `top` down to `directory`, both with them; only the latter where it is not below."""
    if not directory.is_relative_to(top):
        return [directory]
    return [top, *(top.joinpath(*directory.relative_to(top).parts[: count + 1])
                   for count in range(len(directory.relative_to(top).parts)))]  # fmt: skip


def variants(name: str) -> tuple[str, ...]:
    """How the name may be written, the best first."""
    if name == HERMES:
        return (HERMES, "HERMES.md", "hermes.md", ".HERMES.md")
    stem, dot, ending = name.rpartition(".")
    if name.startswith(".") or not dot:
        return (name,)
    return tuple(dict.fromkeys((name, name.lower(), f"{stem.capitalize()}.{ending}", name.upper())))
