"""The plain action that a kind of hostile repository is made for, in a namespace that is thrown away."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.hostile_repositories.site import SYSTEM_PATH, Kind, Site

SECONDS = 30


def run_plainly(site: Site, kind: Kind, command: str | None = None) -> str:
    """Run the kind's control, or another command in its place, where only the site can be written; what it printed.

    There is no network, and no process of this machine. `site.is_sprung` says afterwards what came of it.
    """
    ours = str(Path(sys.executable).parent)
    variables = {
        "HOME": str(site.user),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "TERM": "xterm",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_AUTHOR_NAME": "Tester",
        "GIT_COMMITTER_NAME": "Tester",
        "EMAIL": "tester@example.com",
        **kind.environment(site),
        "PATH": kind.search_path(site, f"{SYSTEM_PATH}:{ours}"),
    }
    sets = [part for name, value in variables.items() for part in ("--setenv", name, value)]
    arguments = [
        "bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--clearenv",
        "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp",
        "--bind", str(site.base), str(site.base), "--chdir", str(kind.folder(site)),
        *sets, "/bin/bash", "-c", command or kind.control,
    ]  # fmt: skip
    done = subprocess.run(
        arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS,
        check=False,
    )  # fmt: skip
    return done.stdout.decode(errors="replace")
