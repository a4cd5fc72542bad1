"""Directories whose files nobody wants back: what tools made, downloaded or keep for themselves.

Two kinds. Those of the first have names that no one gives to their own work (`node_modules`); they are never looked
into. `build`, `dist` and the like are mostly made by tools but sometimes written by people, and small then: they are
looked into after everything else, so that a large one cannot take the place of the sources.
"""

from __future__ import annotations

_GENERATED = frozenset({
    # version control
    ".git", ".hg", ".svn", ".jj", ".bzr",
    # packages and environments
    "node_modules", "bower_components", "jspm_packages", ".venv", "venv", "virtualenv", "site-packages", ".tox",
    ".nox", ".pnpm-store", ".yarn", ".bundle", ".gradle", ".m2", ".cargo", ".rustup", ".eggs", "Pods", ".terraform",
    ".conda",
    # caches and what compilers leave
    "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis", ".cache", ".parcel-cache",
    ".turbo", ".next", ".nuxt", ".svelte-kit", ".angular", ".ccache", ".nyc_output", ".ipynb_checkpoints",
    ".dart_tool", "DerivedData", ".import_linter_cache", "__pypackages__", ".direnv", ".Trash", ".npm",
})  # fmt: skip
_PERHAPS_GENERATED = frozenset(
    {"build", "dist", "target", "out", "obj", "coverage", "htmlcov", "_build", "vendor", "bin"}
)
_CACHE_MARK = "CACHEDIR.TAG"


def is_generated(name: str) -> bool:
    """True for a directory that is never looked into, by its name."""
    return name in _GENERATED


def is_looked_into_last(name: str) -> bool:
    """True for a directory that may be somebody's work or not."""
    return name in _PERHAPS_GENERATED


def marks_a_cache(name: str) -> bool:
    """True for the file by which programs mark directories that may be deleted at any time."""
    return name == _CACHE_MARK
