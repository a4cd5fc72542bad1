"""The web: what may be asked of it, what comes back, and how a page becomes text for a model."""

from __future__ import annotations

import importlib.util


def can_read_html() -> bool:
    """Whether the libraries that read pages are installed."""
    return all(importlib.util.find_spec(name) is not None for name in ("html_to_markdown", "lxml"))
