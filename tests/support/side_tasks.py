"""What tests of side tasks share: settings of models on fake servers, an alarm that waits for the test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agent_core.messages import user_message
from tests.support.model_server import ModelServer, Recorded, Status
from tests.support.wire_agents import KEY

SECOND_KEY = "sk-second-0123456789"
QUESTION = [user_message("Name this conversation.")]
PATHS = {"chat_completions": "chat/completions", "anthropic_messages": "messages", "codex_responses": "responses"}
LIMIT_FIELD = {
    "chat_completions": "max_tokens",
    "anthropic_messages": "max_tokens",
    "codex_responses": "max_output_tokens",
}


class ManualAlarm:
    """Rings when the test says so. Implements `Alarm`, and makes itself."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.ring: Callable[[], None] = lambda: None

    def __call__(self, seconds: float, ring: Callable[[], None]) -> ManualAlarm:
        self.seconds.append(seconds)
        self.ring = ring
        return self

    def start(self) -> None:
        pass

    def cancel(self) -> None:
        pass

    def join(self) -> None:
        pass


def at(server: ModelServer | str, protocol: str = "chat_completions", **more: Any) -> dict[str, Any]:
    """The settings of a model on this server, or at this address."""
    url = server if isinstance(server, str) else server.base_url
    return {"provider": "custom", "base_url": url, "api_key": KEY, "api_mode": protocol, **more}


def key_of(request: Recorded) -> str:
    """The key that came with a request."""
    return (request.headers.get("x-api-key") or request.headers["authorization"]).removeprefix("Bearer ")


def refusal(status: int, message: str = "no", headers: dict[str, str] | None = None, **more: Any) -> Status:
    """An error as servers write it; `more` are fields of it."""
    return Status(status, {"error": {"message": message, "type": "error", **more}}, headers or {})
