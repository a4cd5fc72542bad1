"""A request that a server refuses for one field: the same is asked again without it, and the server is remembered.

OpenAI's servers, and many that follow them, name the field in `error.param`. What a model takes changes with every
month and every account; a table alone would make working models unusable.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from agent_core.errors import ProviderStatusError
from agent_core.providers.choice import Dialect, ModelChoice

_REFUSALS = frozenset({"unsupported_parameter", "unsupported_value", "unknown_parameter"})


def without_refused(choice: ModelChoice, problem: ProviderStatusError) -> ModelChoice | None:
    """The same model in a dialect without the field that `problem` is about; None if it is about something else."""
    if problem.status not in {400, 422}:
        return None
    error = _error(problem.body)
    if error.get("code") not in _REFUSALS:
        return None
    dialect = _without(choice.dialect, str(error.get("param") or ""))
    return None if dialect in {None, choice.dialect} else replace(choice, dialect=dialect)


def _without(dialect: Dialect, field: str) -> Dialect | None:
    match field.split("[", maxsplit=1)[0]:
        case "reasoning.summary":
            return replace(dialect, reasoning_summary=False)
        case "temperature":
            return replace(dialect, temperature=False)
        case "reasoning_effort" | "reasoning.effort" | "reasoning":
            return replace(dialect, effort="none")
        case "max_tokens":
            return replace(dialect, max_tokens_field="max_completion_tokens")
        case "max_completion_tokens":
            return replace(dialect, max_tokens_field="max_tokens")
        case "stream_options" | "stream_options.include_usage":
            return replace(dialect, stream_usage=False)
        case "prompt_cache_key":
            return replace(dialect, cache_key=False)
        case "messages" if field.endswith("role"):
            return replace(dialect, developer_role=False)
    return None


def _error(body: str) -> dict[str, Any]:
    try:
        error = json.loads(body).get("error")
    except (ValueError, AttributeError, RecursionError):
        return {}
    return error if isinstance(error, dict) else {}
