"""How large a request is, for the model that it goes to."""

from __future__ import annotations

import json
from collections.abc import Sequence

from agent_core.asking.view import rough_tokens
from agent_core.context.engine import WindowUse
from agent_core.messages import Message
from agent_core.providers.base import ModelRequest, Usage


class SessionMeter:
    """Estimates tokens, better with each request whose size the server has told. Used on one thread at a time."""

    def measure(self, messages: Sequence[Message]) -> int:
        """Tokens of messages as a model is shown them."""
        return rough_tokens(messages)

    def use(self, request: ModelRequest, window: int, model: str) -> WindowUse:  # noqa: ARG002
        """How full a window is with the whole request.

        Args:
            window: of the model, in tokens; 0 where it is not known.
            model: provider:model.
        """
        fixed = rough_tokens(request.messages[:1]) + len(json.dumps(request.tools)) // 4
        tokens = fixed + self.measure(request.messages[1:])
        return WindowUse(tokens, fixed, window, request.max_tokens or 0)

    def learn(self, request: ModelRequest, usage: Usage, model: str) -> None:
        """A model has answered the request, and its server has told how many tokens it was."""
