"""The capabilities that real editors advertise."""

from __future__ import annotations

from typing import Any

MINIMAL: dict[str, Any] = {}

PLAIN: dict[str, Any] = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}

JETBRAINS: dict[str, Any] = {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True}

ZED: dict[str, Any] = {
    "fs": {"readTextFile": True, "writeTextFile": True},
    "terminal": True,
    "auth": {"terminal": True},
    "session": {"configOptions": {"boolean": {}}},
    "elicitation": {"form": {}, "url": {}},
    "_meta": {"terminal_output": True, "terminal-auth": True},
}

PROFILES = {"plain": PLAIN, "zed": ZED, "jetbrains": JETBRAINS, "minimal": MINIMAL}
