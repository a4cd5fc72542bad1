"""What a hook in the background has to say, as news for its session."""

from __future__ import annotations

from collections.abc import Callable

from agent_core.background.news import News
from agent_core.services import SessionServices


def as_news(services: SessionServices) -> Callable[[str, str], None]:
    """A listener that puts what a hook says into the session's news: whose it is, and the text for the model."""

    def tell(source: str, text: str) -> None:
        services.news.put(News(source, "told", f"{source} has something to say", f"{source} says:\n{text}"))

    return tell
