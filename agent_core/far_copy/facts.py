"""What a file of the workspace is on one of the two sides, and which names may be those of one."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from tools.approval.persistence_paths import is_git_name
from tools.light_dataclass import dataclass

MARKER = ".hermes-acp-copy"
"""The file at the top of a copy that says whose it is, and whether it is whole."""

_LONGEST_NAME = 4_000


@dataclass(frozen=True, slots=True)
class Fact:
    """A regular file: a hash of its content, and whether its owner may run it."""

    digest: str
    executable: bool = False


Tree = Mapping[str, Fact]
"""Files by their path below the workspace's directory, with `/` between its parts."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A file as the two sides had it when they were last brought together; None where it was not there.

    Attributes:
        apart: the two differ on purpose, because a change was refused or both had changed it. Nothing is copied over
            either until they are the same again.
    """

    here: Fact | None
    there: Fact | None
    apart: bool = False


NOTHING = Pair(None, None)


def digest_of(content: bytes) -> str:
    """The hash that both sides tell."""
    return hashlib.sha256(content).hexdigest()


def is_name(name: str) -> bool:
    """Whether it may be the path of a file of the workspace: what another machine says need not be.

    What git keeps for itself never is, in whatever letters: on some disks `.GIT` is `.git`.
    """
    parts = name.split("/")
    if not name or len(name) > _LONGEST_NAME or "\0" in name or name == MARKER:
        return False
    return not any(part in {"", ".", ".."} or is_git_name(part) for part in parts)
