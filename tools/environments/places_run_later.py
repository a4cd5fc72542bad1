"""Where in a workspace stands what others run later: editors' and agents' settings, and all that git runs."""

from __future__ import annotations

import functools
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from tools.environments.git_settings import hooks_directories, included_files
from tools.os_flags import O_CLOEXEC, O_NOCTTY, O_NONBLOCK

_FILES = (
    ".envrc", ".mcp.json", ".cursor/mcp.json", ".cursor/hooks.json", ".claude/settings.json",
    ".claude/settings.local.json", ".vscode/settings.json", ".vscode/tasks.json", ".vscode/launch.json",
    ".vscode/mcp.json", ".hermes/config.yaml", ".zed/settings.json", ".zed/tasks.json",
    ".devcontainer/devcontainer.json", ".devcontainer.json", ".exrc", ".nvim.lua", ".dir-locals.el",
    ".gemini/settings.json", ".codex/config.toml", ".kiro/settings/mcp.json", ".roo/mcp.json", ".amazonq/mcp.json",
    "opencode.json",
)  # fmt: skip
_DIRECTORIES = (".husky", ".idea/runConfigurations")
# Looked for by name, so that they are not lost among very many others.
_HOOKS = (
    "applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "prepare-commit-msg",
    "commit-msg", "post-commit", "pre-rebase", "post-checkout", "post-merge", "pre-push", "pre-receive", "update",
    "proc-receive", "post-receive", "post-update", "reference-transaction", "push-to-checkout", "pre-auto-gc",
    "post-rewrite", "sendemail-validate", "fsmonitor-watchman", "p4-changelist", "p4-prepare-changelist",
    "p4-post-changelist", "p4-pre-submit", "post-index-change",
)  # fmt: skip
_MOST_ENTRIES = 500
_MODULES_DEPTH = 4
_INCLUDES_DEPTH = 5
MOST_BYTES = 4 * 1024 * 1024
"""Longer files are not read whole."""
_GIT_FILE = b"gitdir:"


def places_in(root: Path) -> Iterator[tuple[Path, Path]]:
    """The places of a directory and what they lie in, whether or not something is there; some more than once."""
    yield from _named(root)
    for name in _DIRECTORIES:
        yield from ((path, path.parent) for path in _entries(root / name))
    yield from ((path, path.parent) for path in _of_git(root))


@functools.lru_cache(maxsize=64)
def _named(root: Path) -> tuple[tuple[Path, Path], ...]:
    # Made once: they are looked at before and after each command.
    return tuple((path, path.parent) for path in (root / name for name in _FILES))


def _of_git(root: Path) -> Iterator[Path]:
    """The settings and hooks of the repository at `root`, of what it shares with others, and of its submodules."""
    yield root / ".git"  # counts where it is a file or a link that leads elsewhere
    git = _git_directory(root / ".git")
    if git is None:
        return
    shared = _common_directory(git)
    yield git / "commondir"
    trees = (Path(name) / "config.worktree" for name in _names(shared / "worktrees"))
    yield from trees
    for directory in dict.fromkeys((git, shared, *_modules(shared / "modules"))):
        config = directory / "config"
        yield from (config, directory / "config.worktree")
        yield from _entries(directory / "hooks")
        yield from _included(config)
        for named in hooks_directories(read_file(config) or b""):
            yield from _entries(root / os.path.expanduser(named))  # noqa: PTH111 - git's own `~`


def _included(config: Path, depth: int = _INCLUDES_DEPTH) -> Iterator[Path]:
    """The files that git reads with this one."""
    if depth == 0:
        return
    for named in included_files(read_file(config) or b""):
        file = config.parent / os.path.expanduser(named)  # noqa: PTH111 - git's own `~`
        yield file
        yield from _included(file, depth - 1)


def _modules(directory: Path, depth: int = _MODULES_DEPTH) -> Iterator[Path]:
    """Repositories of submodules, whose names may have slashes in them, and of theirs."""
    if depth == 0:
        return
    for name in _names(directory):
        here = Path(name)
        if here.is_symlink():
            continue
        if (here / "HEAD").exists() or (here / "config").exists():
            yield here
            yield from _modules(here / "modules", depth - 1)
        else:
            yield from _modules(here, depth - 1)


def _git_directory(dot_git: Path) -> Path | None:
    if dot_git.is_dir():
        return dot_git
    text = read_file(dot_git)
    if text is None or not text.startswith(_GIT_FILE):
        return None
    return dot_git.parent / os.fsdecode(text.removeprefix(_GIT_FILE).strip())


def _common_directory(git: Path) -> Path:
    text = read_file(git / "commondir")
    return git if text is None else git / os.fsdecode(text.strip())


def _entries(directory: Path) -> Iterator[Path]:
    # One is looked for by name, so that a directory without files is known for what it is: a link or none.
    yield directory / _HOOKS[0]
    names = _names(directory)
    if len(names) >= _MOST_ENTRIES:
        yield from (directory / name for name in _HOOKS)
    yield from (Path(name) for name in names if not name.endswith(".sample"))


def _names(directory: Path) -> list[str]:
    try:
        with os.scandir(directory) as found:
            return [entry.path for entry, _ in zip(found, range(_MOST_ENTRIES), strict=False)]
    except OSError:
        return []


def read_file(path: Path, most_bytes: int = MOST_BYTES) -> bytes | None:
    """A regular file's content, or the beginning of it; None where there is none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    except OSError:
        return None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return None
    with open(descriptor, "rb") as file:  # noqa: PTH123 - by descriptor
        return file.read(most_bytes)
