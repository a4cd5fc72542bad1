"""The protocol's SDK, loaded for a third of what it costs: all of this package import it from here.

Its several hundred models read their own source for docstrings and build their validators as they are defined, which
takes longer than everything else that a session needs. A server uses a dozen of them: those are built when they are
first used, in some milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pydantic


@contextmanager
def _light_models() -> Iterator[None]:
    """Models that are defined meanwhile have no docstrings of fields, and are built at their first use."""
    usual = pydantic.ConfigDict

    def light(**config: Any) -> pydantic.ConfigDict:
        config.pop("use_attribute_docstrings", None)
        return usual(**{"defer_build": True, **config})

    vars(pydantic)["ConfigDict"] = light
    try:
        yield
    finally:
        vars(pydantic)["ConfigDict"] = usual


with _light_models():
    from acp import RequestError as AcpError
    from acp import run_agent
    from acp.interfaces import Client
    from acp.schema import (
        AudioContentBlock,
        BlobResourceContents,
        EmbeddedResourceContentBlock,
        ImageContentBlock,
        ResourceContentBlock,
        TextContentBlock,
        TextResourceContents,
    )

__all__ = [
    "AcpError",
    "AudioContentBlock",
    "BlobResourceContents",
    "Client",
    "EmbeddedResourceContentBlock",
    "ImageContentBlock",
    "ResourceContentBlock",
    "TextContentBlock",
    "TextResourceContents",
    "run_agent",
]
