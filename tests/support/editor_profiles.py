"""The capabilities that real editors advertise."""

from __future__ import annotations

from collections.abc import Mapping
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

COLLAPSING: dict[str, Any] = {"fs": {"readTextFile": True, "writeTextFile": True}}
"""What CodeCompanion offers, which has one button for each kind of answer."""

FIRST_TITLE: dict[str, Any] = {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": False}
"""What agentic.nvim offers, whose cards keep their first title."""

EVERY_PROFILE = {**PROFILES, "collapsing": COLLAPSING, "first title": FIRST_TITLE}

SHOWS_NAMES: dict[str, Any] = {**PLAIN, "_meta": {"hermes": {"optionNames": True}}}
"""`PLAIN` that says it shows the names of answers."""


def name_of(profile: Mapping[str, Any]) -> str:
    """What the editor calls itself that offers so much."""
    if (profile.get("_meta") or {}).get("terminal_output"):
        return "zed"
    if profile.get("terminal"):
        return "JetBrains.IntelliJ IDEA"
    if profile == FIRST_TITLE:
        return "Agentic.nvim"
    return "CodeCompanion.nvim" if profile == COLLAPSING else "fake-editor"
