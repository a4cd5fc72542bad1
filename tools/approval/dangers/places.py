"""Where a path of a command leads: text alone, no disk."""

from __future__ import annotations

import os
import posixpath
import re
from pathlib import Path
from typing import Literal

from tools.approval.dangers.words import shown
from tools.approval.persistence_paths import run_later
from tools.approval.sensitive import why_sensitive
from tools.bash.reading import UNKNOWN, Argument, Invocation
from tools.light_dataclass import dataclass

Kind = Literal[
    "nothing", "disk", "device", "network", "own", "sensitive", "startup", "inside", "temporary", "system", "outside",
    "unknown",
]  # fmt: skip
"""What is at a place. «inside» is below the roots and nothing special; «unknown» is anywhere."""

SYSTEM_FOLDERS = (
    "bin", "boot", "dev", "etc", "home", "lib", "lib32", "lib64", "libx32", "opt", "proc", "root", "run",
    "sbin", "srv", "sys", "usr", "var", "mnt", "media", "snap", "nix", "Users", "System", "Library",
    "Applications", "private", "Volumes", "cores",
)  # fmt: skip
_SYSTEM = re.compile(
    r"/(?:bin|boot|dev|etc|lib\w*|opt|proc|root|run|sbin|srv|sys|usr|var|snap|nix|System|Library"
    r"|Applications|private)(?:/|$)",
    re.IGNORECASE,
)
_TEMPORARY = re.compile(r"(?:/private)?(?:/tmp|/var/tmp|/var/folders/[^/]+/[^/]+|/dev/shm)(?:/|$)", re.IGNORECASE)
_STREAMS = re.compile(r"/dev/(?:null|zero|full|stdin|stdout|stderr|tty|fd/\d+)|/proc/self/fd/[012]")
_DISK = re.compile(
    r"/dev/(?:sd|hd|vd|xvd|nvme|mmcblk|r?disk|dm-|md\d|loop|mapper/|sr\d|zd\d|sg\d|ram\d|mtd|nbd|by-|mem|kmem|port"
    r"|disk/|block/|pmem|root\b)"
)
_NETWORK = re.compile(r"/dev/(?:tcp|udp)/")
_HOME = re.compile(r"/home/[^/]+|/Users/[^/]+|/root|/var/root", re.IGNORECASE)
_OWN = re.compile(r"(?:^|/)\.hermes(?:/|$)", re.IGNORECASE)
OTHER_MACHINES = frozenset({
    "ssh", "autossh", "slogin", "rsh", "mosh", "pssh", "parallel-ssh", "prsh", "pdsh", "clush", "dsh",
    "mussh",
})  # fmt: skip
"""Programs that run a command on other machines, one or many."""
_GLOB = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class Scene:
    """Where a command runs.

    Attributes:
        roots: what the session may change, absolute and without a slash at the end.
        home: the person's own directory.
        own: our directory, "" where it is below `.hermes` as usual.
        is_placed: whether anybody said where the command runs; `roots` is made up otherwise.
    """

    roots: tuple[str, ...]
    home: str
    own: str = ""
    is_placed: bool = True


@dataclass(frozen=True, slots=True)
class Place:
    """Where a path leads. `path` is normal and absolute as far as it is known; `why` follows "which".

    Attributes:
        is_run_later: others run it later.
    """

    kind: Kind
    path: str
    why: str = ""
    is_run_later: bool = False

    @property
    def shown(self) -> str:
        """For a person to read."""
        return shown(self.path)


def is_on_a_machine(call: Invocation) -> bool:
    """Whether `call` runs on a whole machine, this one or another, and not in a container."""
    return not call.elsewhere or not OTHER_MACHINES.isdisjoint(call.via)


def full_path(text: str, cwd: str | None) -> str:
    """`text` as a normal path, absolute where that can be told; it starts with `UNKNOWN` where it cannot."""
    text = text.removeprefix("file://")
    if text.startswith("~"):
        name, slash, rest = text[1:].partition("/")
        text = f"/home/{name}{slash}{rest}" if name else f"{os.path.expanduser('~')}{slash}{rest}"  # noqa: PTH111
    if text.startswith(UNKNOWN):
        return text
    path = posixpath.normpath(posixpath.join(UNKNOWN if cwd is None else cwd, text))
    return path[1:] if path.startswith("//") else path


def is_below(path: str, folder: str) -> bool:
    """Whether `path` is `folder` or inside it."""
    return path == folder or path.startswith("/" if folder == "/" else f"{folder}/")


def is_home(path: str, scene: Scene) -> bool:
    """Whether a whole home directory is at `path`: the person's own, or anybody's."""
    return path == scene.home or _HOME.fullmatch(path) is not None


def place_of(argument: Argument, cwd: str | None, scene: Scene) -> Place:
    """What a program that writes to `argument` would write to."""
    path = full_path(argument.text, cwd)
    if _STREAMS.fullmatch(path):
        return Place("nothing", path)
    if _NETWORK.match(path):
        return Place("network", path)
    if path.startswith("/dev/") and not _TEMPORARY.match(path):
        return Place("disk" if _DISK.match(path) else "device", path)
    if is_own(path, scene):
        return Place("own", path)
    named = Path(path.replace("\0", ""))
    runs = run_later(named)
    if why := why_sensitive(named):
        is_started = runs is not None and not runs.is_read and _is_elsewhere(path, scene)
        return Place("startup" if is_started else "sensitive", path, why, "/.git" in path)
    if runs is not None:
        return Place("startup" if _is_elsewhere(path, scene) else "sensitive", path, runs.why, is_run_later=True)
    # Behind a `cd` that nobody can follow a relative path is as good as one in the directory.
    is_followed = cwd is not None or argument.text.startswith(("/", "~", UNKNOWN))
    return Place(_plain_kind(path, scene) if is_followed else "inside", path)


def _plain_kind(path: str, scene: Scene) -> Kind:
    if any(is_below(path, root) for root in scene.roots):
        return "inside"
    if _TEMPORARY.match(path):
        return "temporary"
    if path.startswith(UNKNOWN):
        return "unknown" if path == UNKNOWN else "inside"
    return "system" if _SYSTEM.match(path) or path == "/" else "outside"


def is_own(path: str, scene: Scene) -> bool:
    """Whether our settings or sessions are there."""
    return bool(_OWN.search(path)) or (bool(scene.own) and is_below(path, scene.own))


def _is_elsewhere(path: str, scene: Scene) -> bool:
    return not (_TEMPORARY.match(path) or any(is_below(path, root) for root in scene.roots))


def has_glob(argument: Argument) -> bool:
    """Whether the shell makes names of it that are not written."""
    return argument.expands and _GLOB.search(argument.text) is not None
