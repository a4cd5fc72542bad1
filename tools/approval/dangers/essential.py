"""The directories without which a machine or a person has nothing left, however they are spelled."""

from __future__ import annotations

import fnmatch
import posixpath
import re

from tools.approval.dangers.places import SYSTEM_FOLDERS, Scene, full_path, has_glob, is_below, is_home
from tools.bash.reading import UNKNOWN, Argument

_SECOND_LEVEL = (
    "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib64", "/usr/libexec", "/usr/local", "/usr/share",
    "/usr/include", "/var/lib", "/var/log", "/var/www", "/var/spool", "/var/backups", "/etc/ssh",
    "/etc/systemd", "/etc/pam.d", "/boot/efi", "/boot/grub", "/lib/modules", "/lib/systemd", "/usr/local/bin",
    "/usr/local/lib", "/System/Library",
)  # fmt: skip
_KEPT = frozenset({"/", *(f"/{name}" for name in SYSTEM_FOLDERS), *_SECOND_LEVEL})
_FOLDED = frozenset(path.casefold() for path in _KEPT)
_BROAD = re.compile(r"[.*?\[\]!^{},]*[*?\]][.*?\[\]!^{},]*")
_TEMPORARY = frozenset({"/tmp", "/var/tmp", "/private/tmp"})  # noqa: S108 - names, not used


def why_essential(argument: Argument, cwd: str | None, scene: Scene) -> str:
    """What would be gone with everything that `argument` names («the root directory»); '' for anything else."""
    path = full_path(argument.text, cwd)
    if path.startswith(UNKNOWN):
        return ""
    if not has_glob(argument):
        return _essential(path, scene)
    folder, name = posixpath.split(path)
    if not re.search(r"[*?\[]", folder) and _BROAD.fullmatch(name):
        return _essential(folder, scene)
    return next((_named(kept) for kept in sorted(_KEPT) if _matches(kept, path)), "")


def why_may_be_essential(argument: Argument) -> bool:
    """Whether nothing but an unknown part keeps `argument` from naming the root: `"$DIR"/*` where `DIR` is empty."""
    if UNKNOWN not in argument.text:
        return False
    rest = full_path(argument.text.replace(UNKNOWN, ""), None)
    return full_path(rest.partition("*")[0], None).casefold() in _FOLDED


def _essential(path: str, scene: Scene) -> str:
    if is_home(path, scene):
        return "a whole home directory"
    if path.casefold() in _FOLDED:
        return _named(path)
    return "the directory that holds the home" if is_below(scene.home, path) and path not in _TEMPORARY else ""


def _matches(kept: str, pattern: str) -> bool:
    parts, wanted = kept.split("/"), pattern.split("/")
    return len(parts) == len(wanted) and all(
        fnmatch.fnmatchcase(part, want) for part, want in zip(parts, wanted, strict=True)
    )


def _named(path: str) -> str:
    return "the root directory" if path == "/" else f"the system directory {path}"
