"""The dangers of which a person may allow all alike, apart from the families that have them: it is light to load."""

from __future__ import annotations

REMOTE = "changes git history, the work tree or a remote"
STASHES = "takes changes out of the work tree"
