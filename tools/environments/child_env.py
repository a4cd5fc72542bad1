"""The environment variables that commands get: the user's own, without secrets and without prompts."""

from __future__ import annotations

import re
from collections.abc import Mapping

_SECRET_PARTS = (
    "API_KEY",
    "APIKEY",
    "ACCESS_KEY",
    "PRIVATE_KEY",
    "SECRET",
    "TOKEN",
    "PASSWORD",
    "PASSWD",
    "CREDENTIAL",
)
_SECRET_ENDINGS = ("_KEY", "_PAT", "_PWD", "_PASS", "_PASSPHRASE", "_DSN")
# A URL with a user and a password: postgres://user:password@host/db
_URL_WITH_PASSWORD = re.compile(r"://[^/\s:@]*:[^/\s@]+@")
_OWN_PREFIX = "HERMES_"
_KEPT_NAMES = frozenset({"SSH_AUTH_SOCK", "TOKENIZERS_PARALLELISM"})
_KEPT_PREFIXES = ("GIT_",)

# Nothing here has a person in front of it: no pager, no prompt, no colours, no lines held back in a buffer.
_UNATTENDED = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "NO_COLOR": "1",
    "TERM": "dumb",
    "DEBIAN_FRONTEND": "noninteractive",
    "PIP_NO_INPUT": "1",
    "PYTHONUNBUFFERED": "1",
}


def child_environment(base: Mapping[str, str], extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The variables for a command.

    Dropped from `base` is every name that contains one of API_KEY, APIKEY, ACCESS_KEY, PRIVATE_KEY, SECRET, TOKEN,
    PASSWORD, PASSWD and CREDENTIAL, or ends in _KEY, _PAT, _PWD, _PASS, _PASSPHRASE or _DSN, in any letter case
    (model and cloud keys), every variable whose value is a URL with a password, and every name of this program's own
    (HERMES_…). Kept all the same are SSH_AUTH_SOCK, which is only a path, git's own variables (GIT_…) and
    TOKENIZERS_PARALLELISM.

    Args:
        base: the variables of this process.
        extra: added last, unfiltered: whoever names a variable for a command wants it there.
    """
    kept = {name: value for name, value in base.items() if not is_secret(name, value)}
    return kept | _UNATTENDED | dict(extra or {})


def is_secret(name: str, value: str = "") -> bool:
    """True when a variable of that name and value is not passed on to commands."""
    folded = name.upper()
    if folded.startswith(_OWN_PREFIX):
        return True
    if folded in _KEPT_NAMES or folded.startswith(_KEPT_PREFIXES):
        return False
    if folded.endswith(_SECRET_ENDINGS) or _URL_WITH_PASSWORD.search(value):
        return True
    return any(part in folded for part in _SECRET_PARTS)
