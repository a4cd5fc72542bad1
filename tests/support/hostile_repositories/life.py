"""What a person does in a hostile repository, step by step, and what has run after each step."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any

from tests.support.delegating import delegates
from tests.support.editor import Editor
from tests.support.editor_policies import allow, reject
from tests.support.hostile_repositories.git_settings import DIFF, LOG, STATUS
from tests.support.hostile_repositories.site import Kind, Site

Opened = Callable[[], AbstractAsyncContextManager[Editor]]

_SECONDS = 30
_COMMAND_SECONDS = 2


def runs(command: str, **arguments: Any) -> str:
    """The line of a script that has the model run a command."""
    return f"call terminal {json.dumps({'command': command, **arguments})}"


_WAITING = "sleep 600"
_HELLO = "say hello"
_LOOKING = "read README.md\nread sums.py\nsearch Sums\nrun echo fine"
_OURS = {
    "read": "read README.md\nread sums.py",
    "search": "search Sums",
    "write": "write new.py x = 1",
    "undo": "/undo",
}
_ON_A_COPY = delegates("read README.md\nwrite new.txt n\nsay done", isolated=True)
_THE_MODELS = {
    "a command": "run echo fine",
    "background command": runs(_WAITING, background=True),
    # With these git does what it should not, if it reads the repository's settings.
    "git commands of the model": "\n".join(runs(text, timeout=_COMMAND_SECONDS) for text in (STATUS, DIFF, LOG)),
}


class Sprung(AssertionError):
    """The repository's program ran, or something hung; the text names each step in which it did."""


@dataclass(slots=True)
class Watch:
    """Looks after each step at what has run, and goes on, so that a failure names all steps."""

    site: Site
    failures: list[str] = field(default_factory=list)

    def look(self, step: str, *, strictly: bool = True) -> None:
        """Note whether something of the repository has run since the last look.

        Args:
            strictly: not even where it could write nothing. Commands of the model's may run it so.
        """
        site = self.site
        if site.is_sprung or (strictly and site.was_started):
            written = [str(mark.relative_to(site.base)) for mark in site.marks if os.path.lexists(mark)]
            self.failures.append(f"{step}: the program ran, and wrote {', '.join(written) or 'nothing'}")
        site.arm()

    async def prompt(self, editor: Editor, session: str, step: str, text: str, *, strictly: bool = True) -> None:
        """A prompt that is a step.

        Raises:
            Sprung: it hangs, so that nothing more can be tried in the session.
        """
        sent = editor.begin_prompt(session, text)
        if not (await asyncio.wait([sent], timeout=_SECONDS))[0]:
            self.failures.append(f"{step}: no answer in {_SECONDS} s")
            self.report()
        sent.result()
        self.look(step, strictly=strictly)

    def report(self) -> None:
        """Fail where there were failures.

        Raises:
            Sprung: there were.
        """
        if self.failures:
            raise Sprung("\n".join(self.failures))


async def refuse(params: Mapping[str, Any]) -> str:
    """Says no, but to waiting."""
    command = (params["toolCall"].get("rawInput") or {}).get("command", "")
    policy = allow if command == _WAITING else reject
    return str(await policy(dict(params)))


async def say_hello(opened: Opened, kind: Kind, site: Site) -> None:
    """A session is opened, its first prompt has the workspace looked at, and it ends.

    Raises:
        Sprung: the repository's program ran.
    """
    watch = Watch(site)
    async with opened() as editor:
        session = await _begin(editor, kind, watch)
        await watch.prompt(editor, session, "the first prompt", _LOOKING)
    watch.look("the end of the session")
    watch.report()


async def live(opened: Opened, kind: Kind, site: Site) -> None:
    """Everything that a session has is used, and it is loaded again.

    Raises:
        Sprung: the repository's program ran.
    """
    watch = Watch(site)
    async with opened() as editor:
        session = await _begin(editor, kind, watch)
        await watch.prompt(editor, session, "the first prompt", _HELLO)
        await editor.request("session/set_mode", {"sessionId": session, "modeId": "accept_edits"})
        for step, text in _OURS.items():
            await watch.prompt(editor, session, step, text)
        if kind.can_be_copied:
            await watch.prompt(editor, session, "sub-agent", _ON_A_COPY)
        for step, text in _THE_MODELS.items():
            await watch.prompt(editor, session, step, text, strictly=False)
    watch.look("the end of the session", strictly=False)
    async with opened() as editor:
        editor.on_permission = refuse
        await editor.initialize()
        await editor.load_session(session, kind.folder(site))
        watch.look("session/load")
        await watch.prompt(editor, session, "the first prompt after session/load", _HELLO)
    watch.look("the end of the loaded session")
    watch.report()


async def _begin(editor: Editor, kind: Kind, watch: Watch) -> str:
    editor.on_permission = refuse
    await editor.initialize()
    session = await editor.new_session(kind.folder(watch.site))
    watch.look("session/new")
    return session
