"""A session as a trajectory to train with: ShareGPT form, from the messages that the model saw, but for secrets."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from acp_adapter.cli.terminal.safe_text import whole
from agent_core.events import ContextCompacted, SessionEvent
from agent_core.sessions.records import COMMAND, COMPACTED, RESET, Transcript
from agent_core.trajectories.sharegpt import conversations
from tools.redaction import Redact, redact


def is_completed(transcript: Transcript) -> bool:
    """Whether the session's last turn came to its end by itself."""
    outcomes = [turn.outcome for turn in transcript.turns if turn.outcome not in {COMMAND, RESET, COMPACTED}]
    return bool(outcomes) and outcomes[-1] == "end_turn"


def to_trajectory(
    transcript: Transcript,
    system: str | None = None,
    tools: Sequence[Mapping[str, Any]] | None = None,
    redacting: Redact = redact,
) -> str:
    """The session as one line of JSON, without a line feed at its end.

    Args:
        system: the system prompt that the model had; None if it is not known.
        tools: the tool definitions that it had, as they were sent.
        redacting: takes the secrets out of each text.
    """
    session = transcript.session
    messages = [each.message for each in transcript.messages if not each.hidden]
    spent = session.spent
    line = {
        "conversations": conversations(messages, system, tools, redacting),
        "timestamp": datetime.fromtimestamp(session.updated_at, UTC).isoformat(),
        "model": session.model,
        "completed": is_completed(transcript),
        "session_id": session.id,
        "cwd": session.cwd,
        "turns": len(transcript.turns),
        "compressions": sum(
            isinstance(event, ContextCompacted) and event.state == "done" for event in _events(transcript)
        ),
        "api_calls": spent.requests,
        "input_tokens": spent.usage.input_tokens,
        "output_tokens": spent.usage.output_tokens,
        "cost_usd": spent.cost,
    }
    return whole(json.dumps(line, ensure_ascii=False))


def _events(transcript: Transcript) -> Iterator[SessionEvent]:
    return (event for stored in transcript.events for event in stored.events)
