"""The protocol's SDK, loaded for a third of what it costs: all of this package import it from here.

Its several hundred models read their own source for docstrings and build their validators as they are defined, which
takes longer than everything else that a session needs. A server uses a dozen of them: those are built when they are
first used, in some milliseconds.
"""

from __future__ import annotations

from agent_core.light_models import light_models

with light_models():
    from acp import RequestError as AcpError
    from acp import run_agent
    from acp.interfaces import Client
    from acp.schema import (
        AudioContentBlock,
        EmbeddedResourceContentBlock,
        ImageContentBlock,
        PromptRequest,
        ResourceContentBlock,
        TextContentBlock,
    )

__all__ = [
    "AcpError",
    "AudioContentBlock",
    "Client",
    "EmbeddedResourceContentBlock",
    "ImageContentBlock",
    "ResourceContentBlock",
    "TextContentBlock",
    "rehearse_prompt",
    "run_agent",
]


def rehearse_prompt() -> None:
    """Read a prompt as if one had come: the first one finds what reads it built."""
    PromptRequest.model_validate({"sessionId": "", "prompt": [{"type": "text", "text": ""}]})
