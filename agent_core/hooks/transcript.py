"""The session's conversation as a file, in the form that the community's hooks read: a line of JSON a message."""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from agent_core.errors import StoreError, UnknownSession
from agent_core.messages import Content, Message
from tools.os_compat import O_NOFOLLOW

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
