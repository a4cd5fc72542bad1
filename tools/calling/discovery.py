"""Finds the tool files of a package by their text, so that only they are imported."""

from __future__ import annotations

import importlib
import logging
import re
from collections.abc import Iterator
from pathlib import Path

log = logging.getLogger(__name__)

# At the top level, where no line is indented. To parse all files would be a tenth of a start.
_REGISTERS = re.compile(r"^registry\.register\(", re.MULTILINE)


def discover(package: str, folder: Path) -> dict[str, BaseException]:
    """Import every module of `folder` that registers a tool at its top level; one that fails stops no other.

    Returns:
        module name → what its import raised, for those that failed.
    """
    failures: dict[str, BaseException] = {}
    for path in _registering_files(folder):
        module = f"{package}.{path.stem}"
        try:
            importlib.import_module(module)
        except (Exception, SystemExit) as problem:
            log.exception("tool module %s could not be imported", module)
            failures[module] = problem
    return failures


def _registering_files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.glob("*.py")):
        try:
            source = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            log.warning("tool file %s could not be read", path, exc_info=True)
            continue
        if _REGISTERS.search(source):
            yield path
