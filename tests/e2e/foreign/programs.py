"""Where the foreign programs are, and how one is run to its end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ACPX = HERE / "node_modules" / ".bin" / "acpx"
EVERYTHING = HERE / "node_modules" / ".bin" / "mcp-server-everything"
SERVER = (sys.executable, "-P", "-m", "acp_adapter")
OFFLINE = (*SERVER, "--offline")


def run(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a program that needs no input; it has 50 seconds."""
    return subprocess.run(
        words,
        check=False,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=50,
    )
