"""Places in a workspace that others run later: what a confined command has changed there is looked at afterwards.

A sandbox can let a command write to a directory or not; it cannot let it make files everywhere in a workspace but in
`.git/hooks`. So these few places are compared before and after, and the person decides about what differs.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tools.changes.facts import Facts, facts_of
from tools.environments.git_settings import hooks_directory, running_settings

_FILES = (
    ".envrc", ".mcp.json", ".cursor/mcp.json", ".cursor/hooks.json", ".claude/settings.json",
    ".claude/settings.local.json", ".vscode/settings.json", ".vscode/tasks.json", ".vscode/launch.json",
    ".vscode/mcp.json", ".hermes/config.yaml", ".zed/settings.json", ".zed/tasks.json",
)  # fmt: skip
_DIRECTORIES = (".husky", ".idea/runConfigurations")
_MOST_ENTRIES = 200
_MOST_BYTES = 4 * 1024 * 1024
_GIT_FILE = b"gitdir:"


@dataclass(frozen=True, slots=True)
class Kept:
    """A file as it was. `content` is where it points to for a symbolic link; None where it is too big."""

    facts: Facts
    content: bytes | None

    @property
    def is_link(self) -> bool:
        """True for a symbolic link."""
        return stat.S_ISLNK(self.facts.st_mode)


Snapshot = Mapping[Path, Kept]


@dataclass(frozen=True, slots=True)
class PlaceChange:
    """A file that is not what it was. `before` is None for one that is new."""

    path: Path
    before: bytes | None
    after: bytes
    was: Kept | None


class KeptPlaces:
    """The places of one session.

    Args:
        roots: the session's directories, resolved.
    """

    def __init__(self, roots: tuple[Path, ...] = ()) -> None:
        self._roots = roots
        self._last: dict[Path, Kept] = {}

    def before(self, *, keep: bool = False) -> Snapshot:
        """How they are.

        Args:
            keep: how they were at the last look, as somebody may have changed them since who is not to be trusted.
        """
        if not (keep and self._last):
            self._last = dict(self._now())
        return dict(self._last)

    def changed(self, before: Snapshot) -> tuple[PlaceChange, ...]:
        """What has come or changed since; what has gone runs nothing."""
        now = dict(self._now())
        found = tuple(
            PlaceChange(path, None if was is None else was.content, kept.content or b"", was)
            for path, kept in now.items()
            if not _is_same(path, was := before.get(path), kept)
        )
        self._last = now
        return found

    def put_back(self, change: PlaceChange) -> None:
        """Make the file what it was.

        Raises:
            OSError: it cannot be changed.
        """
        self._last.pop(change.path, None)
        if change.was is None or change.was.content is None:
            with contextlib.suppress(FileNotFoundError):
                change.path.unlink()
            return
        beside = change.path.with_name(f".{change.path.name}.{secrets.token_hex(4)}")
        if change.was.is_link:
            beside.symlink_to(os.fsdecode(change.was.content))
        else:
            beside.write_bytes(change.was.content)
            beside.chmod(stat.S_IMODE(change.was.facts.st_mode))
        beside.replace(change.path)
        self._last[change.path] = change.was

    def _now(self) -> Iterator[tuple[Path, Kept]]:
        for path in self._paths():
            try:
                facts = facts_of(os.lstat(path))
            except OSError:
                continue
            if not facts.is_file:
                continue
            known = self._last.get(path)
            if known is not None and known.facts == facts:
                yield path, known
            else:
                yield path, Kept(facts, _content(path, facts))

    def _paths(self) -> Iterator[Path]:
        for root in self._roots:
            yield from (root / name for name in _FILES)
            for name in _DIRECTORIES:
                yield from _entries(root / name)
            yield from _of_git(root)


def _of_git(root: Path) -> Iterator[Path]:
    """The settings and hooks of the repository at `root`, of what it shares with others, and of its submodules."""
    git = _git_directory(root / ".git")
    if git is None:
        return
    shared = _common_directory(git)
    modules = [Path(entry) for entry in _names(shared / "modules")]
    for directory in dict.fromkeys((git, shared, *modules)):
        config = directory / "config"
        yield from (config, directory / "config.worktree")
        yield from _entries(directory / "hooks")
        named = hooks_directory(_read(config) or b"")
        if named:
            hooks = root / os.path.expanduser(named)  # noqa: PTH111 - git's own `~`
            # What lies elsewhere no confined command can change.
            if hooks.is_relative_to(root):
                yield from _entries(hooks)


def _git_directory(dot_git: Path) -> Path | None:
    if dot_git.is_dir():
        return dot_git
    text = _read(dot_git)
    if text is None or not text.startswith(_GIT_FILE):
        return None
    return dot_git.parent / os.fsdecode(text.removeprefix(_GIT_FILE).strip())


def _common_directory(git: Path) -> Path:
    text = _read(git / "commondir")
    return git if text is None else git / os.fsdecode(text.strip())


def _entries(directory: Path) -> Iterator[Path]:
    yield from (Path(name) for name in _names(directory) if not name.endswith(".sample"))


def _names(directory: Path) -> list[str]:
    try:
        with os.scandir(directory) as found:
            return [entry.path for entry, _ in zip(found, range(_MOST_ENTRIES), strict=False)]
    except OSError:
        return []


def _is_same(path: Path, was: Kept | None, now: Kept) -> bool:
    if was is not None and was.facts == now.facts:
        return True
    is_config = path.name in {"config", "config.worktree"}
    if was is not None and was.is_link == now.is_link and was.content == now.content:
        # A file that became executable begins to count as a hook.
        return is_config or not _is_executable(now) or _is_executable(was)
    if is_config and not now.is_link:
        before = running_settings(was.content or b"") if was is not None else frozenset()
        return running_settings(now.content or b"") <= before
    return False


def _is_executable(kept: Kept) -> bool:
    return bool(kept.facts.st_mode & stat.S_IXUSR)


def _content(path: Path, facts: Facts) -> bytes | None:
    try:
        if stat.S_ISLNK(facts.st_mode):
            return os.fsencode(path.readlink())
        return None if facts.size > _MOST_BYTES else _read(path)
    except OSError:
        return None


def _read(path: Path) -> bytes | None:
    """A regular file's content; None where there is none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError:
        return None
    with open(descriptor, "rb") as file:  # noqa: PTH123 - by descriptor
        return file.read(_MOST_BYTES) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
