r"""Paths of a Windows editor that has started us inside WSL: Linux paths in here, Windows paths on the wire.

Such an editor says `C:\Users\me\project` or `\\wsl$\Ubuntu\home\me`, and opens what it is shown by such paths.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from tools.light_dataclass import dataclass

_KERNEL = Path("/proc/sys/kernel/osrelease")
_SETTINGS = Path("/etc/wsl.conf")
_MOUNTS = re.compile(
    r"^\s*\[automount\][^\[]*?^\s*root\s*=\s*\"?([^\"\s#]+)", re.MULTILINE | re.IGNORECASE | re.DOTALL
)
_DRIVE = re.compile(r"([A-Za-z]):(?:[\\/]|\Z)")
_SHARE = re.compile(r"[\\/]{2}(wsl\$|wsl\.localhost)[\\/]([^\\/]+)(?=[\\/]|\Z)", re.IGNORECASE)
_DRIVE_ADDRESS = re.compile(r"file:/{2,3}([A-Za-z])(?::|%3A)(?=/|\Z)", re.IGNORECASE)
_SHARE_ADDRESS = re.compile(r"file:/{2,4}(wsl(?:\$|%24)|wsl\.localhost)/([^/]+)(?=/|\Z)", re.IGNORECASE)
_PATHS = frozenset({"cwd", "path", "additionalDirectories"})
# Of an MCP server; what we send under that name is for a shell.
_RECEIVED_PATHS = _PATHS | {"command"}

_Mapping = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Wsl:
    """The WSL that we are in.

    Attributes:
        distribution: what Windows calls it.
        mounts: where its drives are, with a slash at its end.
    """

    distribution: str
    mounts: str = "/mnt/"


def find_wsl(
    environ: Mapping[str, str] | None = None, kernel: Path = _KERNEL, settings: Path = _SETTINGS
) -> Wsl | None:
    """The WSL that this process is in; None outside."""
    variables = os.environ if environ is None else environ
    name = variables.get("WSL_DISTRO_NAME", "")
    if not name and "microsoft" not in _text(kernel).lower():
        return None
    mounts = _MOUNTS.search(_text(settings))
    return Wsl(name, f"{mounts[1].rstrip('/') if mounts else '/mnt'}/")


class WslPaths:
    """Maps the paths of one connection, that began with the directory `first`."""

    def __init__(self, wsl: Wsl, first: str) -> None:
        self._wsl = wsl
        share = _SHARE.match(first)
        # It is shown the form that it uses itself.
        self._share = share[1] if share else "wsl.localhost"

    def ours(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """What the editor says, with our paths."""
        changed: dict[str, Any] = _walked(params, _RECEIVED_PATHS, self._ours, self._our_address)
        return changed

    def theirs(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        """A message of ours, with the editor's paths."""
        changed: Mapping[str, Any] = _walked(message, _PATHS, self._theirs, self._their_address)
        return changed

    def _ours(self, text: str) -> str:
        if drive := _DRIVE.match(text):
            return f"{self._wsl.mounts}{drive[1].lower()}/{text[2:].lstrip('/' + chr(92)).replace(chr(92), '/')}"
        share = _SHARE.match(text)
        if share is None or not self._is_own(share[2]):
            return text
        return text[share.end() :].replace("\\", "/") or "/"

    def _theirs(self, text: str) -> str:
        if not text.startswith("/"):
            return text
        mounted = text.removeprefix(self._wsl.mounts)
        if mounted != text and re.match(r"[a-z](?:/|\Z)", mounted):
            return f"{mounted[0].upper()}:\\{mounted[2:].replace('/', chr(92))}"
        if not self._wsl.distribution:
            return text
        return f"\\\\{self._share}\\{self._wsl.distribution}{text.replace('/', chr(92))}"

    def _our_address(self, text: str) -> str:
        if drive := _DRIVE_ADDRESS.match(text):
            return f"file://{self._wsl.mounts}{drive[1].lower()}{text[drive.end() :] or '/'}"
        share = _SHARE_ADDRESS.match(text)
        if share is not None and self._is_own(unquote(share[2])):
            return f"file://{text[share.end() :] or '/'}"
        return self._ours(text)

    def _their_address(self, text: str) -> str:
        if not text.startswith("file:///"):
            return self._theirs(text)
        path = text.removeprefix("file://")
        mounted = path.removeprefix(self._wsl.mounts)
        if mounted != path and re.match(r"[a-z](?:/|\Z)", mounted):
            return f"file:///{mounted[0].upper()}:/{mounted[2:]}"
        if not self._wsl.distribution:
            return text
        return f"file://{quote(self._share)}/{quote(self._wsl.distribution)}{path}"

    def _is_own(self, distribution: str) -> bool:
        own = self._wsl.distribution
        return not own or distribution.lower() == own.lower()


def _walked(value: Any, paths: Collection[str], path: _Mapping, address: _Mapping) -> Any:
    """The value with what stands under these names mapped, and addresses under `uri`."""
    if isinstance(value, list):
        return [_walked(item, paths, path, address) for item in value]
    if not isinstance(value, Mapping):
        return value
    mapped: dict[str, Any] = {}
    for key, inner in value.items():
        change = path if key in paths else address if key == "uri" else None
        if change is not None and isinstance(inner, str):
            mapped[key] = change(inner)
        elif change is not None and isinstance(inner, list):
            mapped[key] = [change(item) if isinstance(item, str) else item for item in inner]
        else:
            mapped[key] = _walked(inner, paths, path, address)
    return mapped


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
