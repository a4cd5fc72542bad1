"""How a git repository stands: branch, last commit, changes. Looked at once, for a short time, running nothing of it.

A repository's settings can name programs that git runs even where it only looks (`core.fsmonitor`, filters). Where
there are such settings, only what is in `.git/HEAD` is told. git's own check of who owns the directory stays on.
"""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tools.environments.child_env import child_environment
from tools.environments.kept_places import KeptPlaces
from tools.environments.process_groups import signal_group
from tools.environments.resolved_open import open_resolved
from tools.light_dataclass import dataclass
from tools.os_flags import O_NONBLOCK, SIGKILL, own_user

_QUIET = (
    "git", "--no-pager", "--no-optional-locks", "--literal-pathspecs",
    "-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}", "-c", "core.pager=cat",
    "-c", "safe.bareRepository=explicit", "-c", "log.showSignature=false", "-c", "status.showUntrackedFiles=normal",
    "-c", "protocol.allow=never",
)  # fmt: skip
_STATUS = ("status", "--porcelain=v2", "--branch", "--ignore-submodules=all", "--no-renames")
_LAST = ("log", "-1", "--no-decorate", "--no-color", "--format=%h %cs")
# They would make git look at another repository than the directory's, or write down what it does.
_MISLEADING = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_TRACE")
_MOST_BYTES = 16 * 1024
_HEAD_BYTES = 1024
_BRANCH = re.compile(rb"^ref: refs/heads/([^\x00-\x20\x7f]{1,200})\n?$")
_COMMIT = re.compile(r"([0-9a-f]{4,64}) (\d{4}-\d\d-\d\d)")


@dataclass(frozen=True, slots=True)
class GitState:
    """A repository at one moment.

    Attributes:
        root: the work tree's top directory.
        branch: its name; '' where none is checked out, or where it is not known.
        is_dirty: something differs from the last commit, or is new; None where that could not be found out in time.
        commit: the last commit's short id and its date, as `1a2b3c4 2031-02-03`; '' where there is none.
    """

    root: Path
    branch: str = ""
    is_dirty: bool | None = None
    commit: str = ""


def git_root(directory: Path) -> Path | None:
    """The top directory of the repository that `directory` is in; None where it is in none.

    One that belongs to neither the owner of `directory` nor this user does not count: others may write above us.
    """
    try:
        owners = {directory.stat().st_uid, own_user()}
    except OSError:
        return None
    for place in (directory, *directory.parents):
        try:
            facts = os.lstat(place / ".git")
        except OSError:
            continue
        return place if facts.st_uid in owners else None
    return None


def git_state(
    directory: Path, variables: Mapping[str, str] | None = None, *, seconds: float = 1.0
) -> GitState | None:
    """How the repository of `directory` stands; None where it is in none. Blocks for `seconds` at most.

    Args:
        variables: what git's environment is made from; this process's own when None.
    """
    root = git_root(directory)
    if root is None:
        return None
    known = GitState(root, branch=_branch_in_head(root))
    if KeptPlaces((Path(os.path.realpath(root)),)).runs_along():
        return known
    environ = child_environment(os.environ if variables is None else variables)
    for name in _MISLEADING:
        environ.pop(name, None)
    deadline = time.monotonic() + seconds
    # Both run at the same time.
    running = [_start(arguments, root, environ) for arguments in (_STATUS, _LAST)]
    status, last = (None if process is None else _output(process, deadline) for process in running)
    return _told(known, status, last)


def _told(known: GitState, status: bytes | None, last: bytes | None) -> GitState:
    lines = (status or b"").decode("utf-8", "replace").splitlines()
    heads = dict(line[2:].split(" ", 1) for line in lines if line.startswith("# ") and " " in line[2:])
    branch = heads.get("branch.head", known.branch)
    commit = _COMMIT.fullmatch((last or b"").decode("ascii", "replace").strip())
    return GitState(
        known.root,
        branch="" if branch == "(detached)" else branch,
        is_dirty=None if status is None else any(not line.startswith("#") for line in lines),
        commit=commit[0] if commit else "",
    )


def _branch_in_head(root: Path) -> str:
    """What `.git/HEAD` says, for where git is not asked."""
    try:
        descriptor = open_resolved(Path(os.path.realpath(root)) / ".git" / "HEAD", os.O_RDONLY | O_NONBLOCK)
    except OSError:
        return ""
    with os.fdopen(descriptor, "rb") as stream:
        try:
            found = _BRANCH.match(stream.read(_HEAD_BYTES))
        except OSError:
            return ""
    return found[1].decode("utf-8", "replace") if found else ""


def _start(arguments: Sequence[str], root: Path, environ: Mapping[str, str]) -> subprocess.Popen[bytes] | None:
    if sys.platform == "win32":  # where pipes cannot be waited for
        return None
    try:
        return subprocess.Popen(
            [*_QUIET, *arguments],
            cwd=root,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:  # there is no git here
        return None


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
