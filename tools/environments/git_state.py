"""The state of a git repository: branch, last commit, changes. Looked at once, for a short time."""

from __future__ import annotations

import contextlib
import os
import re
import select
import subprocess
import sys
import time
from pathlib import Path

from tools.environments.git import Git, Repository, borrowed, find_repository, git_root
from tools.environments.process_groups import signal_group
from tools.errors import ToolError
from tools.light_dataclass import dataclass
from tools.os_compat import SIGKILL

_STATUS = (
    "--no-pager", "--literal-pathspecs", "status", "--porcelain=v2", "--branch", "--untracked-files=normal",
    "--ignore-submodules=all", "--no-renames",
)  # fmt: skip
_LAST = ("--no-pager", "log", "-1", "--no-decorate", "--no-color", "--format=%h %cs %s")
_MOST_BYTES = 16 * 1024
_BRANCH = re.compile(rb"ref: refs/heads/([^\x00-\x20\x7f]{1,200})\s*")
_COMMIT = re.compile(r"([0-9a-f]{4,64} \d{4}-\d\d-\d\d) ?(.*)")


@dataclass(frozen=True, slots=True)
class GitState:
    """A repository at one moment.

    Attributes:
        root: the work tree's top directory.
        branch: its name; '' where none is checked out, or where it is not known.
        is_dirty: something differs from the last commit, or is new; None where that could not be found out in time.
        commit: the last commit's short id and its date, as `1a2b3c4 2031-02-03`; '' where there is none.
        subject: what its author called it, as written: anybody's words.
    """

    root: Path
    branch: str = ""
    is_dirty: bool | None = None
    commit: str = ""
    subject: str = ""


def git_state(directory: Path, *, seconds: float = 1.0) -> GitState | None:
    """The state of the repository that `directory` is in; None where it is in none, or in one that is not looked at.

    Blocks for `seconds` at most. Nothing that the repository brings is run: `tools.environments.git`.
    """
    repository = find_repository(directory)
    if repository is None:
        return None
    deadline = time.monotonic() + seconds
    status = last = None
    with contextlib.suppress(ToolError, OSError), borrowed(repository) as git_dir, Git() as git:
        # Both run at the same time.
        running = [_start(git, repository, git_dir, arguments) for arguments in (_STATUS, _LAST)]
        status, last = (_output(process, deadline) for process in running)
    return _state(repository, status, last)


def tracked_files(directory: Path, only: tuple[str, ...] = ()) -> frozenset[Path] | None:
    """The files that git has in the index of the repository that `directory` is in; None where nobody can say.

    Args:
        only: those that these paths of a command's fit, as git reads them.
    """
    repository = find_repository(directory)
    if repository is None:
        return frozenset() if git_root(directory) is None else None
    arguments = ("ls-files", "-z", "--full-name", "--", *(only or (":/",)))
    try:
        with borrowed(repository) as git_dir, Git() as git:
            listed = git.run(*arguments, cwd=directory, git_dir=git_dir, work_tree=repository.top)
    except (ToolError, OSError):
        return None
    return frozenset(repository.top / os.fsdecode(name) for name in listed.split(b"\0") if name)


def branch_of(directory: Path) -> str:
    """The branch that is checked out where `directory` is; '' where none is, or it is in no repository."""
    repository = find_repository(directory)
    return "" if repository is None else _branch(repository)


def _state(repository: Repository, status: bytes | None, last: bytes | None) -> GitState:
    lines = (status or b"").decode("utf-8", "replace").splitlines()
    heads = dict(line[2:].split(" ", 1) for line in lines if line.startswith("# ") and " " in line[2:])
    branch = heads.get("branch.head", _branch(repository))
    commit, subject = commit_of((last or b"").decode("utf-8", "replace"))
    return GitState(
        repository.top,
        branch="" if branch == "(detached)" else branch,
        is_dirty=None if status is None else any(not line.startswith("#") for line in lines),
        commit=commit,
        subject=subject,
    )


def commit_of(line: str) -> tuple[str, str]:
    """Id with date, and subject, of what git prints as `%h %cs %s`; each '' where it is nothing of the kind."""
    found = _COMMIT.match(line.strip())
    return (found[1], found[2].strip()) if found else ("", "")


def _branch(repository: Repository) -> str:
    found = _BRANCH.fullmatch(repository.head())
    return found[1].decode("utf-8", "replace") if found else ""


def _start(git: Git, repository: Repository, git_dir: Path, arguments: tuple[str, ...]) -> subprocess.Popen[bytes]:
    if sys.platform == "win32":  # where pipes cannot be waited for
        raise OSError("git is not asked on Windows")
    return git.start(*arguments, cwd=repository.top, git_dir=git_dir, work_tree=repository.top)


def _output(process: subprocess.Popen[bytes], deadline: float) -> bytes | None:
    """The beginning of what it prints; None where it fails, or is not done in time. It is gone afterwards."""
    found, is_cut = bytearray(), False
    assert process.stdout is not None  # noqa: S101 - it was started with a pipe
    try:
        with process.stdout as pipe:
            ready = select.poll()
            ready.register(pipe, select.POLLIN)
            while (left := deadline - time.monotonic()) > 0 and not is_cut:
                if not ready.poll(left * 1000):
                    return None
                data = os.read(pipe.fileno(), _MOST_BYTES)
                if not data:
                    return bytes(found) if process.wait(max(left, 0.1)) == 0 else None
                found += data
                is_cut = len(found) >= _MOST_BYTES
        return bytes(found) if is_cut else None
    except subprocess.TimeoutExpired:
        return None
    finally:
        if process.poll() is None:
            signal_group(process.pid, SIGKILL)
        process.wait()
