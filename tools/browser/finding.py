"""Whether there is a browser to use: the driver's package, and a program or an address."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
from pathlib import Path

from tools.browser.settings import CDP_URL, EXECUTABLE
from tools.environments.own_programs import PROGRAMS
from tools.extras import install_line

_NAMES = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
    "brave-browser",
)
_APPLICATIONS = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
)
# Where the driver puts browsers that it was told to download.
_DOWNLOADED = (".cache/ms-playwright", "Library/Caches/ms-playwright")
_PROGRAMS = ("chromium-*/chrome-linux*/chrome", "chromium-*/chrome-mac*/*.app/Contents/MacOS/*")


def find_chromium(environ: Mapping[str, str] | None = None) -> str | None:
    """The program: the one that BROWSER_EXECUTABLE names, the system's, or one that the driver downloaded."""
    variables = os.environ if environ is None else environ
    if named := variables.get(EXECUTABLE, "").strip():
        return PROGRAMS.find(named, variables.get("PATH"))
    search = variables.get("PATH")
    found = next((path for name in _NAMES if (path := PROGRAMS.find(name, search))), None)
    return found or next((path for path in _APPLICATIONS if os.access(path, os.X_OK)), None) or _downloaded(variables)


def missing() -> str:
    """What to do where there is none."""
    return (
        f"There is no browser here. The tools need the driver ({install_line('browser')}) and a Chromium: the "
        f"system's, one that {EXECUTABLE} names, or the address of a running one in {CDP_URL}."
    )


def can_browse() -> bool:
    """Whether the tools are offered. Nothing is imported or started for it."""
    if importlib.util.find_spec("playwright") is None:
        return False
    return bool(os.environ.get(CDP_URL, "").strip()) or find_chromium() is not None


def _downloaded(variables: Mapping[str, str]) -> str | None:
    own = variables.get("PLAYWRIGHT_BROWSERS_PATH", "")
    home = Path(variables.get("HOME") or "/nonexistent")
    for folder in [Path(own)] if own else [home / name for name in _DOWNLOADED]:
        for pattern in _PROGRAMS:
            found = sorted(path for path in folder.glob(pattern) if os.access(path, os.X_OK))
            if found:
                return str(found[-1])
    return None
