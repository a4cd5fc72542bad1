"""Watches that each request begins with the whole of the one before: servers keep that part, and it costs a tenth."""

from __future__ import annotations

import logging
from dataclasses import field

from agent_core.messages import Message
from agent_core.providers.base import ModelRequest
from tools.light_dataclass import dataclass

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Seen:
    tools: tuple[object, ...]
    messages: tuple[Message, ...]


@dataclass(slots=True)
class PrefixWatch:
    """Counts, for a session, the requests that do not begin with the whole of their model's last one.

    Attributes:
        breaks: the cause of each, in order: what was announced with `expect`, or «unexpected».
    """

    breaks: list[str] = field(default_factory=list)
    _last: dict[str, _Seen] = field(default_factory=dict)
    _expected: dict[str, str] = field(default_factory=dict)

    def expect(self, cause: str) -> None:
        """The next request may differ, and why."""
        self._expected = dict.fromkeys(self._last, cause)

    def see(self, model: str, request: ModelRequest) -> None:
        """A request is about to be sent to `model` (each model's server keeps a prefix of its own)."""
        now = _Seen(tuple(request.tools), tuple(request.messages))
        before = self._last.get(model)
        self._last[model] = now
        cause = self._expected.pop(model, None)
        if before is None or _extends(now, before):
            return
        self.breaks.append(cause or "unexpected")
        if cause is None:
            log.warning("the request to %s does not begin with the one before it; the server's cache is lost", model)


def _extends(now: _Seen, before: _Seen) -> bool:
    return now.messages[: len(before.messages)] == before.messages and now.tools == before.tools
