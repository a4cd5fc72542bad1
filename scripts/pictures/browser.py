"""Pages as a browser shows them."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_SIZE = "900,720"


def photograph(page: Path, picture: Path) -> bool:
    """Write what the page looks like; False where there is no browser."""
    browser = next(filter(None, map(shutil.which, _NAMES)), None)
    if browser is None:
        return False
    with tempfile.TemporaryDirectory(prefix="pictures-browser-") as profile:
        subprocess.run(
            [
                browser,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
                "--virtual-time-budget=2000",
                f"--user-data-dir={profile}",
                f"--window-size={_SIZE}",
                f"--screenshot={picture}",
                page.as_uri(),
            ],
            check=True,
            capture_output=True,
            timeout=60,
        )
    return True
