"""Makes the outline of one file's bytes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from tools.light_dataclass import dataclass
from tools.outline.languages import Grammar
from tools.outline.model import KINDS, Definition, Kind, Outline

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

_CHUNK = 16 * 1024
_MAX_SIGNATURE = 110
_MAX_NAME = 100
_MAX_DEFINITIONS = 2000
_MAX_LINE = 300
_SNIFFED = 8192
_HOLDERS = ("value", "right", "type")
_BRACED = frozenset({"field_declaration_list", "method_elem", "object_type"})
_MAX_VALUE = 70
_KIND: Mapping[str, Kind] = {kind: kind for kind in KINDS}
_IMPORT = re.compile(rb"= *(?:await )?(?:require|import)\(")
_ANNOTATIONS = re.compile(r"^(?:@[\w.]+(?:\([^)]*\))? )+")
_AFTER_BRACKET = re.compile(r"(?<=[(\[])\s+|,?\s+(?=[)\]])")


class Stopped(Exception):
    """The parsing was given up."""


@dataclass(frozen=True, slots=True)
class _Found:
    node: Node
    name: Node
    kind: Kind | None  # None: a namespace, which is not shown

    def order(self) -> tuple[int, int, int]:
        """What is outside comes first; of two kinds of the same, the one that says more."""
        return self.node.start_byte, -self.node.end_byte, KINDS.index(self.kind) if self.kind else 0


def is_source(data: bytes) -> bool:
    """Whether somebody wrote it to be read: no binary, and not squeezed into a few lines."""
    return b"\0" not in data[:_SNIFFED] and len(data) / (data.count(b"\n") + 1) < _MAX_LINE


def outline_of(data: bytes, grammar: Grammar, stop: Callable[[], bool]) -> Outline:
    """The outline of a file.

    Args:
        data: its bytes; UTF-8, or something near it.
        stop: looked at between pieces of the text.

    Raises:
        Stopped: `stop` said so.
    """
    from tree_sitter import QueryCursor  # noqa: PLC0415 - most calls find everything in the cache

    root = _tree(data, grammar, stop).root_node
    matches = QueryCursor(grammar.definitions).matches(root)
    definitions = _definitions(data, (_found(captures) for _, captures in matches))
    referred = QueryCursor(grammar.references).captures(root)
    references, members = (_counted(data, referred.get(kind, ())) for kind in ("reference", "member"))
    return Outline(definitions, references, members)


def _tree(data: bytes, grammar: Grammar, stop: Callable[[], bool]) -> Tree:
    from tree_sitter import Parser  # noqa: PLC0415

    stopped = False

    def piece(offset: int, _: object) -> bytes:
        nonlocal stopped
        stopped = stopped or stop()
        return b"" if stopped else data[offset : offset + _CHUNK]

    # Of rubbish the parser can think for minutes, at one place, and nobody else runs meanwhile.
    try:
        tree = Parser(grammar.language).parse(piece, progress_callback=lambda _offset, _has_error: stop())
    except ValueError as problem:
        raise Stopped from problem
    if stopped:
        raise Stopped
    return tree


def _found(captures: dict[str, list[Node]]) -> _Found:
    name = captures.pop("name")[0]
    ((kind, nodes),) = captures.items()
    return _Found(nodes[0], name, _KIND.get(kind))


def _definitions(data: bytes, found: Iterable[_Found]) -> tuple[Definition, ...]:
    """In the order of the text, without those inside functions: nobody can refer to them from elsewhere."""
    definitions: list[Definition] = []
    around: list[tuple[int, int]] = []  # where each one that we are in ends, and its index
    begun = set[int]()
    for each in sorted(found, key=_Found.order):
        start, end = each.node.start_byte, each.node.end_byte
        while around and around[-1][0] <= start:
            around.pop()
        parent = around[-1][1] if around else -1
        is_local = parent >= 0 and definitions[parent].kind not in {"class", "impl"}
        if each.kind is None or is_local or each.name.start_byte in begun or len(definitions) >= _MAX_DEFINITIONS:
            continue
        if each.kind == "value" and _IMPORT.search(data, start, end):
            continue
        begun.add(each.name.start_byte)  # two patterns may find the same
        around.append((end, len(definitions)))
        name = _text(data[each.name.start_byte : each.name.end_byte])[:_MAX_NAME]
        line = each.name.start_point[0] + 1
        signature = _signature(data, each.node, name, each.kind)
        definitions.append(Definition(name, each.kind, line, parent, signature))
    return tuple(definitions)


def _counted(data: bytes, nodes: Iterable[Node]) -> dict[str, int]:
    # Asking a node for its text costs several times as much.
    counts = Counter(data[node.start_byte : node.end_byte] for node in nodes)
    return {_text(name): count for name, count in counts.items() if len(name) <= _MAX_NAME}


def _signature(data: bytes, node: Node, name: str, kind: Kind) -> str:
    """What stands before the body, on one line; of what has none its beginning."""
    start = node.start_byte
    text = _text(data[start : min(_head_end(node), start + 4 * _MAX_SIGNATURE)])
    line = _ANNOTATIONS.sub("", _AFTER_BRACKET.sub("", " ".join(text.split())))
    if kind == "function":
        line = line.partition(" {")[0]
    line = line.rstrip("{:;(, ")
    if not line.endswith("=>"):
        line = line.rstrip("= ")
    most = _MAX_VALUE if kind == "value" else _MAX_SIGNATURE
    if len(line) > most:
        line = f"{line[: most - 1]}…"
    return line if name in line else f"{line} … {name}"


def _head_end(node: Node) -> int:
    holder, body = node, node.child_by_field_name("body")
    for name in _HOLDERS:
        held = node.child_by_field_name(name)
        if body is None and held is not None:  # the body is that of the value: of a function, a structure
            holder, body = held, held.child_by_field_name("body") or _braced(held)
    if body is None:
        return node.end_byte
    # Comments between belong to the body.
    return max(
        (each.end_byte for each in holder.children if each.end_byte <= body.start_byte and each.type != "comment"),
        default=body.start_byte,
    )


def _braced(node: Node) -> Node | None:
    return next((child for child in node.named_children if child.type in _BRACED), None)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
