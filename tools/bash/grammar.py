"""The grammar of bash, by tree-sitter. It is loaded when the first command is read."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Language, Node


class NoGrammar(Exception):
    """tree-sitter or its grammar of bash cannot be loaded."""


def parse(skeleton: str) -> Node:
    """The tree of a script of which only ASCII is left, so that its places are places in the text.

    Raises:
        NoGrammar: the packages `tree-sitter` and `tree-sitter-bash` are missing.
    """
    language = _language()
    from tree_sitter import Parser  # noqa: PLC0415 - with its grammar

    # A parser is for one thread at a time.
    return Parser(language).parse(skeleton.encode("ascii", "replace")).root_node


@functools.lru_cache(maxsize=1)
def _language() -> Language:
    try:
        import tree_sitter_bash  # noqa: PLC0415 - heavy
        from tree_sitter import Language  # noqa: PLC0415 - heavy
    except ImportError as error:
        message = "Bash's grammar cannot be loaded: install tree-sitter and tree-sitter-bash"
        raise NoGrammar(message) from error
    return Language(tree_sitter_bash.language())
