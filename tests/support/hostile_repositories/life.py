"""What a person does in a hostile repository, step by step, and what has run after each step."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

from tests.support.delegating import delegates
from tests.support.editor import Editor
from tests.support.editor_policies import pick
from tests.support.hostile_repositories.site import Kind, Site

Opened = Callable[[], AbstractAsyncContextManager[Editor]]

_SECONDS = 20
_HELLO = "say hello"
_LOOKING = "read README.md\nread sums.py\nsearch Sums\nrun echo fine"
_IN_THE_BACKGROUND = f"call terminal {json.dumps({'command': 'sleep 600', 'background': True})}"
_ON_A_COPY = delegates("read README.md\nwrite new.txt n\nsay done", isolated=True)
# With these git does what it should not, if it reads the repository's settings.
_SEEN_BY_GIT = "run git status\nrun git diff\nrun git log -1"


class Sprung(AssertionError):
    """The repository's program ran."""


def check(site: Site, step: str, *, strictly: bool = True) -> None:
    """Nothing of the repository has run.

    Args:
        strictly: not even where it could write nothing. Commands of the model's may run it so.
    """
    if site.is_sprung or (strictly and site.was_started):
        written = [str(mark.relative_to(site.base)) for mark in site.marks if mark.exists()]
        raise Sprung(f"{step} ran the repository's program (it wrote {', '.join(written) or 'nothing'})")


async def refuse(params: Mapping[str, Any]) -> str:
    """Says no, but to waiting."""
    command = (params["toolCall"].get("rawInput") or {}).get("command", "")
    return await pick(*(("allow_once",) if command == "sleep 600" else ()), "reject_once", "deny", "reject")(
        dict(params)
    )


async def say_hello(opened: Opened, kind: Kind, site: Site) -> None:
    """A session is opened, its first prompt has the workspace looked at, and it ends.

    Raises:
        Sprung: the repository's program ran.
    """
    async with opened() as editor:
        editor.on_permission = refuse
        await editor.initialize()
        session = await editor.new_session(kind.folder(site))
        check(site, "session/new")
        await editor.prompt(session, _LOOKING, timeout=_SECONDS)
        check(site, "the first prompt")
    check(site, "the end of the session")


async def live(opened: Opened, kind: Kind, site: Site) -> None:
    """Everything that a session has is used, and it is loaded again.

    Raises:
        Sprung: the repository's program ran.
    """
    async with opened() as editor:
        async for step, strictly in _first_day(editor, kind, site):
            check(site, step, strictly=strictly)
        session = next(iter(editor.opened))
    check(site, "the end of the session", strictly=False)
    site.arm()
    async with opened() as editor:
        editor.on_permission = refuse
        await editor.initialize()
        await editor.load_session(session, kind.folder(site))
        check(site, "session/load")
        await editor.prompt(session, _HELLO)
        check(site, "the first prompt after session/load")
    check(site, "the end of the loaded session")


async def _first_day(editor: Editor, kind: Kind, site: Site) -> AsyncIterator[tuple[str, bool]]:
    editor.on_permission = refuse
    await editor.initialize()
    session = await editor.new_session(kind.folder(site))
    yield "session/new", True
    await editor.prompt(session, _HELLO)
    yield "the first prompt", True
    await editor.request("session/set_mode", {"sessionId": session, "modeId": "accept_edits"})
    for step, prompt in {
        "read": "read README.md\nread sums.py",
        "search": "search Sums",
        "write": "write new.py x = 1",
        "undo": "/undo",
        "sub-agent": _ON_A_COPY,
    }.items():
        await editor.prompt(session, prompt, timeout=_SECONDS)
        yield step, True
    for step, prompt in {
        "a command": "run echo fine",
        "background command": _IN_THE_BACKGROUND,
        "git commands of the model": _SEEN_BY_GIT,
    }.items():
        await editor.prompt(session, prompt, timeout=_SECONDS)
        yield step, False
