"""What a process takes of the system's memory."""

from __future__ import annotations

import asyncio
import platform
import re
from pathlib import Path

import pytest

from tests.e2e.conftest import EditorFactory

_ARENA = 64 << 20
"""Bytes that glibc reserves for an arena, at an address that is a multiple of them."""
_ANONYMOUS = re.compile(r"([0-9a-f]+)-[0-9a-f]+ rw-p 00000000 00:00 0 *$", re.MULTILINE)
_SESSIONS = 16


def _arenas(pid: int) -> int:
    """How many there are beside the first, which is the heap."""
    found = _ANONYMOUS.findall(Path(f"/proc/{pid}/maps").read_text(encoding="ascii"))
    return sum(int(begin, 16) % _ARENA == 0 for begin in found)


@pytest.mark.long
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have no arenas")
async def test_threads_share_few_arenas_also_where_many_sessions_begin_at_once(
    editor: EditorFactory, workspace: Path
) -> None:
    agent = await editor("--offline")
    await agent.initialize()
    assert agent.process is not None
    sessions = await asyncio.gather(*[agent.new_session(workspace) for _ in range(_SESSIONS)])
    await asyncio.gather(*[agent.prompt(session, "run echo one") for session in sessions])
    # Those of the few threads that there are before the first answer, and no more.
    assert _arenas(agent.process.pid) <= 4
