"""The calls of a script of Python, with the texts of their arguments."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from tools.approval.scripts.python.folding import text_of, words_of
from tools.approval.scripts.python.names import Names
from tools.bash.reading import UNKNOWN
from tools.light_dataclass import dataclass

_MAX_CALLS = 3_000


@dataclass(frozen=True, slots=True)
class Call:
    """One call.

    Attributes:
        things: what is called, as far as it is known.
        method: the attribute that is called; '' for a plain name.
        owner: what the attribute is of.
        texts: the arguments that have no name.
    """

    node: ast.Call
    names: Names
    things: frozenset[str]
    method: str
    owner: ast.expr | None
    texts: tuple[str, ...]

    def text(self, place: int) -> str:
        """An argument; `UNKNOWN` where there is none."""
        return self.texts[place] if place < len(self.texts) else UNKNOWN

    def words(self, place: int) -> tuple[str, ...] | None:
        """An argument that is a list of texts."""
        return words_of(self.node.args[place], self.names) if place < len(self.node.args) else None

    @property
    def keywords(self) -> dict[str, ast.expr]:
        """The arguments that have a name."""
        return {keyword.arg: keyword.value for keyword in self.node.keywords if keyword.arg is not None}

    def keyword_text(self, name: str) -> str:
        """A named argument; '' where there is none."""
        value = self.keywords.get(name)
        return "" if value is None else text_of(value, self.names)

    def is_set(self, name: str) -> bool:
        """Whether a named argument is given, and is not False or None."""
        value = self.keywords.get(name)
        return value is not None and not (isinstance(value, ast.Constant) and not value.value)


def calls_of(nodes: Iterable[ast.AST], names: Names) -> Iterator[Call]:
    """The calls among `nodes`, a decorator without parentheses too."""
    count = 0
    for node in nodes:
        if isinstance(node, ast.Call) and count < _MAX_CALLS:
            count += 1
            is_method = isinstance(node.func, ast.Attribute)
            yield Call(
                node,
                names,
                names.things_of(node.func),
                node.func.attr if isinstance(node.func, ast.Attribute) else "",
                node.func.value if isinstance(node.func, ast.Attribute) and is_method else None,
                tuple(UNKNOWN if isinstance(a, ast.Starred) else text_of(a, names) for a in node.args),
            )
