"""Runs git for us: with no settings but ours, so that nothing in a repository can have it run a program."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Collection, Mapping
from pathlib import Path
from types import MappingProxyType

from tools.context import Interrupt
from tools.environments.process_groups import UNSEEN
from tools.errors import ToolError, ToolInterrupted

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
NO_VARIABLES: Mapping[str, str] = MappingProxyType({})
_SECONDS = 120.0
_LONGEST_TOLD = 300


def git(
    *arguments: str,
    cwd: Path,
    interrupt: Interrupt | None = None,
    variables: Mapping[str, str] = NO_VARIABLES,
    given: bytes | None = None,
    advice: str = "Leave out isolated.",
    fine: Collection[int] = (0,),
) -> bytes:
    """What git prints. Blocks for two minutes at most.

    Args:
        interrupt: ends it at once; None: nobody does.
        variables: more of its environment, as GIT_DIR.
        given: its input.
        advice: what to do where it fails, for the error.
        fine: with which statuses it has not failed.

    Raises:
        ToolError: there is no git, or it failed; the text says with which words.
        ToolInterrupted: it was ended.
    """
    environ = {"PATH": os.environ.get("PATH", os.defpath), **_ENVIRONMENT, **variables}
    try:
        process = subprocess.Popen(
            ["git", *_SETTINGS, *arguments],
            cwd=cwd,
            env=environ,
            stdin=subprocess.DEVNULL if given is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **UNSEEN,
        )
        printed, complained = _to_its_end(process, given, interrupt)
    except (OSError, subprocess.SubprocessError) as problem:
        raise ToolError(f"git {arguments[0]} could not be run: {problem}. {advice}") from problem
    if interrupt is not None and interrupt.is_set():
        raise ToolInterrupted
    if process.returncode not in fine:
        words = " ".join(complained.decode("utf-8", "replace").split())[:_LONGEST_TOLD]
        raise ToolError(f"git {arguments[0]} failed: {words or f'status {process.returncode}'}. {advice}")
    return printed


def _to_its_end(
    process: subprocess.Popen[bytes], given: bytes | None, interrupt: Interrupt | None
) -> tuple[bytes, bytes]:
    with process:
        forget = interrupt.on_cancel(process.kill) if interrupt is not None else None
        try:
            return process.communicate(given, timeout=_SECONDS)
        except BaseException:
            process.kill()
            raise
        finally:
            if forget is not None:
                forget()
