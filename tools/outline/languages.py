"""Which languages have an outline, and the grammars for them."""

from __future__ import annotations

import functools
import importlib
import importlib.util
from collections.abc import Callable
from importlib import resources
from typing import TYPE_CHECKING

from tools.errors import ToolError, install_line
from tools.light_dataclass import dataclass

if TYPE_CHECKING:
    from tree_sitter import Language, Query, Tree

_REFERENCES = "; references"
_CHUNK = 16 * 1024


@dataclass(frozen=True, slots=True)
class Tongue:
    """A language: the module of its grammar, the function in it, and the file of its queries."""

    name: str
    module: str
    function: str = "language"


@dataclass(frozen=True, slots=True)
class Grammar:
    """A grammar that is loaded, with the queries for definitions and references."""

    language: Language
    definitions: Query
    references: Query


_JAVASCRIPT = Tongue("javascript", "tree_sitter_javascript")
_TYPESCRIPT = Tongue("typescript", "tree_sitter_typescript", "language_typescript")
_CPP = Tongue("cpp", "tree_sitter_cpp")
_BASH = Tongue("bash", "tree_sitter_bash")

TONGUES = {
    **dict.fromkeys(("py", "pyi", "pyw"), Tongue("python", "tree_sitter_python")),
    **dict.fromkeys(("js", "mjs", "cjs", "jsx"), _JAVASCRIPT),
    **dict.fromkeys(("ts", "mts", "cts"), _TYPESCRIPT),
    "tsx": Tongue("tsx", "tree_sitter_typescript", "language_tsx"),
    "go": Tongue("go", "tree_sitter_go"),
    "rs": Tongue("rust", "tree_sitter_rust"),
    "java": Tongue("java", "tree_sitter_java"),
    "c": Tongue("c", "tree_sitter_c"),
    # A header may be of either; the bigger grammar takes both.
    **dict.fromkeys(("h", "hh", "hpp", "hxx", "cc", "cpp", "cxx", "cu"), _CPP),
    "rb": Tongue("ruby", "tree_sitter_ruby"),
    "cs": Tongue("c_sharp", "tree_sitter_c_sharp"),
    "php": Tongue("php", "tree_sitter_php", "language_php"),
    **dict.fromkeys(("sh", "bash"), _BASH),
}
"""Endings of file names, without the dot and in lower case."""


def tongue_of(name: str) -> Tongue | None:
    """The language of a file by its name, None for one that has no outline."""
    return TONGUES.get(name.rpartition(".")[2].lower())


@functools.lru_cache
def is_installed(tongue: Tongue) -> bool:
    """Whether the language's grammar is there."""
    return all(importlib.util.find_spec(module) is not None for module in ("tree_sitter", tongue.module))


def can_map() -> bool:
    """Whether a grammar of the extra `map` is there; shell scripts alone, whose grammar always comes, are no map."""
    return any(is_installed(tongue) for tongue in set(TONGUES.values()) - {_BASH})


@functools.lru_cache
def language_of(tongue: Tongue) -> Language:
    """The language as tree-sitter has it; its grammar has to be installed."""
    from tree_sitter import Language  # noqa: PLC0415 - as below

    return Language(getattr(importlib.import_module(tongue.module), tongue.function)())


def tree_of(language: Language, data: bytes, stop: Callable[[], bool]) -> Tree | None:
    """The tree of a text; None where `stop`, which is asked again and again, has said so."""
    from tree_sitter import Parser  # noqa: PLC0415 - as below

    stopped = False

    def piece(offset: int, _: object) -> bytes:
        nonlocal stopped
        stopped = stopped or stop()
        return b"" if stopped else data[offset : offset + _CHUNK]

    # Of rubbish the parser can think for minutes, at one place, and nobody else runs meanwhile.
    try:
        # A parser is for one thread at a time.
        tree = Parser(language).parse(piece, progress_callback=lambda _offset, _has_error: stop())
    except ValueError:  # how it says that it was stopped
        return None
    return None if stopped else tree


@functools.lru_cache
def grammar(tongue: Tongue) -> Grammar:
    """The language's grammar, loaded when it is first asked for.

    Raises:
        ToolError: it does not go with the installed tree-sitter.
    """
    from tree_sitter import Query  # noqa: PLC0415 - most calls find everything in the cache

    text = (resources.files("tools.outline") / "queries" / f"{tongue.name}.scm").read_text(encoding="utf-8")
    definitions, _, references = text.partition(_REFERENCES)
    try:
        language = language_of(tongue)
        return Grammar(language, Query(language, definitions), Query(language, references))
    except (ImportError, AttributeError, ValueError, SyntaxError, TypeError, NameError) as problem:
        raise ToolError(
            f"The grammar {tongue.module} cannot be used: {problem}. The user can get the one that fits: "
            f"{install_line('map')}"
        ) from problem
