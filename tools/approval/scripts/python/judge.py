"""What a script of Python would do."""

from __future__ import annotations

import ast
import warnings

from tools.approval.scripts.effects import HIDDEN, TOO_MUCH, Effects
from tools.approval.scripts.python.folding import text_of
from tools.approval.scripts.python.harmless import may_import
from tools.approval.scripts.python.names import Names
from tools.approval.scripts.python.reader import Reader
from tools.approval.scripts.verdict import ScriptVerdict
from tools.bash.reading import UNKNOWN

_MAX_CHARS = 64_000
_MAX_NODES = 20_000
_UNKNOWN_NAME = "_unknown_part_"


def judge_python(source: str, effects: Effects, *, isolated: bool = False) -> ScriptVerdict:
    """How far a script of Python reaches.

    Args:
        isolated: no module is looked for in the directory it runs in (`python -I`).
    """
    read_into(source, effects, isolated=isolated)
    return effects.verdict


def read_into(source: str, effects: Effects, *, isolated: bool, depth: int = 0) -> None:
    """Look at a script, or at a text that one runs."""
    tree = _parsed(source)
    if tree is None:
        # Also what holds unknown parts where they are no text: nobody knows what that does.
        effects.doubt()
        effects.add(TOO_MUCH if len(source) > _MAX_CHARS else HIDDEN)
        return
    names = Names(tree, text_of)
    if any(not may_import(module, isolated=isolated) for module in _imported(tree)):
        effects.doubt()
    if UNKNOWN in source:
        effects.doubt()
        if _runs_unknown(tree):
            effects.add(HIDDEN)

    def again(text: str) -> None:
        read_into(text, effects, isolated=isolated, depth=depth + 1)

    Reader(tree, names, effects, again, depth).read()


def _parsed(source: str) -> ast.Module | None:
    if len(source) > _MAX_CHARS:
        return None
    # A text given to `-c` may be indented as a whole since 3.13.
    for text in (source, _unindented(source), _named(source)):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        return tree if sum(1 for _ in ast.walk(tree)) <= _MAX_NODES else None
    return None


def _unindented(source: str) -> str:
    import textwrap  # noqa: PLC0415 - rarely needed

    return textwrap.dedent(source)


def _runs_unknown(tree: ast.Module) -> bool:
    """Whether an unknown part is a statement, a module, or what is called, and not a value."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Name(id=name)) | ast.Call(func=ast.Name(id=name)) if _UNKNOWN_NAME in name:
                return True
            case ast.Call(func=ast.Attribute(attr=name)) | ast.alias(name=name) if _UNKNOWN_NAME in name:
                return True
    return False


def _named(source: str) -> str:
    """Unknown parts as names where they are no part of a text."""
    return source.replace(UNKNOWN, _UNKNOWN_NAME)


def _imported(tree: ast.Module) -> set[str]:
    modules: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            modules.add("." * node.level + (node.module or ""))
    return modules
