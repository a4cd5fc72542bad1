"""The paths of a message as the editor has them, and as we have them: the same, but for a Windows editor and WSL.

The mapping begins with the first directory that is a path of Windows. An editor that speaks Linux paths, as one does
that has a helper of its own inside WSL, never sees any of it. Imports are late: the first answer waits for this.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from acp_adapter.wsl_paths import Wsl, WslPaths


class EditorPaths:
    """Maps the paths of one connection. `incoming` and `outgoing` may run on different threads."""

    def __init__(self, find: Callable[[], Wsl | None] | None = None) -> None:
        """`find` tells which WSL we are in; the machine's own when None."""
        self._find = find
        self._mapping: WslPaths | None = None
        self._looked = False

    def incoming(self, message: dict[str, Any]) -> dict[str, Any]:
        """A message of the editor, with our paths."""
        params = message.get("params")
        if not isinstance(params, dict):
            return message
        if self._mapping is None and not self._looked and _is_of_windows(params.get("cwd")):
            self._mapping = self._begun(params["cwd"])
            self._looked = True
        return message if self._mapping is None else {**message, "params": self._mapping.ours(params)}

    def outgoing(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        """A message of ours, with the editor's paths."""
        return message if self._mapping is None else self._mapping.theirs(message)

    def _begun(self, first: str) -> WslPaths | None:
        from acp_adapter.wsl_paths import WslPaths, find_wsl  # noqa: PLC0415 - few editors need it

        wsl = (self._find or find_wsl)()
        return None if wsl is None else WslPaths(wsl, first)


def _is_of_windows(path: object) -> bool:
    return isinstance(path, str) and (path[1:3] in {":", ":\\", ":/"} or path[:2] in {"\\\\", "//"})
