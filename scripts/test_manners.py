"""How tests treat our own code: they patch public bounds of it alone, and read nothing private. Part of `make lint`.

python -m scripts.test_manners          the lines that do otherwise
python -m scripts.test_manners --check  fail where there is one, but in files that pyproject.toml exempts

A public bound is a constant of a module in capitals, as `files.READ_SECONDS`. What is patched is known by the names
that a test imports; a private attribute counts where our code defines one of that name, and no test does.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

PACKAGES = ("acp_adapter", "agent_core", "tools")
_SETTINGS = "pyproject.toml"
_PATCHES = ("setattr", "delattr", "object")


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """A line of a test that patches or reads what it should not."""

    file: str
    line: int
    text: str


def main(arguments: Sequence[str], root: Path) -> int:
    """Do what the arguments ask; the exit code."""
    if arguments not in ([], ["--check"]):
        sys.stderr.write(__doc__ or "")
        return 2
    found = sorted(faults(root))
    if not arguments:
        sys.stdout.writelines(f"{fault.file}:{fault.line}: {fault.text}\n" for fault in found)
        return 0
    return _check(found, root)


def faults(root: Path) -> Iterator[Fault]:
    """All of the tests below `root`."""
    trees = {path: ast.parse(path.read_text("utf-8")) for path in sorted((root / "tests").rglob("*.py"))}
    product = [ast.parse(path.read_text("utf-8")) for name in PACKAGES for path in (root / name).rglob("*.py")]
    private = _private(product) - _private(trees.values())
    for path, tree in trees.items():
        imported = _imported(tree)
        for node in ast.walk(tree):
            if text := _patched(node, imported) or _read(node, private):
                yield Fault(str(path.relative_to(root)), getattr(node, "lineno", 0), text)


def _check(found: Iterable[Fault], root: Path) -> int:
    settings = tomllib.loads((root / _SETTINGS).read_text("utf-8"))["tool"]["test-manners"]
    exempt: set[str] = set(settings["exempt"])
    blamed = {fault.file for fault in found}
    for fault in found:
        if fault.file not in exempt:
            sys.stderr.write(
                f"{fault.file}:{fault.line}: {fault.text}. Tests set public bounds of our code alone, and read "
                'nothing private of it (CONTRIBUTING.md, "How it is tested").\n'
            )
    for file in sorted(exempt - blamed):
        sys.stderr.write(f"{_SETTINGS}: {file} needs no exemption any more ([tool.test-manners])\n")
    return 1 if blamed ^ exempt else 0


def _imported(tree: ast.AST) -> dict[str, str]:
    """What the names of a module's imports stand for."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}
        elif isinstance(node, ast.Import):
            found |= {each.asname or each.name.partition(".")[0]: each.name for each in node.names}
    return found


def _patched(node: ast.AST, imported: dict[str, str]) -> str:
    """What of ours that is no public bound a call of `monkeypatch` or `mock.patch` changes; '' for nothing."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in _PATCHES:
        return ""
    match node.args:
        case [ast.Constant(value=str(target)), *_]:
            pass
        case [place, ast.Constant(value=str(name)), *_]:
            head, _, rest = ast.unparse(place).partition(".")
            target = ".".join(filter(None, (imported.get(head, ""), rest, name)))
        case _:
            return ""
    name = target.rpartition(".")[2]
    is_bound = name.isupper() and not name.startswith("_")
    return f"patches {target}" if target.partition(".")[0] in PACKAGES and not is_bound else ""


def _read(node: ast.AST, private: frozenset[str]) -> str:
    return f"reads {ast.unparse(node)}" if isinstance(node, ast.Attribute) and node.attr in private else ""


def _private(trees: Iterable[ast.AST]) -> frozenset[str]:
    """Names with one underscore that these files define: functions, classes, variables, and attributes of `self`."""
    return frozenset(
        name
        for tree in trees
        for node in ast.walk(tree)
        if (name := _defined(node)).startswith("_") and not name.startswith("__") and name != "_"
    )


def _defined(node: ast.AST) -> str:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(ast.Name("self"), name, ast.Store()):
            return name
        case _:
            return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Path(__file__).parents[1]))
