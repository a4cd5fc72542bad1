"""Formatters: programs that rewrite the source files that they are given."""

from __future__ import annotations

from collections.abc import Mapping

from tools.changes.expansion import Surroundings
from tools.changes.options import Arguments
from tools.changes.targets import Targets
from tools.light_dataclass import dataclass

_PYTHON = (".py", ".pyi", ".ipynb")
_WEB = (".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".vue", ".svelte", ".css", ".scss", ".less", ".html", ".json",
        ".md", ".mdx", ".yaml", ".yml", ".graphql")  # fmt: skip
_C = (".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".m", ".mm", ".java", ".proto", ".cs")


@dataclass(frozen=True, slots=True)
class Formatter:
    """What makes a program rewrite files.

    Attributes:
        suffixes: of the files that it looks for in directories.
        only_with: it rewrites only with one of these arguments; always where there are none.
        never_with: it only looks with one of these.
    """

    suffixes: tuple[str, ...]
    only_with: tuple[str, ...] = ()
    never_with: tuple[str, ...] = ()


FORMATTERS: Mapping[str, Formatter] = {
    "black": Formatter(_PYTHON, never_with=("--check", "--diff")),
    "isort": Formatter(_PYTHON, never_with=("--check", "--check-only", "-c", "--diff")),
    "ruff": Formatter(_PYTHON, ("format", "--fix", "--fix-only", "--unsafe-fixes"), ("--check", "--diff")),
    "autopep8": Formatter(_PYTHON, ("-i", "--in-place")),
    "yapf": Formatter(_PYTHON, ("-i", "--in-place")),
    "autoflake": Formatter(_PYTHON, ("-i", "--in-place")),
    "pyupgrade": Formatter(_PYTHON),
    "prettier": Formatter(_WEB, ("-w", "--write")),
    "eslint": Formatter(_WEB, ("--fix",)),
    "biome": Formatter(_WEB, ("--write", "--apply", "--fix", "--apply-unsafe")),
    "stylelint": Formatter(_WEB, ("--fix",)),
    "gofmt": Formatter((".go",), ("-w",)),
    "goimports": Formatter((".go",), ("-w",)),
    "rustfmt": Formatter((".rs",), never_with=("--check",)),
    "clang-format": Formatter(_C, ("-i",)),
    "shfmt": Formatter((".sh", ".bash"), ("-w", "--write")),
    "stylua": Formatter((".lua",), never_with=("--check",)),
}


def formatted(formatter: Formatter, arguments: Arguments, targets: Targets, around: Surroundings) -> None:
    """Collect the files that a formatter rewrites: every argument that is a path."""
    given = {argument for argument in arguments if argument}
    if formatter.only_with and not given.intersection(formatter.only_with):
        return
    if given.intersection(formatter.never_with):
        return
    for argument in arguments:
        if argument and not argument.startswith("-"):
            targets.tree(argument, around, lambda name: name.endswith(formatter.suffixes), follows=True)
