"""What prompts and calls need, loaded before they come: an import, or a call that makes something once."""

from __future__ import annotations

from agent_core.compaction.compactor import engine_of
from agent_core.containing import find_sandbox, load_sandbox
from agent_core.settings.sections import CompressionPart
from tools.approval.commands import load_classifier
from tools.redaction import redact
from tools.toolsets import get_tool_definitions
from tools.untrusted.scanner import scan


def load_for_prompt(*, for_stored: bool) -> None:
    """Load what the first prompt needs, but for its model.

    Args:
        for_stored: the session is a stored one, which has its system prompt: what builds one is not needed yet.
    """
    import agent_core.compaction.tokens  # noqa: PLC0415 - needed with the first answer
    import agent_core.verifying.final_text  # noqa: F401, PLC0415 - the same

    if not for_stored:
        _load_prompt_building()
    get_tool_definitions(quiet=True)
    engine_of(CompressionPart(), "", redact)
    if not for_stored:
        find_sandbox()


def load_for_calls() -> None:
    """Load what the first calls need, and what a stored session's first prompt may need all the same."""
    _load_prompt_building()
    load_classifier()
    load_sandbox()


def _load_prompt_building() -> None:
    import agent_core.prompt.layers  # noqa: F401, PLC0415 - not needed to open a session

    scan("", "context")
