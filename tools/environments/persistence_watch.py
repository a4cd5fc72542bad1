"""Watches files of a workspace that others run later: what a confined command has changed is looked at afterwards.

A sandbox can let a command write to a directory or not; few can let it make files everywhere in a workspace but in
`.git/hooks`, and none knows which change of `.git/config` makes git run a program. So these places are compared
before and after, and the person decides about what differs.

A place may be a link, or lead elsewhere (`.git` may be a file that says where), and a command may have made it so.
So a link in the way is itself one of the things compared. What is only found through something that the command has
changed is shown and not touched: with that put back, nothing leads to it any more. Nothing that was not looked at
before is put back at all: it may be the person's.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import stat
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from tools.changes.facts import CLOCK_STEP_NS, Facts, facts_of
from tools.environments.atomic_writes import Spot, holding
from tools.environments.persistence_scan import (
    GIT_FILE,
    MOST_BYTES,
    Look,
    PlaceFinder,
    Way,
    is_settings,
    led_to,
    read_file,
    runs_the_same,
)
from tools.light_dataclass import dataclass
from tools.os_compat import O_NOCTTY, O_NONBLOCK, set_mode

# What was agreed to while a command runs: what calls of tools that a program makes were allowed to write, what the
# person has seen on the command's own card, the files that the command names. Nobody is asked about it again.


@dataclass(frozen=True, slots=True)
class _Agreed:
    digest: bytes
    is_link: bool
    may_run: bool


class AgreedWrites:
    """The writes of one session, noted while programs or background commands run. Safe for several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._programs = 0
        self._contents: dict[Path, _Agreed] = {}
        self._named: Counter[Path] = Counter()

    @contextlib.contextmanager
    def noting(self, named: Collection[Path] = ()) -> Iterator[None]:
        """While it lasts, a program runs, or a command for which something was agreed to.

        Args:
            named: files and directories (resolved) that the command names, and that it may therefore write to.
        """
        with self._lock:
            self._programs += 1
            self._named.update(named)
        try:
            yield
        finally:
            with self._lock:
                self._programs -= 1
                self._named.subtract(named)
                if not self._programs:
                    self._contents.clear()

    def note(
        self,
        path: Path,
        content: bytes | None,
        *,
        is_left: bool = False,
        is_link: bool = False,
        may_run: bool = False,
    ) -> None:
        """It was allowed to write this to `path` (resolved); None: to remove it.

        Args:
            is_left: commands run in the background, whose changes are looked at later.
            is_link: as a symbolic link that points there.
            may_run: as a file that may be executed.
        """
        with self._lock:
            if (self._programs or is_left) and content is not None:
                self._contents[path] = _Agreed(hashlib.sha256(content).digest(), is_link, may_run)

    def covers(self, path: Path, content: bytes | None, *, is_link: bool, begins_to_run: bool) -> bool:
        """Whether that is what was allowed last.

        Args:
            begins_to_run: it could not be executed before.
        """
        with self._lock:
            if not is_link and any(path.is_relative_to(each) for each, count in self._named.items() if count > 0):
                return True
            agreed = self._contents.get(path)
        if agreed is None or content is None or agreed.is_link != is_link or begins_to_run > agreed.may_run:
            return False
        return agreed.digest == hashlib.sha256(content).digest()


# The comparison.

_EXECUTABLE = 0o111
_MOST_HELD = 200
_MOST_KEPT = 32 * 1024 * 1024
"""Contents of all places together; what is beyond it is known by its facts."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A file as it was.

    Attributes:
        content: where it points to for a symbolic link; None where it is too big.
        is_settled: whether a later change surely changes the facts: not within one step of the clock.
    """

    facts: Facts
    content: bytes | None
    is_settled: bool = True

    @property
    def is_link(self) -> bool:
        """True for a symbolic link."""
        return stat.S_ISLNK(self.facts.st_mode)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """How the places were: their files, and where else was looked."""

    files: Mapping[Path, Kept]
    look: Look


@dataclass(frozen=True, slots=True)
class PlaceChange:
    """A file that is not what it was. `before` is None for one that is new.

    Attributes:
        is_behind: it may have been there all along: only what leads to it has changed. It stays as it is.
        is_moved: new at its place, but not written since: it was somewhere else, and must not be lost.
    """

    path: Path
    before: bytes | None
    after: bytes
    was: Kept | None
    is_behind: bool = False
    is_moved: bool = False


class KeptPlaces:
    """The places of one session.

    Args:
        roots: the session's directories, resolved.

    Attributes:
        agreed: what calls that a program made were allowed to write since the look before it.
    """

    def __init__(self, roots: tuple[Path, ...] = ()) -> None:
        self.roots = roots
        self._finder = PlaceFinder(roots)
        self._paths: dict[str, Path] = {}  # made once: they are looked at before and after each command
        self._last: dict[Path, Kept] = {}
        self._look = Look()
        self._ways: dict[str, Way] = {}  # also of what was a place once
        self._has_looked = False
        self._is_left = False
        self._looked_at = 0
        self.agreed = AgreedWrites()

    @property
    def is_left(self) -> bool:
        """Whether something was started, since the last look that counts, whose end nobody waits for."""
        return self._is_left

    def leave(self) -> None:
        """Something starts whose end nobody waits for: what changes from now on counts at the next look."""
        if not self._is_left:
            self._see()
        self._is_left = True

    def go_on(self) -> None:
        """Something still runs that the last look did not wait for: what changes from then on counts at the next."""
        self._is_left = True

    def before(self, *, keep: bool = False) -> Snapshot:
        """How they are; how they were at the last look, where something was left alone with them since.

        Args:
            keep: how they were at the last look, as somebody may have changed them since who is not to be trusted,
                and may go on to do so.
        """
        if not ((keep or self._is_left) and self._has_looked):
            self._see()
        self._is_left = self._is_left and keep
        return Snapshot(dict(self._last), self._look)

    def _see(self) -> None:
        self._remember(*self._now())
        self._has_looked = True

    def _remember(self, now: dict[Path, Kept], look: Look) -> None:
        self._last, self._look = now, look
        self._looked_at = time.time_ns()

    def changed(self, before: Snapshot) -> tuple[PlaceChange, ...]:
        """What has come or changed since; what has gone runs nothing."""
        now, look = self._now()
        found, behind = list[PlaceChange](), list[PlaceChange]()
        for path, kept in now.items():
            was, way = before.files.get(path), self._ways.get(str(path), Way())
            if _is_same(path, was, kept, way, before.look) or self._is_agreed(path, was, kept):
                continue
            is_moved = was is None and kept.facts.mtime_ns < before.look.at - CLOCK_STEP_NS
            content = None if was is None else was.content
            change = PlaceChange(path, content, kept.content or b"", was, is_moved=is_moved)
            if was is not None or (self._is_inside(path) and before.look.showed_absence(str(path))):
                found.append(change)
            elif way.via and self._is_inside(path):
                behind.append(replace(change, is_behind=True))
        changed = {str(change.path) for change in found}
        found += [change for change in behind if self._ways[str(change.path)].via in changed]
        for git in sorted(look.bare - before.look.bare):
            found += _of_new_repository(git, now, frozenset(change.path for change in found))
        self._remember(now, look)
        return tuple(found)

    def runs(self, path: Path) -> bool:
        """Whether git runs or reads a file because the settings of the workspace's repositories say so.

        Args:
            path: absolute, resolved.
        """
        return self.run_by_git()(path)

    def run_by_git(self) -> Callable[[Path], bool]:
        """As `runs`, for many files: as the settings are now."""
        places = self._finder.look_at_repositories().places
        return lambda path: str(path) in places or str(path.parent) in places

    def held(self) -> tuple[Path, ...]:
        """Places that are there and that no everyday command changes: a sandbox may keep them as they are.

        What git has in a work tree is none of them, nor are its settings: a checkout, a merge or a push would break
        off half way.
        """
        found = self._finder.look().lasting
        inside = (path for path in found if "/.git/" in path or not _is_in_work_tree(path))
        return tuple(Path(path) for path, _ in zip(inside, range(_MOST_HELD), strict=False))

    def disarm(self) -> tuple[Path, ...]:
        """At the session's end nobody can be asked. What was left alone with the places leaves nothing that runs by
        itself: a hook is no more executable, a link is put back. Settings stay: they may be the person's own.

        Returns:
            what was made harmless.
        """
        if not self._is_left:
            return ()
        since = self._looked_at - CLOCK_STEP_NS
        recent = (
            change
            for change in self.changed(Snapshot(dict(self._last), self._look))
            if _changed_at(change.path) >= since
        )
        self._is_left = False
        return tuple(change.path for change in recent if self._made_harmless(change))

    def _made_harmless(self, change: PlaceChange) -> bool:
        with contextlib.suppress(OSError):
            if not change.path.is_symlink():
                return _without_execution(change.path)
            self.put_back(change)
            return True
        return False

    def put_back(self, change: PlaceChange) -> None:
        """Make the file what it was. What cannot be had again is moved aside, so that nothing runs it.

        Raises:
            OSError: it cannot be changed, or a link has come into its path since.
        """
        if change.is_behind:
            return
        self._last.pop(change.path, None)
        was = change.was
        with contextlib.suppress(FileNotFoundError), holding(change.path, make=was is not None) as spot:
            if was is None and not change.is_moved:
                spot.unlink()
            elif was is None or was.content is None:
                aside = spot.beside(f"{spot.name}.refused-{secrets.token_hex(4)}")
                os.replace(spot.name, aside.name, src_dir_fd=spot.folder, dst_dir_fd=spot.folder)
            else:
                _restore(spot, was, was.content)
                self._last[change.path] = was

    def _is_agreed(self, path: Path, was: Kept | None, now: Kept) -> bool:
        began_to_run = not now.is_link and _is_executable(now) and (was is None or not _is_executable(was))
        return self.agreed.covers(path, now.content, is_link=now.is_link, begins_to_run=began_to_run)

    def _is_inside(self, path: Path) -> bool:
        return any(path.is_relative_to(root) for root in self.roots)

    def _now(self) -> tuple[dict[Path, Kept], Look]:
        look, now, left = self._finder.look(), dict[Path, Kept](), _MOST_KEPT
        # What was seen before is looked at also where it is not found any more, among very many others.
        for path in dict.fromkeys((*look.places, *map(str, self._last))):
            try:
                facts = facts_of(os.lstat(path))
            except (OSError, ValueError):
                continue
            if not facts.is_file:
                continue
            place = self._paths.get(path) or self._paths.setdefault(path, Path(path))
            kept = self._last.get(place)
            if kept is None or kept.facts != facts or not kept.is_settled:
                is_settled = time.time_ns() - facts.ctime_ns > CLOCK_STEP_NS
                kept = Kept(facts, _content(place, facts) if facts.size <= left else None, is_settled)
            left -= len(kept.content or b"")
            now[place] = kept
        self._ways.update((path, look.places[path]) for path in map(str, now) if path in look.places)
        return now, look


def _is_same(path: Path, was: Kept | None, now: Kept, way: Way, before: Look) -> bool:
    if was is not None and was.facts == now.facts and was.is_settled:
        return True
    if was is not None and was.is_link == now.is_link and was.content == now.content is not None:
        # A file that became executable begins to count as a hook.
        return (way.is_git and is_settings(path)) or not _is_executable(now) or _is_executable(was)
    if now.is_link or now.content is None or (was is not None and (was.is_link or was.content is None)):
        return False
    if was is None and path.name == ".git" and way.is_nested and _leads_to_known(path, now.content, before):
        return True  # another work tree, or a submodule, of a repository that was there
    before_it = None if was is None else was.content
    return runs_the_same(path, before_it, now.content, is_git=way.is_git, is_nested=way.is_nested)


def _is_in_work_tree(path: str) -> bool:
    return any(os.path.lexists(folder / ".git") for folder in Path(path).parents)


def _of_new_repository(git: str, now: Mapping[Path, Kept], known: frozenset[Path]) -> Iterator[PlaceChange]:
    """What git runs of a directory that has become a repository although these files were there before.

    Without HEAD it is none any more.
    """
    head = Path(git, "HEAD")
    inside = [path for path in now if path.is_relative_to(git) and path not in known and path != head]
    running = [
        path
        for path in inside
        if not runs_the_same(path, None, now[path].content or b"", is_git=True, is_nested=True)
    ]
    if running and head in now and head not in known:
        yield PlaceChange(head, None, now[head].content or b"", None, is_moved=True)
    for path in running:
        yield PlaceChange(path, None, now[path].content or b"", None, is_behind=True)


def _leads_to_known(dot_git: Path, text: bytes, before: Look) -> bool:
    if not text.startswith(GIT_FILE):
        return False
    git = os.path.realpath(led_to(dot_git, text.removeprefix(GIT_FILE)))
    inside = (f"{each}/{name}/" for each in before.repositories for name in ("worktrees", "modules"))
    return git.startswith(tuple(inside))


def _changed_at(path: Path) -> int:
    try:
        return path.lstat().st_ctime_ns
    except OSError:
        return 0


def _without_execution(path: Path) -> bool:
    """Whether there was something to take away.

    Raises:
        OSError: it cannot be changed.
    """
    with holding(path) as spot:
        descriptor = spot.open(os.O_RDONLY | O_NONBLOCK | O_NOCTTY)
        try:
            facts = os.fstat(descriptor)
            if not stat.S_ISREG(facts.st_mode) or not facts.st_mode & _EXECUTABLE:
                return False
            set_mode(descriptor, stat.S_IMODE(facts.st_mode) & ~_EXECUTABLE)
        finally:
            os.close(descriptor)
    return True


def _is_executable(kept: Kept) -> bool:
    return bool(kept.facts.st_mode & stat.S_IXUSR)


def _restore(spot: Spot, was: Kept, content: bytes) -> None:
    beside = spot.beside(f".{spot.name}.{secrets.token_hex(4)}")
    try:
        if was.is_link:
            os.symlink(os.fsdecode(content), beside.name, dir_fd=spot.folder)
        else:
            descriptor = beside.open(os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                set_mode(descriptor, stat.S_IMODE(was.facts.st_mode))
        os.replace(beside.name, spot.name, src_dir_fd=spot.folder, dst_dir_fd=spot.folder)
    finally:
        beside.unlink()


def _content(path: Path, facts: Facts) -> bytes | None:
    try:
        if stat.S_ISLNK(facts.st_mode):
            return os.fsencode(path.readlink())
        return None if facts.size > MOST_BYTES else read_file(path)
    except OSError:
        return None
