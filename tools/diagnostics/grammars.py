"""Syntax by tree-sitter, for languages whose grammar is installed."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tools.diagnostics.port import Problem

if TYPE_CHECKING:
    from tree_sitter import Language, Node

# Suffix → module of the grammar, function in it, name for people. Grammars that take wrong texts for right ones, or
# right ones for wrong, are not here.
_GRAMMARS = {
    ".js": ("tree_sitter_javascript", "language", "javascript"),
    ".mjs": ("tree_sitter_javascript", "language", "javascript"),
    ".cjs": ("tree_sitter_javascript", "language", "javascript"),
    ".jsx": ("tree_sitter_javascript", "language", "javascript"),
    ".ts": ("tree_sitter_typescript", "language_typescript", "typescript"),
    ".mts": ("tree_sitter_typescript", "language_typescript", "typescript"),
    ".cts": ("tree_sitter_typescript", "language_typescript", "typescript"),
    ".tsx": ("tree_sitter_typescript", "language_tsx", "tsx"),
    ".go": ("tree_sitter_go", "language", "go"),
    ".rs": ("tree_sitter_rust", "language", "rust"),
    ".java": ("tree_sitter_java", "language", "java"),
    ".rb": ("tree_sitter_ruby", "language", "ruby"),
    ".php": ("tree_sitter_php", "language_php", "php"),
    ".cs": ("tree_sitter_c_sharp", "language", "c#"),
    ".sh": ("tree_sitter_bash", "language", "bash"),
    ".bash": ("tree_sitter_bash", "language", "bash"),
}
_MOST = 5
_MAX_EXCERPT = 60
_CHUNK = 64 * 1024
_SECONDS = 0.5


def tree_checker(path: Path) -> Callable[[str], Sequence[Problem]] | None:
    """Who checks the syntax of such a file; None where its grammar is not installed."""
    known = _GRAMMARS.get(path.suffix.lower())
    if known is None:
        return None
    module, function, name = known
    language = _language(module, function)
    return None if language is None else functools.partial(_problems, language, name)


@functools.lru_cache
def _language(module: str, function: str) -> Language | None:
    if importlib.util.find_spec("tree_sitter") is None or importlib.util.find_spec(module) is None:
        return None
    from tree_sitter import Language  # noqa: PLC0415 - only for files in such a language

    return Language(getattr(importlib.import_module(module), function)())


def _problems(language: Language, name: str, text: str) -> Sequence[Problem]:
    root = _parsed(language, text.encode("utf-8", "surrogatepass"))
    if root is None or not root.has_error:
        return ()
    return tuple(_told(node, name) for node, _ in zip(_wrong(root), range(_MOST), strict=False))


def _parsed(language: Language, data: bytes) -> Node | None:
    """The text's tree; None where it takes too long: of rubbish the parser can think for minutes."""
    from tree_sitter import Parser  # noqa: PLC0415 - only for files in such a language

    until = time.monotonic() + _SECONDS

    def is_late() -> bool:
        return time.monotonic() > until

    def piece(offset: int, _: object) -> bytes:
        return data[offset : offset + _CHUNK]

    try:
        # A parser is for one thread at a time.
        tree = Parser(language).parse(piece, progress_callback=lambda _offset, _has_error: is_late())
    except ValueError:  # how it says that it was stopped
        return None
    return tree.root_node


def _wrong(root: Node) -> Iterator[Node]:
    """The nodes that the grammar has no place for, and those that it misses, in the order of the text."""
    left = [root]
    while left:
        node = left.pop()
        if node.is_missing or node.type == "ERROR":
            yield node
        elif node.has_error:
            left.extend(reversed(node.children))


def _told(node: Node, name: str) -> Problem:
    line, column = node.start_point
    if node.is_missing:
        message = f"{node.type!r} is missing"
    else:
        text = (node.text or b"").decode("utf-8", "replace").strip().partition("\n")[0]
        message = f"unexpected {text[:_MAX_EXCERPT]!r}" if text else "syntax error"
    return Problem(line + 1, column + 1, "error", message, name)
