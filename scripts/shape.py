"""The shape of the product's code in figures: sizes, splinters, import circles. Part of `make lint`.

python -m scripts.shape              the figures
python -m scripts.shape --splinters  the short files that only one other file imports
python -m scripts.shape --circles    the modules that import each other, also late or for types alone
python -m scripts.shape --check      fail where a figure exceeds its bound in pyproject.toml ([tool.shape])
python -m scripts.shape --tighten    lower the bounds to today's figures
"""

from __future__ import annotations

import re
import statistics
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import grimp

PACKAGES = ("acp_adapter", "agent_core", "tools")
SPLINTER_LINES = 150
_SETTINGS = "pyproject.toml"

Imports = Mapping[str, frozenset[str]]
"""The modules that each module imports, of the product alone."""


@dataclass(frozen=True, slots=True)
class House:
    """What is measured: the lines of each module, which of them are packages' `__init__.py`, and who imports whom."""

    lines: Mapping[str, int]
    packages: frozenset[str]
    imports: Imports

    def splinters(self) -> Sequence[str]:
        """The modules of under `SPLINTER_LINES` lines that only one other module imports."""
        importers: dict[str, int] = {}
        for imported in self.imports.values():
            for name in imported:
                importers[name] = importers.get(name, 0) + 1
        short = {name for name, lines in self.lines.items() if lines < SPLINTER_LINES}
        return sorted(name for name in short - self.packages if importers.get(name) == 1)

    def figures(self) -> Mapping[str, int]:
        """All figures by name; those that have a bound are named as in the settings."""
        sizes = sorted(lines for name, lines in self.lines.items() if name not in self.packages)
        rings = circles(self.imports)
        return {
            "lines": sum(self.lines.values()),
            "files": len(self.lines),
            "median": round(statistics.median(sizes)),
            "longest": sizes[-1],
            "splinters": len(self.splinters()),
            "circles": len(rings),
            "modules-in-circles": sum(map(len, rings)),
        }


def main(arguments: Sequence[str], root: Path) -> int:
    """Do what the arguments ask; the exit code."""
    house = read_house(root)
    match arguments:
        case []:
            _print(f"{name}: {value}" for name, value in house.figures().items())
        case ["--splinters"]:
            _print(house.splinters())
        case ["--circles"]:
            _print(" ".join(ring) for ring in circles(house.imports))
        case ["--check"]:
            return _check(house, root)
        case ["--tighten"]:
            _tighten(house, root)
        case _:
            sys.stderr.write(__doc__ or "")
            return 2
    return 0


def read_house(root: Path) -> House:
    """Read the product's modules below `root`."""
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    lines, packages = {}, set()
    for package in PACKAGES:
        for path in (root / package).rglob("*.py"):
            name = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
            lines[name] = len(path.read_text("utf-8").splitlines())
            if path.name == "__init__.py":
                packages.add(name)
    imports = {name: frozenset(graph.find_modules_directly_imported_by(name)) for name in graph.modules}
    return House(lines, frozenset(packages), imports)


def circles(imports: Imports) -> Sequence[Sequence[str]]:
    """The groups of modules that import each other, the largest first (Kosaraju's algorithm)."""
    importers: dict[str, set[str]] = {name: set() for name in imports}
    for name, imported in imports.items():
        for each in imported:
            importers[each].add(name)
    finished = [name for group in _groups(sorted(imports), imports) for name in group]
    groups = _groups(reversed(finished), importers)
    return sorted((sorted(group) for group in groups if len(group) > 1), key=lambda ring: (-len(ring), ring))


def _groups(names: Iterable[str], follow: Mapping[str, Iterable[str]]) -> Iterator[Sequence[str]]:
    """What each name leads to that none before it has led to, in the order in which a search in depth leaves it."""
    seen: set[str] = set()
    for start in names:
        if start in seen:
            continue
        seen.add(start)
        left, path = [], [(start, iter(sorted(follow[start])))]
        while path:
            name, rest = path[-1]
            following = next((each for each in rest if each not in seen), None)
            if following is None:
                left.append(name)
                path.pop()
            else:
                seen.add(following)
                path.append((following, iter(sorted(follow[following]))))
        yield left


def _check(house: House, root: Path) -> int:
    figures = house.figures()
    over = {name: bound for name, bound in _bounds(root).items() if figures[name] > bound}
    for name, bound in over.items():
        sys.stderr.write(
            f"shape: {name} is {figures[name]}, and {bound} is allowed ({_SETTINGS}, [tool.shape]). Merge or remove "
            "code; `python -m scripts.shape --splinters` and `--circles` show where.\n"
        )
    return 1 if over else 0


def _tighten(house: House, root: Path) -> None:
    figures, path = house.figures(), root / _SETTINGS
    text = path.read_text("utf-8")
    head, table, body = text.partition("[tool.shape]\n")
    bounds, following, rest = body.partition("\n[")
    for name, bound in _bounds(root).items():
        bounds = re.sub(rf"(?m)^{name} = .*$", f"{name} = {min(bound, figures[name])}", bounds)
    path.write_text(f"{head}{table}{bounds}{following}{rest}", "utf-8")


def _bounds(root: Path) -> Mapping[str, int]:
    found: Mapping[str, int] = tomllib.loads((root / _SETTINGS).read_text("utf-8"))["tool"]["shape"]
    return found


def _print(lines: Iterable[str]) -> None:
    sys.stdout.writelines(f"{line}\n" for line in lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Path(__file__).parents[1]))
