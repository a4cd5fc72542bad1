"""Runs git for us: with no settings but ours, so that nothing in a repository can have it run a program."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tools.errors import ToolError

_SETTINGS = (
    "-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}", "-c", "core.autocrlf=false",
    "-c", "core.quotePath=false", "-c", "protocol.allow=never", "-c", "gc.auto=0", "-c", "maintenance.auto=false",
    "-c", "commit.gpgSign=false", "-c", "advice.addEmbeddedRepo=false", "-c", "init.defaultBranch=copy",
)  # fmt: skip
_ENVIRONMENT = {
    "LC_ALL": "C",
    "HOME": os.devnull,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_AUTHOR_NAME": "hermes-acp",
    "GIT_AUTHOR_EMAIL": "hermes-acp@localhost",
    "GIT_COMMITTER_NAME": "hermes-acp",
    "GIT_COMMITTER_EMAIL": "hermes-acp@localhost",
}
_SECONDS = 120.0
_LONGEST_TOLD = 300


def git(*arguments: str, cwd: Path, **variables: str) -> bytes:
    """What git prints. Blocks for two minutes at most.

    Args:
        variables: more of its environment, as GIT_DIR.

    Raises:
        ToolError: there is no git, or it failed; the text says with which words.
    """
    environ = {"PATH": os.environ.get("PATH", os.defpath), **_ENVIRONMENT, **variables}
    try:
        done = subprocess.run(
            ["git", *_SETTINGS, *arguments],
            cwd=cwd,
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as problem:
        raise ToolError(f"git {arguments[0]} could not be run: {problem}. Leave out isolated.") from problem
    if done.returncode != 0:
        words = " ".join(done.stderr.decode("utf-8", "replace").split())[:_LONGEST_TOLD]
        raise ToolError(f"git {arguments[0]} failed: {words or f'status {done.returncode}'}. Leave out isolated.")
    return done.stdout
