"""What a session has used ⇄ the columns `requests`, `usage` and `cost` of its row."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from typing import Any

from agent_core.providers.base import Usage
from agent_core.providers.pricing import Certain, Spent

_CERTAIN = "certain"


def usage_text(spent: Spent) -> str:
    """The column `usage`."""
    return json.dumps({**asdict(spent.usage), _CERTAIN: asdict(spent.certain)})


def spent_from(requests: int, usage: str, cost: float | None) -> Spent:
    """What the columns say. Earlier versions did not keep what is known where not all is.

    Raises:
        ValueError, TypeError, AttributeError: `usage` is damaged.
    """
    counts: dict[str, Any] = json.loads(usage)
    if not requests and not counts:
        return Spent()
    known = counts.get(_CERTAIN)
    return Spent(
        requests,
        Usage(**{field.name: counts.get(field.name) for field in fields(Usage)}),
        cost,
        None if known is None else Certain(**known),
    )
