"""`repo_map` of a made-up tree: cold, from its cache, and beside what reading and parsing the files alone takes."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import tools.repo_map  # noqa: F401 - registers the tool
from benchmarks.in_turns import Pair, in_turns, seconds
from tests.support.tool_context import call, make_context
from tools.context import ToolContext
from tools.outline.languages import TONGUES, grammar

FILES = 400
REPETITIONS = 5


def map_a_new_tree(folder: Path) -> Pair:
    """Seconds of a first `repo_map` of 400 files (1.4 MB of JavaScript), and of reading and parsing them."""
    tree = _tree(folder)
    grammar(TONGUES["js"])

    def first() -> None:
        assert call(_context(folder), "repo_map").facts["parsed"] == FILES

    taken = seconds(first)
    return Pair((taken,), (_floor(tree),))


def map_a_known_tree(folder: Path) -> Pair:
    """Seconds of a `repo_map` of the same files when nothing has changed, and of looking at each file's facts."""
    tree = _tree(folder)
    ctx = _context(folder)
    call(ctx, "repo_map")

    def known() -> None:
        assert call(ctx, "repo_map").facts["parsed"] == 0

    return in_turns(known, lambda: [path.stat() for path in tree.rglob("*.js")], REPETITIONS)


def _floor(tree: Path) -> float:
    from tree_sitter import Parser  # noqa: PLC0415 - an extra

    begun = time.perf_counter()
    for path in tree.rglob("*.js"):
        Parser(grammar(TONGUES["js"]).language).parse(path.read_bytes())
    return time.perf_counter() - begun


def _context(folder: Path) -> ToolContext:
    return replace(make_context(folder / "tree"), cache=folder / "cache")


def _tree(folder: Path) -> Path:
    tree = folder / "tree"
    for number in range(FILES):
        path = tree / f"part{number % 20}" / f"module{number}.js"
        path.parent.mkdir(parents=True, exist_ok=True)
        functions = [
            f"function work{number}x{each}(first, second) {{\n"
            f"  const value = compute{number}(first + {each}, second);\n"
            f"  return work{(number * 7 + each) % FILES}x{each}(value, first);\n}}\n"
            for each in range(25)
        ]
        path.write_text(f"export class Module{number} {{ run(task) {{ return task; }} }}\n" + "".join(functions))
    return tree
