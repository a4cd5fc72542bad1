"""How full the model's window is and what the session cost, from the agent's own updates, in a few words."""

from __future__ import annotations

from typing import Any

from acp_adapter.cli.client.client import Handler
from acp_adapter.cli.terminal.safe_text import one_line


class UsageWatch:
    """Takes note of `usage_update`, and passes everything on to `inner`. Implements `Handler`."""

    def __init__(self, inner: Handler) -> None:
        self._inner = inner
        self._last: dict[str, Any] = {}

    def words(self) -> str:
        """`12k of 200k tokens, $0.03`; '' where the agent said nothing."""
        said = ""
        match self._last:
            case {"used": int() as used, "size": int() as size} if used >= 0 and size > 0:
                from acp_adapter.export.words import count  # noqa: PLC0415 - not before there is something to tell

                said = f"{count(used)} of {count(size)} tokens"
        return ", ".join(part for part in (said, _price(self._last.get("cost"))) if part)

    def on_update(self, update: dict[str, Any], t: float) -> None:
        """Take note of it, and pass it on."""
        if update.get("sessionUpdate") == "usage_update":
            self._last = update
        self._inner.on_update(update, t)

    def on_permission(self, params: dict[str, Any], t: float) -> str | None:
        """Pass it on."""
        return self._inner.on_permission(params, t)

    def on_stray_line(self, line: str) -> None:
        """Pass it on."""
        self._inner.on_stray_line(line)


def _price(cost: Any) -> str:
    match cost:
        case {"amount": int() | float() as amount, "currency": str(currency)}:
            from acp_adapter.export.words import dollars  # noqa: PLC0415 - as above

            return dollars(amount) if currency == "USD" else f"{amount:.2f} {one_line(currency)}"
    return ""
