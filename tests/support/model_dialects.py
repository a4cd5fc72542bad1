"""The wire protocols that the fake model server speaks; the request's path chooses."""

from __future__ import annotations

from tests.support.model_chat import ChatDialect
from tests.support.model_replies import ServerDialect

DIALECTS: tuple[ServerDialect, ...] = (ChatDialect(),)


def dialect_for(path: str) -> ServerDialect | None:
    return next((dialect for dialect in DIALECTS if path.split("?", maxsplit=1)[0] == dialect.path), None)
