"""Which of several usable keys is taken."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from agent_core.providers.credentials.credential import Credential
from agent_core.providers.credentials.records import ProviderRecord

if TYPE_CHECKING:
    from agent_core.settings.model import PoolStrategy

Choose = Callable[[Sequence[Credential], Sequence[Credential], ProviderRecord], Credential]
"""Of all keys in their order, and of those that are usable (at least one, in the same order), the one to take."""


def fill_first(_all: Sequence[Credential], usable: Sequence[Credential], _record: ProviderRecord) -> Credential:
    """The first key, as long as it serves: its server keeps the conversation's beginning."""
    return usable[0]


def round_robin(every: Sequence[Credential], usable: Sequence[Credential], record: ProviderRecord) -> Credential:
    """The next usable key after the one that was taken last, whoever took it."""
    ids = [credential.id for credential in every]
    start = ids.index(record.last) + 1 if record.last in ids else 0
    ring = [*every[start:], *every[:start]]
    return next(credential for credential in ring if credential in usable)


def any_of(_all: Sequence[Credential], usable: Sequence[Credential], _record: ProviderRecord) -> Credential:
    """Any usable key."""
    return random.choice(usable)  # noqa: S311 - spreads the load, guards nothing


def least_used(_all: Sequence[Credential], usable: Sequence[Credential], record: ProviderRecord) -> Credential:
    """The usable key with the fewest requests; the earlier one of equals."""
    return min(usable, key=lambda credential: record.key(credential.id).uses)


STRATEGIES: Mapping[PoolStrategy, Choose] = {
    "fill_first": fill_first,
    "round_robin": round_robin,
    "random": any_of,
    "least_used": least_used,
}
