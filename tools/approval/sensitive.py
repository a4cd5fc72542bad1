"""Paths that hold keys, credentials or hooks: they ask even where other paths of a workspace do not."""

from __future__ import annotations

import fnmatch
import functools
import re
from pathlib import Path

_DIRECTORIES = frozenset({".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".git", ".hermes"})
_NAMES = (
    ".env", ".env.*", ".envrc", ".netrc", ".npmrc", ".pypirc", ".git-credentials",
    "id_rsa*", "id_ed25519*", "id_ecdsa*", "*.pem", "*.key", "credentials", "credentials.json",
)  # fmt: skip
_HARMLESS = frozenset({".env.example", ".env.sample", ".env.template"})


def why_sensitive(path: Path, private: tuple[Path, ...] = ()) -> str:
    """Why `path` asks for itself («holds …»), or '' when it is ordinary.

    Args:
        path: absolute, symbolic links resolved.
        private: directories that are sensitive as a whole.
    """
    if any(path == root or root in path.parents for root in private):
        return "holds this agent's own settings"
    # Letter case does not protect: the file system may not tell `.ENV` from `.env`.
    folded = [part.casefold() for part in path.parts]
    hit = next((part for part in folded if part in _DIRECTORIES), None)
    if hit is not None:
        return f"is inside {hit}"
    name = folded[-1] if folded else ""
    if name not in _HARMLESS and _credential_name().match(name):
        return "may hold credentials"
    return ""


@functools.cache
def _credential_name() -> re.Pattern[str]:
    # One expression: a search asks this of every file that it finds.
    return re.compile("|".join(map(fnmatch.translate, _NAMES)))
