"""Runs git on this program's own behalf, so that nothing in a repository makes it run a program or reach a host.

A repository's settings can name programs in dozens of ways, and a reader of ours would understand them differently
than git does. So git never reads them: it is given a directory of ours as its repository, with settings that we wrote
and links to the objects, references and index of the one that it is to look at. Neither settings, hooks and
attributes of that repository nor the user's own are read, it finds no repository by walking up, and it contacts
nobody. What is left of risk is in its readers of objects and of the index: it runs in the read-only sandbox without
network, wherever one works.

Sources: gitrepository-layout(5), git(1) "Environment Variables", git-new-workdir of git's contrib directory.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import subprocess
import sys
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self
from urllib.parse import urlsplit

from tools.environments.guardian import UNSEEN, signal_group
from tools.environments.persistence_scan import all_settings, read_file
from tools.environments.program_finder import PROGRAMS
from tools.environments.sandbox.network.hosts import host_name
from tools.environments.sandbox.port import Confinement, Sandbox
from tools.environments.temp_directories import own_directory
from tools.errors import ToolError, ToolInterrupted
from tools.light_dataclass import dataclass
from tools.os_compat import SIGKILL, own_user
from tools.ports import Interrupt
from tools.web.addresses import inside_by_name

_SETTINGS = (
    "-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}", "-c", "core.pager=cat",
    "-c", f"core.attributesFile={os.devnull}", "-c", f"core.excludesFile={os.devnull}", "-c", "core.quotePath=false",
    "-c", "credential.helper=", "-c", "submodule.recurse=false", "-c", "log.showSignature=false",
    "-c", "commit.gpgSign=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false",
    "-c", "advice.addEmbeddedRepo=false",
)  # fmt: skip
_ENVIRONMENT = {
    "LC_ALL": "C",
    "HOME": os.devnull,
    "XDG_CONFIG_HOME": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    # Not the setting `protocol.allow`, which one for a single protocol goes before.
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "false",
    "GIT_SSH_COMMAND": "false",
    "GIT_EDITOR": "false",
    "GIT_PAGER": "cat",
    "GIT_AUTHOR_NAME": "hermes-acp",
    "GIT_AUTHOR_EMAIL": "hermes-acp@localhost",
    "GIT_COMMITTER_NAME": "hermes-acp",
    "GIT_COMMITTER_EMAIL": "hermes-acp@localhost",
}
_SECONDS = 120.0
_LONGEST_COMPLAINT = 300
_HEAD_BYTES = 1024
_SETTINGS_BYTES = 64 * 1024
_LONGEST_EXCLUDE = 1 << 20
_MOST_SHARED_INDEXES = 16
_GIT_FILE = b"gitdir: "
_HEAD = re.compile(rb"(?:ref: refs/[^\x00-\x20\x7f]{1,500}|[0-9a-f]{40}|[0-9a-f]{64})\s*")
# What of a repository's settings decides how its files are to be compared: words, and no names of anything.
_COPIED = re.compile(
    r"core\.(?:filemode|ignorecase|symlinks|autocrlf|eol|safecrlf|precomposeunicode|trustctime|checkstat"
    r"|sparsecheckout|sparsecheckoutcone)|extensions\.(?:objectformat|refstorage)"
)
_WORD = re.compile(r"[A-Za-z0-9]{0,20}")
_LINKED = ("objects", "refs", "packed-refs", "reftable", "shallow")
_OWN_REFERENCES = ("ORIG_HEAD", "MERGE_HEAD", "FETCH_HEAD", "logs/HEAD")


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository that a directory belongs to, found without running git. All paths are resolved.

    Attributes:
        top: the work tree's top directory.
        git_dir: holds what is the work tree's own: HEAD and the index.
        common_dir: holds what all work trees share: objects, references, settings.
    """

    top: Path
    git_dir: Path
    common_dir: Path

    def head(self) -> bytes:
        """The content of HEAD; b'' where it is none of the usual ones."""
        found = read_file(self.git_dir / "HEAD") or b""
        return found if len(found) <= _HEAD_BYTES and _HEAD.fullmatch(found) else b""

    def settings(self) -> Mapping[str, str]:
        """Those of its settings that decide how files are compared. A wrong reading could only miscount changes."""
        config = read_file(self.common_dir / "config", _SETTINGS_BYTES) or b""
        return {
            name: value for name, value in all_settings(config) if _COPIED.fullmatch(name) and _WORD.fullmatch(value)
        }

    def holds_up(self) -> bool:
        """Whether one of the files that git always reads is a pipe or the like, for which it would wait."""
        branch = os.fsdecode(self.head().removeprefix(b"ref: ").strip())
        read = (self.common_dir / branch, self.common_dir / "objects" / "info" / "alternates")
        return any(_is_odd(path) for path in (*read, self.top / ".gitignore", self.top / ".gitattributes"))

    def index_files(self) -> list[Path]:
        """The index, and the parts of one that is split."""
        parts = zip(sorted(self.git_dir.glob("sharedindex.*")), range(_MOST_SHARED_INDEXES), strict=False)
        return [path for path in (self.git_dir / "index", *(path for path, _ in parts)) if path.is_file()]


def _is_odd(path: Path) -> bool:
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def git_root(directory: Path) -> Path | None:
    """The top directory of the repository that `directory` is in; None where it is in none.

    One above that belongs to neither the owner of `directory` nor this user does not count, nor one where everyone
    may write, as in the directory for temporary files: a confined command could have put it there.
    """
    try:
        owners = {directory.stat().st_uid, own_user()}
    except OSError:
        return None
    for place in (directory, *directory.parents):
        try:
            facts = os.lstat(place / ".git")
            is_shared = place != directory and bool(place.stat().st_mode & stat.S_IWOTH)
        except OSError:
            continue
        return place if facts.st_uid in owners and not is_shared else None
    return None


def find_repository(directory: Path) -> Repository | None:
    """The repository that `directory` is in; None where it is in none that may be looked at.

    A `.git` that is no repository ends the search: git would walk on, to whatever lies above. One that others own
    counts only where the user's own `safe.directory` says so, as git has it (git-config(1)).
    """
    top = git_root(directory)
    if top is None:
        return None
    top = Path(os.path.realpath(top))
    git_dir = _led_to(top / ".git", _GIT_FILE) if (top / ".git").is_file() else top / ".git"
    if git_dir is None:
        return None
    git_dir = Path(os.path.realpath(git_dir))
    common = _led_to(git_dir / "commondir") if (git_dir / "commondir").exists() else git_dir
    if common is None:
        return None
    found = Repository(top, git_dir, Path(os.path.realpath(common)))
    is_whole = found.head() and (found.common_dir / "objects").is_dir() and (found.common_dir / "refs").is_dir()
    return found if is_whole and not found.holds_up() and (_is_own(found) or _is_declared_safe(top)) else None


def _led_to(file: Path, begins: bytes = b"") -> Path | None:
    """The path in a file of git's, which loses line ends and nothing else (`read_gitfile` of git's setup.c)."""
    content = read_file(file)
    if content is None or not content.startswith(begins):
        return None
    named = os.fsdecode(content.removeprefix(begins).rstrip(b"\r\n"))
    return file.parent / named if named and "\0" not in named else None


def _is_own(repository: Repository) -> bool:
    owners = {own_user()}
    if own_user() == 0 and os.environ.get("SUDO_UID", "").isdecimal():
        owners.add(int(os.environ["SUDO_UID"]))
    places = (repository.top, repository.top / ".git", repository.git_dir, repository.common_dir)
    try:
        return all(os.lstat(place).st_uid in owners for place in places)
    except OSError:
        return False


def _is_declared_safe(top: Path) -> bool:
    """Whether the user's or the system's git settings name a directory of somebody else's as safe."""
    users = {name: os.environ.get(name) for name in ("HOME", "XDG_CONFIG_HOME")}
    users |= dict.fromkeys(("GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_GLOBAL"))
    found: list[str] = []
    with contextlib.suppress(ToolError, OSError), own_directory("hermes-git-") as folder, Git() as git:
        write_repository(folder)
        for scope in ("--system", "--global"):
            words = ("config", scope, "--null", "--get-all", "safe.directory")
            listed = git.run(*words, cwd=folder, git_dir=folder, variables=users, fine=(0, 1))
            found += listed.decode("utf-8", "surrogateescape").split("\0")[:-1]
    while "" in found:  # an empty one takes back those before it
        del found[: found.index("") + 1]
    wanted = {os.path.normpath(os.path.expanduser(each)) for each in found if each != "*"}  # noqa: PTH111 - git's `~`
    return "*" in found or str(top) in wanted


def write_repository(
    git_dir: Path,
    settings: Mapping[str, str] = MappingProxyType({}),
    *,
    objects: Sequence[Path] = (),
    head: bytes = b"ref: refs/heads/copy\n",
    is_bare: bool = True,
) -> None:
    """Write an empty repository with settings of ours; `git init` would read templates and settings of others.

    Args:
        git_dir: an empty directory, or none yet.
        settings: further ones, as `Repository.settings` has them.
        objects: directories of other repositories' objects, which it borrows.

    Raises:
        OSError: it cannot be written.
    """
    git_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in ("objects/info", "objects/pack", "refs/heads", "info"):
        (git_dir / name).mkdir(parents=True, exist_ok=True)
    if objects:
        lines = "".join(f"{path}\n" for path in objects)
        (git_dir / "objects" / "info" / "alternates").write_text(lines, encoding="utf-8", errors="surrogateescape")
    _write_settings(git_dir, settings, is_bare=is_bare)
    (git_dir / "HEAD").write_bytes(head)


@contextlib.contextmanager
def borrowed(repository: Repository, *, with_history: bool = False) -> Iterator[Path]:
    """A directory to be git's repository that shows what is in another one, for commands that only look.

    Args:
        with_history: also what its references were before, so that names like `-` and `stash@{1}` mean something.

    Raises:
        OSError: it cannot be made.
    """
    with own_directory("hermes-git-") as folder:
        _write_settings(folder, repository.settings(), is_bare=False)
        (folder / "HEAD").write_bytes(repository.head())
        for name in _LINKED:
            there = repository.common_dir / name
            if there.is_dir() or there.is_file():
                (folder / name).symlink_to(there)
        for path in repository.index_files():
            (folder / path.name).symlink_to(path)
        if with_history:
            _link_history(repository, folder)
        (folder / "info").mkdir()
        (folder / "info" / "exclude").write_bytes(excluded(repository))
        yield folder


def _link_history(repository: Repository, folder: Path) -> None:
    (folder / "logs").mkdir()
    if (repository.common_dir / "logs" / "refs").is_dir():
        (folder / "logs" / "refs").symlink_to(repository.common_dir / "logs" / "refs")
    for name in _OWN_REFERENCES:
        if (there := repository.git_dir / name).is_file():
            (folder / name).symlink_to(there)


def excluded(repository: Repository | None) -> bytes:
    """What the user ignores everywhere, and what a repository ignores without telling others (gitignore(5))."""
    files = [*ignored_everywhere(), *([repository.common_dir / "info" / "exclude"] if repository else [])]
    return b"\n".join((read_file(path) or b"")[:_LONGEST_EXCLUDE] for path in files) + b"\n"


def _write_settings(git_dir: Path, settings: Mapping[str, str], *, is_bare: bool) -> None:
    version = int(any(name.startswith("extensions.") for name in settings))
    lines = [f"[core]\n\trepositoryformatversion = {version}\n\tbare = {str(is_bare).lower()}\n"]
    for name, value in settings.items():
        section, _, key = name.partition(".")
        lines.append(f"[{section}]\n\t{key} = {value}\n" if value else f"[{section}]\n\t{key}\n")
    (git_dir / "config").write_text("".join(lines), encoding="utf-8")


class Git:
    """Runs git, confined where a sandbox works on this machine. Used as a context, which ends the sandbox.

    Args:
        writable: directories in which it may change files, resolved; none: it changes nothing.
        interrupt: ends what runs.
        advice: what to do where it fails, for the error.
    """

    def __init__(self, writable: Sequence[Path] = (), interrupt: Interrupt | None = None, advice: str = "") -> None:
        self._writable = tuple(writable)
        self.interrupt = interrupt
        self._advice = f" {advice}" if advice else ""
        self._sandbox: Sandbox | None = None
        self._is_ready = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the sandbox. A later run makes another."""
        if self._sandbox is not None:
            self._sandbox.close()
        self._sandbox, self._is_ready = None, False

    def run(
        self,
        *arguments: str,
        cwd: Path,
        git_dir: Path,
        work_tree: Path | None = None,
        given: bytes | None = None,
        fine: Collection[int] = (0,),
        variables: Mapping[str, str | None] = MappingProxyType({}),
        seconds: float = _SECONDS,
    ) -> bytes:
        """What git prints. Blocks for `seconds` at most.

        Args:
            git_dir: a repository that `borrowed` or `write_repository` made.
            given: its input.
            fine: with which statuses it has not failed.
            variables: others of its environment; None: without that one.

        Raises:
            ToolError: there is no git, or it failed; the text says why.
            ToolInterrupted: it was ended.
        """
        stdin = subprocess.DEVNULL if given is None else subprocess.PIPE
        try:
            process = self.start(
                *arguments, cwd=cwd, git_dir=git_dir, work_tree=work_tree, variables=variables,
                stdin=stdin, stderr=subprocess.PIPE,
            )  # fmt: skip
            printed, complained = self._to_its_end(process, given, seconds)
        except (OSError, subprocess.SubprocessError) as problem:
            raise ToolError(f"git {arguments[0]} could not be run: {problem}.{self._advice}") from problem
        if self.interrupt is not None and self.interrupt.is_set():
            raise ToolInterrupted
        if process.returncode not in fine:
            words = " ".join(complained.decode("utf-8", "replace").split())[:_LONGEST_COMPLAINT]
            why = words or f"status {process.returncode}"
            raise ToolError(f"git {arguments[0]} failed: {why}.{self._advice}")
        return printed

    def start(
        self,
        *arguments: str,
        cwd: Path,
        git_dir: Path,
        work_tree: Path | None = None,
        variables: Mapping[str, str | None] = MappingProxyType({}),
        **popen: Any,
    ) -> subprocess.Popen[bytes]:
        """Start git as the leader of a process group, its output on a pipe. Arguments as of `run`.

        Raises:
            ToolError: there is no git that may be run. OSError: it could not be started.
        """
        program = PROGRAMS.find("git")
        if program is None:
            raise ToolError(f"{PROGRAMS.missing('git')}{self._advice}")
        environ = {"PATH": PROGRAMS.search_path(), **_ENVIRONMENT, "GIT_DIR": str(git_dir)}
        if work_tree is not None:
            environ["GIT_WORK_TREE"] = str(work_tree)
        environ |= {name: value for name, value in variables.items() if value is not None}
        for name in (name for name, value in variables.items() if value is None):
            environ.pop(name, None)
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, **popen}
        apart = UNSEEN if sys.platform == "win32" else {"start_new_session": True}
        return self._popen([program, *_SETTINGS, *arguments], cwd=cwd, env=environ, **options, **apart)

    def _popen(self, arguments: Sequence[str], **popen: Any) -> subprocess.Popen[bytes]:
        if not self._is_ready:
            from tools.environments.sandbox.probe import make_sandbox  # noqa: PLC0415 - with the first git

            self._sandbox, self._is_ready = make_sandbox(), True
        if self._sandbox is None:
            return subprocess.Popen(arguments, **popen)
        confinement = Confinement("workspace-write" if self._writable else "read-only", self._writable)
        return self._sandbox.popen(arguments, confinement, **popen)

    def _to_its_end(
        self, process: subprocess.Popen[bytes], given: bytes | None, seconds: float
    ) -> tuple[bytes, bytes]:
        def kill() -> None:
            if process.poll() is None:
                signal_group(process.pid, SIGKILL)

        with process:
            forget = self.interrupt.on_cancel(kill) if self.interrupt is not None else None
            try:
                return process.communicate(given, timeout=seconds)
            except BaseException:
                kill()
                raise
            finally:
                if forget is not None:
                    forget()


# The files outside of a directory that say what git, and a search in it, pass over.

IGNORE_FILES = (".gitignore", ".ignore", ".rgignore", ".git/info/exclude")
_EXCLUDES = re.compile(rb"""(?im)^\s*excludesfile\s*=\s*"?\s*(\S+?)\s*"?\s*$""")
_MOST_OF_SETTINGS = 1 << 20


def ignore_files(folder: Path) -> Iterator[Path]:
    """The paths where they may be, in its parents and in the user's home, the latter resolved; most are not there."""
    for parent in folder.parents:
        yield from (parent / name for name in IGNORE_FILES)
    for config, names in _of_home():
        yield _resolved(config)
        yield from map(_resolved, names)


def ignored_everywhere() -> list[Path]:
    """The ignore files of the user's own that are there: they hold in every repository."""
    return [path for _, names in _of_home() for path in names if path.is_file()]


def _of_home() -> Iterator[tuple[Path, list[Path]]]:
    """Git's settings in the user's home, each with the ignore files that it names; first the usual one."""
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - a home that is not known is no error
    settings = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "git"
    yield settings / "ignore", [settings / "ignore"]
    for config in (home / ".gitconfig", settings / "config"):
        try:
            with config.open("rb") as stream:
                written = _EXCLUDES.findall(stream.read(_MOST_OF_SETTINGS))
        except OSError:
            written = []
        yield config, [Path(os.path.expanduser(os.fsdecode(name))) for name in written]  # noqa: PTH111 - as above


def _resolved(path: Path) -> Path:
    return Path(os.path.realpath(path))


# The state of a repository: branch, last commit, changes. Looked at once, for a short time.

_STATUS = (
    "--no-pager", "--literal-pathspecs", "status", "--porcelain=v2", "--branch", "--untracked-files=normal",
    "--ignore-submodules=all", "--no-renames",
)  # fmt: skip
_LAST = ("--no-pager", "log", "-1", "--no-decorate", "--no-color", "--format=%h %cs %s")
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
        last = _printed(git, repository, git_dir, _LAST, deadline)
        status = _printed(git, repository, git_dir, _STATUS, deadline)
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


def _printed(
    git: Git, repository: Repository, git_dir: Path, arguments: tuple[str, ...], deadline: float
) -> bytes | None:
    """What it prints; None where it fails, or is not done in time."""
    if sys.platform == "win32":
        return None
    left = max(deadline - time.monotonic(), 0.01)
    try:
        return git.run(*arguments, cwd=repository.top, git_dir=git_dir, work_tree=repository.top, seconds=left)
    except ToolError:
        return None


# The hosts of a workspace's git remotes, read from git's files as text: no program runs for it.
# They are read once, when the session begins: what a command writes into `.git/config` later allows it nothing.

_MOST_OF_CONFIG = 256 * 1024
_ADDRESS = re.compile(r"remote\..*\.(?:push)?url", re.DOTALL)


def remote_hosts(roots: Iterable[Path]) -> frozenset[str]:
    """Hosts that the repositories of these directories (or above them) fetch from by https on its usual port.

    Hosts that are not on the public internet by their name are left out: those ask.
    """
    return frozenset(host for root in roots for host in _hosts(_config(root)))


def _hosts(config: bytes) -> Iterator[str]:
    for name, value in all_settings(config):
        if not _ADDRESS.fullmatch(name) or not value.lower().startswith("https://"):
            continue
        try:
            parts = urlsplit(value)
            host = host_name(parts.hostname or "")
            is_usual = parts.port in {None, 443}
        except ValueError:
            continue
        if is_usual and inside_by_name(host) is None:
            yield host


def _config(root: Path) -> bytes:
    """The repository's settings as they are in its file, b"" where there is none."""
    repository = find_repository(root)
    return b"" if repository is None else read_file(repository.common_dir / "config", _MOST_OF_CONFIG) or b""
