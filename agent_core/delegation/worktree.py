"""A git work tree of its own for a sub-agent: what the person's has now, changed without touching theirs.

The copy borrows the objects of the person's repository and writes nothing into it. What git is run in for us lies
beside the work tree, where the sub-agent's commands cannot change it.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shlex
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from pathlib import Path

from tools.environments.git import Git, Repository, borrowed, excluded, find_repository, write_repository
from tools.environments.persistence_scan import read_file
from tools.environments.temp_directories import remove_tree
from tools.errors import ToolError
from tools.light_dataclass import dataclass
from tools.os_compat import O_CLOEXEC, lock
from tools.ports import Interrupt

# What all copies of a workspace have in common: patches of what is not brought back, and emptied directories.

log = logging.getLogger(__name__)

_EACH = re.compile(rb"^(?=diff --git )", re.MULTILINE)
_GONE = "gone-"
_SETTLED = ".patch-settled"


def write_rest(directory: Path, patch: bytes, changes: int, patch_of: Callable[[int], bytes]) -> None:
    """Write a patch for each change, by its number, before any is brought back: what a crash leaves can be applied.

    Args:
        patch: of all changes, in their order.
        patch_of: the one of a change, for where `patch` does not tell them apart.

    Raises:
        ToolError: as `patch_of` does. OSError: it cannot be written.
    """
    # Within a patch each line begins with a sign of its own.
    parts = _EACH.split(patch)[1:]
    directory.mkdir()
    try:
        for number in range(changes):
            one = parts[number] if len(parts) == changes else patch_of(number)
            _patch_file(directory, number).write_bytes(one)
    except BaseException:
        # Who applied some of them would believe that it was all.
        shutil.rmtree(directory, ignore_errors=True)
        raise


def _patch_file(directory: Path, number: int) -> Path:
    """Where the patch of a change is until it is brought back."""
    return directory / f"{number:04}.patch"


def how_to_apply(top: Path, directory: Path, *, settled: bool = False) -> str:
    """The command that brings the rest back; `settled`: also what is settled, but not for good."""
    return f"git -C {shlex.quote(str(top))} apply {shlex.quote(str(directory))}/*.patch{'*' if settled else ''}"


def _is_gone(directory: Path) -> bool:
    """Whether it was given up and is only to be removed."""
    return directory.name.startswith(_GONE)


def _remove_behind(directory: Path, then: Callable[[], None] = lambda: None) -> None:
    """Remove a directory that may be large: it has another name at once, and goes on a thread of its own.

    Args:
        then: called when nothing is left of it.
    """
    gone = directory if _is_gone(directory) else directory.with_name(f"{_GONE}{directory.name}")
    try:
        directory.rename(gone)
    except OSError:  # somebody else removes it, or it cannot be renamed
        gone = directory

    def work() -> None:
        try:
            for entry in gone.iterdir() if gone.is_dir() else ():
                if entry.name != _LOCK:  # that goes last: nobody takes it for left over while it is held
                    remove_tree(entry)
            remove_tree(gone)
        except OSError:
            log.info("the copy %s could not be removed: the next start tries again", gone, exc_info=True)
        finally:
            then()

    threading.Thread(target=work, name="removal of a copy", daemon=True).start()


def remove_emptied(directory: Path) -> None:
    """Remove a directory (resolved) in which only directories are left; nothing happens where there is more."""
    if os.path.realpath(directory) != str(directory) or any(files for _, _, files in os.walk(directory)):
        return
    for path, _, _ in os.walk(directory, topdown=False):
        # A link to a directory stays, and so what it is in.
        with contextlib.suppress(OSError):
            Path(path).rmdir()


_ADVICE = "Leave out isolated."
_KEPT_SECONDS = 7 * 86_400.0
_MOST_CHANGES = 500
_LARGEST = 4 * 1024 * 1024
_LARGEST_INDEX = 256 * 1024 * 1024
_EXECUTABLE = "100755"
_FILE_MODES = frozenset({"100644", _EXECUTABLE})
_REPOSITORY = "160000"
_NOTHING = "000000"
_ORIGIN = "origin"
_LOCK = "lock"


@dataclass(frozen=True, slots=True)
class Change:
    """A file that is another in the copy.

    Attributes:
        path: below the top of the work tree.
        before, after: its content; None where it is not there.
        obstacle: why it cannot be brought back, in words that follow its name; '' where it can.
        is_made_executable: it may be run in the copy, and could not before.
    """

    path: Path
    before: bytes | None
    after: bytes | None
    obstacle: str = ""
    is_made_executable: bool = False


@dataclass(slots=True)
class Copy:
    """A copy of a work tree.

    Attributes:
        top: the work tree that it was made of, which may be that of another copy.
        directory: everything of it; the work tree is `tree`.
        origin: the person's work tree, which the first copy was made of.
        base: the commit that holds what `top` had.
        is_kept: it was left to the person.
    """

    top: Path
    directory: Path
    origin: Path
    base: str = ""
    is_kept: bool = False
    _lock: int | None = field(default=None, repr=False)

    @property
    def tree(self) -> Path:
        """The work tree."""
        return self.directory / "tree"

    @property
    def rest(self) -> Path:
        """Where the patches are of what is not brought back."""
        return self.directory / "rest"

    def place_of(self, path: Path) -> Path:
        """Where a path of `top` is in the copy; the same path where it is not below `top`."""
        return self.tree / path.relative_to(self.top) if path.is_relative_to(self.top) else path

    def changes(self) -> list[Change]:
        """What is another than in `top` when the copy was made.

        Raises:
            ToolError: git cannot tell.
        """
        with self._git() as git:
            _add_all(git, self.tree)
            told = git("diff-index", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev", self.base)
            parts = told.decode("utf-8", "surrogateescape").split("\0")
            rows = [(facts[1:].split(" "), Path(path)) for facts, path in zip(parts[::2], parts[1::2], strict=False)]
            if len(rows) > _MOST_CHANGES:
                raise ToolError(
                    f"{len(rows)} files were changed in the copy, more than can be shown ({_MOST_CHANGES})."
                )
            return [_change(git, facts, path) for facts, path in rows]

    def set_aside(self, changes: Sequence[Change]) -> bytes:
        """Begin to bring changes back: from now on a crash leaves it, with a patch for each that is not `settled`.

        Args:
            changes: what `changes` told.

        Returns:
            the patch of them all.

        Raises:
            ToolError: git cannot tell. OSError: there is no room for it.
        """
        words = ("diff-index", "--cached", "--binary", "--patch", "--no-renames", self.base)
        with self._git() as git:
            whole = git(*words)
            write_rest(
                self.rest,
                whole,
                len(changes),
                lambda number: git(*words, "--", f":(top,literal){changes[number].path}"),
            )
        self._mark()
        return whole

    def settled(self, number: int) -> None:
        """The change of that number is brought back, or is not wanted."""
        file = _patch_file(self.rest, number)
        if self.origin == self.top:
            file.unlink(missing_ok=True)
        elif file.exists():  # what is brought back to another copy may go with that one
            file.rename(file.with_suffix(_SETTLED))

    def keep(self) -> None:
        """Leave it where it is, for the person; it goes after a week."""
        self._mark()
        self.is_kept = True
        self._let_go()

    def drop(self) -> None:
        """Remove it, unless it is kept."""
        if not self.is_kept:
            _remove_behind(self.directory, self._let_go)

    def _mark(self) -> None:
        (self.directory / "kept").touch()

    @contextlib.contextmanager
    def _git(self) -> Iterator[_Run]:
        with Git((self.directory,), advice=_ADVICE) as git:
            yield _Run(git, self.directory / "git", self.tree)

    def lock(self) -> None:
        """Hold it for this process: one that nobody holds is left over from a crash."""
        self._lock = os.open(self.directory / _LOCK, os.O_RDWR | os.O_CREAT | O_CLOEXEC, 0o600)
        lock(self._lock)

    def _let_go(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


@dataclass(frozen=True, slots=True)
class _Run:
    """Runs git with one repository and one work tree."""

    git: Git
    git_dir: Path
    tree: Path

    def __call__(self, *arguments: str) -> bytes:
        return self.git.run(*arguments, cwd=self.tree, git_dir=self.git_dir, work_tree=self.tree)


def _change(git: _Run, facts: list[str], path: Path) -> Change:
    old_mode, new_mode, old, new, _ = facts
    strange = [mode for mode in (old_mode, new_mode) if mode not in {_NOTHING, *_FILE_MODES}]
    if strange:
        return Change(path, None, None, "is no regular file")
    before = None if old_mode == _NOTHING else _content(git, old, path)
    after = None if new_mode == _NOTHING else _content(git, new, path)
    if max(len(before or b""), len(after or b"")) > _LARGEST:
        return Change(path, None, None, "is too large to be shown")
    if before == after:
        return Change(path, before, after, "has other permissions only")
    return Change(path, before, after, is_made_executable=new_mode == _EXECUTABLE != old_mode)


def _content(git: _Run, name: str, path: Path) -> bytes:
    """As it lies in a work tree: with the line ends and the encoding that the attributes of its path say."""
    return git("cat-file", "--filters", f"--path={path}", name)


def make_copy(cwd: Path, copies: Path, name: str, interrupt: Interrupt | None = None) -> Copy:
    """A copy of the work tree that `cwd` is in, with what is not committed and what git does not know yet.

    Args:
        copies: where copies are made.
        interrupt: ends it.

    Raises:
        ToolError: `cwd` is in no repository, or it cannot be copied.
        ToolInterrupted: nothing of it is left.
    """
    tidy_copies(copies)
    repository = find_repository(cwd)
    if repository is None:
        raise ToolError(
            f"{cwd} is in no git repository of yours, so there is no copy to work on: leave out isolated."
        )
    top, copies = repository.top, Path(os.path.realpath(copies))
    if copies.is_relative_to(top):
        raise ToolError(f"Copies are made in {copies}, which is inside of {top}: leave out isolated.")
    copy = Copy(top, copies / name, _origin(top, copies))
    try:
        copy.directory.mkdir(mode=0o700, parents=True)
        copy.lock()
        (copy.directory / _ORIGIN).write_bytes(os.fsencode(copy.origin))
        _fill(copy, repository, interrupt)
    except OSError as problem:
        copy.drop()
        raise ToolError(f"No copy of {top} could be made: {problem}. Leave out isolated.") from problem
    except BaseException:
        copy.drop()
        raise
    return copy


def _origin(top: Path, copies: Path) -> Path:
    """What the copy was made of that `top` is; `top` where it is none."""
    if top.parent.parent == copies:
        with contextlib.suppress(OSError):
            return Path(os.fsdecode((top.parent / _ORIGIN).read_bytes()))
    return top


def tidy_copies(copies: Path) -> None:
    """Remove the copies that a crash has left, and those that were kept a week ago. Never raises."""
    for directory in _directories(copies):
        if (directory / "kept").exists() and not _is_gone(directory):
            with contextlib.suppress(OSError):
                if time.time() - (directory / "kept").stat().st_mtime > _KEPT_SECONDS:
                    _remove_behind(directory)
        elif _is_left_over(directory):
            log.info("the copy %s is left over, and is removed", directory)
            _remove_behind(directory)


def _directories(copies: Path) -> Iterator[Path]:
    with contextlib.suppress(OSError):
        yield from [entry for entry in copies.iterdir() if entry.is_dir() and not entry.is_symlink()]


def _is_left_over(directory: Path) -> bool:
    try:
        descriptor = os.open(directory / _LOCK, os.O_RDWR | O_CLOEXEC)
    except OSError:
        return _is_gone(directory)  # else it is being made just now, or is not ours
    try:
        lock(descriptor)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def _fill(copy: Copy, repository: Repository, interrupt: Interrupt | None) -> None:
    """Our own repository with a commit of what is in `top`, and a work tree with its own of the same."""
    own, tree, settings = copy.directory / "git", copy.tree, repository.settings()
    objects = repository.common_dir / "objects"
    write_repository(own, settings, objects=(objects,))
    for path in repository.index_files():
        (own / path.name).write_bytes(read_file(path, _LARGEST_INDEX) or b"")
    (own / "info" / "exclude").write_bytes(excluded(repository))
    with Git((copy.directory,), interrupt, _ADVICE) as git, borrowed(repository) as theirs:
        head = _head(_Run(git, theirs, copy.top))
        here = _Run(git, own, copy.top)
        _add_all(here, copy.top)
        parent = ("-p", head) if head else ()
        names = here("write-tree").decode().strip()
        copy.base = here("commit-tree", *parent, "-m", "What was there", names).decode().strip()
        tree.mkdir()
        write_repository(tree / ".git", settings, objects=(objects, own / "objects"), is_bare=False)
        _Run(git, tree / ".git", tree)("reset", "--quiet", "--hard", copy.base)
        _Run(git, own, tree)("read-tree", copy.base)


def _add_all(git: _Run, work_tree: Path) -> None:
    """Put all that is in a work tree into the index.

    Git asks a repository within it that it knows already for its state, and that one's settings name programs
    (filters) which would be run. So git hears of these as of new ones.
    """
    inner = _repositories_within(git)
    if inner:
        git("update-index", "--force-remove", "--", *inner)
    git("add", "--all", "--", ".")
    empty = [f"{_REPOSITORY},{head},{path}" for path, head in inner.items() if _is_empty(work_tree / path)]
    if empty:
        git("update-index", "--add", *(word for entry in empty for word in ("--cacheinfo", entry)))


def _repositories_within(git: _Run) -> dict[str, str]:
    """The commits of the repositories that the index has, by their paths."""
    rows = git("ls-files", "--stage", "-z").decode("utf-8", "surrogateescape").split("\0")
    found = (row.partition("\t") for row in rows if row.startswith(_REPOSITORY))
    return {path: facts.split(" ")[1] for facts, _, path in found}


def _is_empty(directory: Path) -> bool:
    with contextlib.suppress(OSError):
        return next(directory.iterdir(), None) is None
    return False


def _head(git: _Run) -> str:
    """The commit that is checked out; '' before the first one."""
    try:
        return git("rev-parse", "--verify", "--quiet", "HEAD^{commit}").decode().strip()
    except ToolError:
        return ""
