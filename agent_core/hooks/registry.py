"""The hooks of one process's sessions, and the transcript file that they may read."""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from agent_core.config import ConfigSource
from agent_core.errors import SettingsError, StoreError, UnknownSession
from agent_core.hooks.hook import Hook, HookFailed, bounded
from agent_core.hooks.session_hooks import HookedSession, HookSet, SessionHooks
from agent_core.messages import Content, Message
from agent_core.plugins.discovery import HOOKS, ProjectPlugins
from agent_core.plugins.plugins import Plugins
from agent_core.providers.resolve import variables_named
from agent_core.remote.target import OwnVariables
from agent_core.settings.hooks import HooksPart
from tools.environments.guardian import Guardian
from tools.os_compat import O_NOFOLLOW

# The session's conversation as a file, in the form that the community's hooks read: a line of JSON a message.

log = logging.getLogger(__name__)


class Transcript:
    """Of one session; written when a hook is told of it, and then only what is new. Safe to use from several threads.

    Args:
        path: the file; its directory is made with it.
        session_id: the session's.
        messages: the conversation as it is stored.
    """

    def __init__(self, path: Path, session_id: str, messages: Callable[[], Sequence[Message]]) -> None:
        self._path = path
        self._session_id = session_id
        self._messages = messages
        self._lock = threading.Lock()
        self._written: list[Message] = []
        self._size = 0

    def current(self) -> str:
        """The file's path, with all that is stored in it; '' where it cannot be read or written. May block."""
        with self._lock:
            try:
                messages = list(self._messages())
                goes_on = messages[: len(self._written)] == self._written and self._is_whole()
                self._write(messages[len(self._written) :] if goes_on else messages, anew=not goes_on)
            except UnknownSession:
                return ""
            except (StoreError, OSError):
                log.warning("the transcript of session %s could not be written", self._session_id, exc_info=True)
                return ""
            self._written = messages
            return str(self._path)

    def _is_whole(self) -> bool:
        """Whether the file is as it was left: a full disk may have cut a line, and hooks can write to it."""
        return self._path.exists() and self._path.stat().st_size == self._size

    def _write(self, messages: Iterable[Message], *, anew: bool) -> None:
        text = "".join(f"{json.dumps(self._entry(message), ensure_ascii=False)}\n" for message in messages)
        if not text and not anew:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        data = text.encode("utf-8", "replace")
        # A file without what was undone takes its place: who reads it meanwhile reads the old one.
        target = self._path.with_suffix(".new") if anew else self._path
        how = os.O_WRONLY | os.O_CREAT | O_NOFOLLOW | (os.O_TRUNC if anew else os.O_APPEND)
        with open(os.open(target, how, 0o600), "wb") as file:  # noqa: PTH123 - it is a descriptor
            file.write(data)
        if anew:
            target.replace(self._path)
        self._size = self._path.stat().st_size

    def _entry(self, message: Message) -> dict[str, Any]:
        role = "assistant" if message["role"] == "assistant" else "user"
        told = {"role": role, "content": _blocks(message)}
        return {"type": role, "sessionId": self._session_id, "message": told}


def _blocks(message: Message) -> str | list[dict[str, Any]]:
    content = message["content"]
    if message["role"] == "tool":
        result = {"type": "tool_result", "tool_use_id": message.get("tool_call_id", ""), "content": _text(content)}
        return [result]
    if message["role"] == "user" and isinstance(content, str):
        return content
    blocks = [{"type": "text", "text": text}] if (text := _text(content)) else list[dict[str, Any]]()
    for call in message.get("tool_calls", ()):
        function = call["function"]
        given = _arguments(function["arguments"])
        blocks.append({"type": "tool_use", "id": call["id"], "name": function["name"], "input": given})
    return blocks


def _text(content: Content | None) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(part["text"] if part["type"] == "text" else f"[{part['type']}]" for part in content)


def _arguments(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:  # as the model wrote them
        return text


# The hooks: made with their workspaces, told of their end.

_END_SECONDS = 3.0


class HookSessions:
    """By session; safe to use from several threads."""

    def __init__(
        self,
        config: ConfigSource,
        plugins: Plugins,
        guardian: Guardian,
        transcript_of: Callable[[str], Transcript | None] = lambda _: None,
    ) -> None:
        """Make it.

        Args:
            guardian: sees to it that no command of a hook outlives this process.
            transcript_of: a session's conversation as a file.
        """
        self._config = config
        self._plugins = plugins
        self._guardian = guardian
        self._transcript_of = transcript_of
        self._live: dict[str, SessionHooks] = {}
        self._listeners: dict[str, Callable[[str, str], None]] = {}
        self._lock = threading.Lock()

    def of(self, session_id: str, cwd: Path, mode: Callable[[], str]) -> SessionHooks:
        """The hooks of a session in `cwd`, not looked for yet.

        Args:
            session_id: '' for one whose end nobody tells of.
            mode: its permission mode.
        """

        def tell_later(source: str, text: str) -> None:
            listener = self._listeners.get(session_id)
            if listener is not None:
                listener(source, text)

        transcript = self._transcript_of(session_id)
        session = HookedSession(session_id, cwd, mode, tell_later, transcript.current if transcript else str)
        hooks = SessionHooks(session, lambda: self._found(cwd))
        if session_id:
            with self._lock:
                self._live[session_id] = hooks
        return hooks

    def listen(self, session_id: str, listener: Callable[[str, str], None]) -> None:
        """Have `listener` told what hooks in the background have to say to the session's model: whose it is, and the
        text; on any thread.
        """
        self._listeners[session_id] = listener

    def before_compression(self, session_id: str, *, by_person: bool, topic: str) -> None:
        """A session's conversation is about to be compressed; see `SessionHooks.before_compression`."""
        hooks = self._live.get(session_id)
        if hooks is not None:
            hooks.before_compression(by_person=by_person, topic=topic)

    def end(self, session_id: str, reason: str = "other") -> None:
        """A session is closed or let go of. Blocks for seconds where its hooks hang."""
        self._listeners.pop(session_id, None)
        with self._lock:
            hooks = self._live.pop(session_id, None)
        if hooks is None or not hooks.has("session_end"):
            return
        try:
            bounded(lambda: hooks.end_session(reason), _END_SECONDS, None, "hooks at a session's end")
        except HookFailed as problem:
            log.warning("the hooks at the end of session %s: it %s", session_id, problem)

    def end_all(self) -> None:
        """The program ends. Blocks for seconds at most."""
        threads = [
            threading.Thread(target=self.end, args=(session_id, "exit"), daemon=True)
            for session_id, hooks in list(self._live.items())
            if hooks.has("session_end")
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(_END_SECONDS)

    def _found(self, cwd: Path) -> HookSet:
        """The hooks that count now in a session in `cwd`: the settings', the plugins', the project's."""
        project = self._plugins.project(cwd)
        project.look()
        try:
            settings = self._config.load().settings.hooks
        except SettingsError:  # it is told where the settings are needed; no turn comes so far
            settings = HooksPart()
        found = list(self._plugins.hooks())
        if settings.commands:
            found = [*self._commands(settings, "config.yaml", {}), *found]
        if project.brings_something:
            found += [hook for status in project.loaded for hook in status.offers.hooks]
            found += self._of_project(project)
        return HookSet(tuple(found), settings.may_allow, settings.max_continues)

    def _commands(self, settings: HooksPart, where: str, extra: Mapping[str, str]) -> Iterator[Hook]:
        from agent_core.hooks.command_hooks import CommandRunner, command_hooks  # noqa: PLC0415 - for those who have some

        runner = CommandRunner(self._guardian, self._variables, extra)
        yield from command_hooks(settings.commands, where, runner)

    def _of_project(self, project: ProjectPlugins) -> Iterator[Hook]:
        copy = project.hooks_copy()
        if copy is None:
            return
        from agent_core.hooks.command_hooks import read_hooks  # noqa: PLC0415 - few projects have some

        try:
            settings = read_hooks(copy)
        except HookFailed as problem:
            log.warning("the hooks of %s: %s", project.root, problem)
            return
        where = f"{HOOKS}/ of {project.root.name}"
        yield from self._commands(settings, where, {"HERMES_HOOKS_DIR": str(copy)})

    def _variables(self) -> Mapping[str, str]:
        """This process's variables, without those that the settings take keys from."""
        try:
            hidden = variables_named(self._config.load().settings)
        except SettingsError:
            hidden = frozenset()
        return OwnVariables(hidden)
