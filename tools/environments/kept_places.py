"""Places in a workspace that others run later: what a confined command has changed there is looked at afterwards.

A sandbox can let a command write to a directory or not; it cannot let it make files everywhere in a workspace but in
`.git/hooks`. So these few places are compared before and after, and the person decides about what differs.

A place may be a link, or lead elsewhere (`.git` may be a file that says where), and a command may have made it so. So
a link in the way is itself one of the things compared, and nothing outside of the session's directories is put back
that was not seen before: the command cannot have made it, and what it points at is not ours to delete.
"""

from __future__ import annotations

import contextlib
import functools
import os
import secrets
import stat
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from tools.changes.facts import CLOCK_STEP_NS, Facts, facts_of
from tools.environments.agreed_writes import AgreedWrites
from tools.environments.git_settings import looking_settings, running_settings
from tools.environments.places_run_later import MOST_BYTES, places_in, read_file
from tools.environments.resolved_open import Spot, holding
from tools.light_dataclass import dataclass
from tools.os_flags import O_NOCTTY, O_NONBLOCK, set_mode

_EXECUTABLE = 0o111


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

    Attributes:
        agreed: what calls that a program made were allowed to write since the look before it.
    """

    def __init__(self, roots: tuple[Path, ...] = ()) -> None:
        self._roots = roots
        self._last: dict[Path, Kept] = {}
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
        return dict(self._last)

    def _see(self) -> None:
        self._remember(dict(self._now()))
        self._has_looked = True

    def _remember(self, now: dict[Path, Kept]) -> None:
        self._last = now
        self._looked_at = time.time_ns()

    def changed(self, before: Snapshot) -> tuple[PlaceChange, ...]:
        """What has come or changed since; what has gone runs nothing."""
        now = dict(self._now())
        found = tuple(
            PlaceChange(path, None if was is None else was.content, kept.content or b"", was)
            for path, kept in now.items()
            if not _is_same(path, was := before.get(path), kept)
            and (was is not None or self._is_inside(path))
            and not self._is_agreed(path, was, kept)
        )
        self._remember(now)
        return found

    def disarm(self) -> tuple[Path, ...]:
        """At the session's end nobody can be asked. What was left alone with the places leaves nothing that runs by
        itself: a hook is no more executable, a link is put back. Settings stay: they may be the person's own.

        Returns:
            what was made harmless.
        """
        if not self._is_left:
            return ()
        since = self._looked_at - CLOCK_STEP_NS
        recent = (change for change in self.changed(dict(self._last)) if _changed_at(change.path) >= since)
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
        """Make the file what it was. What is too big to be kept is moved aside, so that nothing runs it.

        Raises:
            OSError: it cannot be changed, or a link has come into its path since.
        """
        self._last.pop(change.path, None)
        was = change.was
        with contextlib.suppress(FileNotFoundError), holding(change.path, make=was is not None) as spot:
            if was is None:
                spot.unlink()
            elif was.content is None:
                aside = spot.beside(f"{spot.name}.refused-{secrets.token_hex(4)}")
                os.replace(spot.name, aside.name, src_dir_fd=spot.folder, dst_dir_fd=spot.folder)
            else:
                _restore(spot, was, was.content)
                self._last[change.path] = was

    def runs_along(self) -> str:
        """What git would run of the repositories' own settings where it only looks; '' for nothing."""
        for path in self._paths():
            if path.name in {"config", "config.worktree"} and (names := looking_settings(read_file(path) or b"")):
                return f"what {names[0]} in {path} names"
        return ""

    def _is_agreed(self, path: Path, was: Kept | None, now: Kept) -> bool:
        began_to_run = _is_executable(now) and (was is None or not _is_executable(was))
        return not (now.is_link or began_to_run) and self.agreed.covers(path, now.content)

    def _is_inside(self, path: Path) -> bool:
        return any(path.is_relative_to(root) for root in self._roots)

    def _now(self) -> Iterator[tuple[Path, Kept]]:
        # What was seen before is looked at also where it is not found any more, among very many others.
        for path in dict.fromkeys((*self._paths(), *self._last)):
            try:
                facts = facts_of(os.lstat(path))
            except OSError:
                continue
            if not facts.is_file:
                continue
            known = self._last.get(path)
            if known is not None and known.facts == facts and known.is_settled:
                yield path, known
            else:
                is_settled = time.time_ns() - facts.ctime_ns > CLOCK_STEP_NS
                yield path, Kept(facts, _content(path, facts), is_settled)

    def _paths(self) -> Iterator[Path]:
        """Each place once: where it really is, and the links on the way there."""
        really: dict[Path, Path | None] = {}
        found: dict[Path, None] = {}
        for root in self._roots:
            really[root] = root
            for path, folder in places_in(root):
                if folder not in really:
                    really[folder] = place = _real_folder(folder, root)
                    is_missing = place is None and _is_in(folder, root)
                    if place != folder and not is_missing and folder.is_relative_to(root):
                        found.update(dict.fromkeys(_links(folder, root)))
                if (place := really[folder]) is not None:
                    found[path if place == folder else place / path.name] = None
        yield from found


@functools.lru_cache(maxsize=256)
def _is_in(folder: Path, root: Path) -> bool:
    """Whether a directory lies in `root` itself, so that no link can be on the way. The same few are asked about."""
    return folder.parent == root


def _real_folder(folder: Path, root: Path) -> Path | None:
    """Where a directory really is; None where there is none. Most of them are not there: one look tells."""
    try:
        facts = os.lstat(folder)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return Path(os.path.realpath(folder))
    is_plain = stat.S_ISDIR(facts.st_mode) and _is_in(folder, root)
    return folder if is_plain else Path(os.path.realpath(folder))


def _links(path: Path, root: Path) -> Iterator[Path]:
    """The directories from `root` to `path` that are symbolic links, up to the first."""
    here = str(root)
    for name in path.parts[len(root.parts) :]:
        here = f"{here}/{name}"
        if os.path.islink(here):  # noqa: PTH114 - several for each look
            yield Path(here)
            return


def _is_same(path: Path, was: Kept | None, now: Kept) -> bool:
    if was is not None and was.facts == now.facts and was.is_settled:
        return True
    is_config = path.name in {"config", "config.worktree"}
    if was is not None and was.is_link == now.is_link and was.content == now.content is not None:
        # A file that became executable begins to count as a hook.
        return is_config or not _is_executable(now) or _is_executable(was)
    if is_config and not now.is_link and now.content is not None:
        before = running_settings(was.content or b"") if was is not None else frozenset()
        return running_settings(now.content or b"") <= before
    return False


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
