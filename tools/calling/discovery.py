"""Finds the tool files of a package by reading their syntax tree, so that only they are imported."""

from __future__ import annotations

import ast
import importlib
import logging
from collections.abc import Iterator
from pathlib import Path

log = logging.getLogger(__name__)


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
        # The text test spares parsing the many files that register nothing.
        if "registry.register(" in source and _registers(source):
            yield path


def _registers(source: str) -> bool:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return True  # importing it reports the error with its line
    return any(
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Attribute)
        and node.value.func.attr == "register"
        and isinstance(node.value.func.value, ast.Name)
        and node.value.func.value.id == "registry"
        for node in tree.body
    )
