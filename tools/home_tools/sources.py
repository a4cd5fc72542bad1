"""The text of files in the home that become code, and the variables that they look for."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from tools.home_tools.modules import LoadFailed
from tools.home_tools.trust import why_not_trusted

_exported: set[str] = set()  # as the environment itself, the process's
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def trusted_text(file: Path, home: Path) -> str:
    """The text of `file` below `home`.

    Raises:
        LoadFailed: it must not be loaded, or cannot be read.
    """
    if reason := why_not_trusted(file, home):
        raise LoadFailed(f"was not loaded: it {reason}")
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise LoadFailed(f"cannot be read: {problem}") from problem


def export(text: str, variables: Mapping[str, str]) -> None:
    """Make variables of this process of those of `variables` that `text` names and that are not set."""
    for name in variables.keys() & set(_NAME.findall(text)):
        if name not in os.environ:
            os.environ[name] = variables[name]
            _exported.add(name)


def exported() -> frozenset[str]:
    """The variables that `export` has made: this process's alone, and of no program that it starts."""
    return frozenset(_exported)
