"""What draws on a terminal is loaded by the commands that do so, once they need it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.support.each import each

_LIBRARY = re.compile(r"\b(prompt_toolkit|rich|pygments|markdown_it)\b")


@each(
    "arguments",
    [
        [],
        ["--version"],
        ["--help"],
        ["chat", "--help"],
        ["prompt", "--help"],
        ["setup", "--help"],
        ["doctor", "--quick"],
        ["sessions", "list"],
        ["prompt", "--offline", "--approve", "none", "say hello"],
    ],
)
def test_where_nothing_is_drawn_nothing_is_loaded_for_it(arguments: list[str], home: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-X", "importtime", "-P", "-m", "acp_adapter", *arguments]
    ran = subprocess.run(command, input="", capture_output=True, text=True, timeout=50, check=False, cwd=tmp_path)
    assert "acp_adapter.entry" in ran.stderr
    assert not _LIBRARY.findall(ran.stderr)
