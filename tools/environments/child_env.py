"""The environment variables that commands get: the user's own, without secrets and without prompts."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping

from tools.environments.program_finder import PROGRAMS
from tools.redaction import redact
from tools.settings import Passthrough

_SECRET_NAME = re.compile(
    r"""
    API_?KEY | ACCESS_KEY | PRIVATE_KEY | SECRET | TOKEN | PASSWORD | PASSWD | CREDENTIAL
  | WEBHOOK | CONNECTION_STRING | CUSTOM_HEADERS
  | (?:_KEY | _PAT | _PWD | _PASS | _PASSPHRASE | _DSN | _AUTH | _JWT | _COOKIE | _CREDS) $
  | ^OTEL_EXPORTER_OTLP_.*HEADERS$
  | ^DOCKER_AUTH_CONFIG$ | ^BW_SESSION$ | ^OP_SESSION_ | ^SSHPASS$
    """,
    re.VERBOSE,
)
# A URL with a user and a password: postgres://user:password@host/db. In a text `$word` may stand for the password, in
# the value of a variable it is the password.
_URL_WITH_PASSWORD = re.compile(r"://[^/\s:@]*:[^/\s@]+@")
_OWN_PREFIX = "HERMES_"
_KEPT_NAMES = frozenset({"SSH_AUTH_SOCK", "TOKENIZERS_PARALLELISM"})
_KEPT_PREFIXES = ("GIT_CONFIG_",)
_SHORTEST_SECRET = 12
# git takes settings from variables that are counted, and gives up where one is missing.
_GIT_COUNT, _GIT_KEY, _GIT_VALUE = "GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_{}", "GIT_CONFIG_VALUE_{}"
_MOST_GIT_SETTINGS = 1_000

# Bash runs the file that it names before each command, also before one that is proved to only look.
_RUN_BY_BASH = "BASH_ENV"

_NO_EDITOR = "echo 'No editor here: use -m, -F or --no-edit (GIT_EDITOR=true keeps what is proposed).' >&2; false"
# Nothing here has a person in front of it: no pager, no editor, no prompt, no colours, no lines held back.
_UNATTENDED = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": _NO_EDITOR,
    "GIT_SEQUENCE_EDITOR": _NO_EDITOR,
    "EDITOR": "false",
    "VISUAL": "false",
    "GIT_TERMINAL_PROMPT": "0",
    "NO_COLOR": "1",
    "TERM": "dumb",
    "DEBIAN_FRONTEND": "noninteractive",
    "PIP_NO_INPUT": "1",
    "PYTHONUNBUFFERED": "1",
}
# Whoever has set one of these knows why. CI is not among them: it changes what tests and builds do.
_UNLESS_SET = {
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "APT_LISTCHANGES_FRONTEND": "none",
    "GIT_MERGE_AUTOEDIT": "no",
    "GCM_INTERACTIVE": "never",
    "COMPOSER_NO_INTERACTION": "1",
    "NPM_CONFIG_UPDATE_NOTIFIER": "false",
}
# They would undo the above: pagers that go before PAGER, colours that go before NO_COLOR, the size of our terminal.
_UNDOING = frozenset(
    {
        "MANPAGER",
        "SYSTEMD_PAGER",
        "GH_PAGER",
        "AWS_PAGER",
        "BAT_PAGER",
        "DELTA_PAGER",
        "PSQL_PAGER",
        "FORCE_COLOR",
        "CLICOLOR_FORCE",
        "COLORTERM",
        "LINES",
        "COLUMNS",
    }
)
# What a person's own ssh or docker signs in with, and how it gets there. A model's key is none of these.
_OF_CLIENTS = re.compile(
    r"(?:AWS|AZURE|CLOUDSDK|DOCKER|PODMAN|REGISTRY|APPTAINER|SINGULARITY|SSH|CLOUDFLARE|TSH)_.*|(?:HTTPS?|ALL|NO)_PROXY"
)
_OF_MODELS = re.compile(r"API_?KEY|BEARER_TOKEN")
# What a program needs to start, to read names and to find its own settings.
_BARE = re.compile(r"PATH|HOME|USER|LANG|LC_\w+|TZ|TMPDIR|TEMP|TMP|SYSTEMROOT|XDG_CONFIG_HOME|LD_LIBRARY_PATH")
_AT_A_TERMINAL = {"TERM": "xterm-256color"}
_NOTHING = Passthrough()


def child_environment(
    base: Mapping[str, str], extra: Mapping[str, str] | None = None, passed: Passthrough = _NOTHING
) -> dict[str, str]:
    """The variables for a command.

    Dropped from `base` is every name that contains one of API_KEY, APIKEY, ACCESS_KEY, PRIVATE_KEY, SECRET, TOKEN,
    PASSWORD, PASSWD, CREDENTIAL, WEBHOOK, CONNECTION_STRING and CUSTOM_HEADERS, or ends in _KEY, _PAT,
    _PWD, _PASS, _PASSPHRASE, _DSN, _AUTH, _JWT, _COOKIE or _CREDS, in any letter case (model and cloud keys), what
    unlocks password managers and registries (BW_SESSION, OP_SESSION_…, DOCKER_AUTH_CONFIG, SSHPASS), the headers for
    a collector of traces (OTEL_EXPORTER_OTLP_HEADERS and the like), every variable whose value is a URL with a
    password or holds what the logs would not show (a key with a known form, a private key, a JWT), and every name of
    this program's own (HERMES_…). Kept all the same are the names SSH_AUTH_SOCK, which is only a path, git's settings
    (GIT_CONFIG_…) and TOKENIZERS_PARALLELISM, and what `passed` has. Pagers, editors, prompts and colours are off
    whatever `base` says; update checks and the like are off where it says nothing.

    Args:
        base: the variables of this process.
        extra: added last, unfiltered: whoever names a variable for a command wants it there.
        passed: what the user wants commands to have all the same.
    """
    kept = {
        name: value
        for name, value in _with_git_counted(base, passed).items()
        if name not in _UNDOING and not _is_kept_back(name, value, passed)
    }
    if PROGRAMS.leads_astray(kept.get(_RUN_BY_BASH, "")):
        del kept[_RUN_BY_BASH]
    return _UNLESS_SET | kept | _UNATTENDED | dict(extra or {})


def terminal_environment(base: Mapping[str, str], passed: Passthrough = _NOTHING) -> dict[str, str]:
    """The variables for a command at a pseudo-terminal: those of `child_environment`, with a terminal's name."""
    return child_environment(base, passed=passed) | _AT_A_TERMINAL


def client_environment(base: Mapping[str, str], named: Mapping[str, str] | None = None) -> dict[str, str]:
    """The variables for a person's own client of another machine (ssh, docker …): theirs, without our secrets.

    Dropped are the secrets that `child_environment` drops, but for what such clients sign in with (AWS_…, DOCKER_…
    and the like, proxies with a password); a key of a model is dropped whatever its name begins with.

    Args:
        base: the variables of this process.
        named: what the settings pass on by name, added last.
    """
    kept = {
        name: value
        for name, value in _with_git_counted(base, _NOTHING).items()
        if not is_secret(name, value) or _is_of_client(name.upper())
    }
    return _with_own_programs(kept) | dict(named or {})


def bare_environment(base: Mapping[str, str]) -> dict[str, str]:
    """The variables for a helper of ours that reads what strangers have written: none that could be a secret."""
    return _with_own_programs({name: value for name, value in base.items() if _BARE.fullmatch(name.upper())})


def _with_own_programs(variables: dict[str, str]) -> dict[str, str]:
    """With a PATH on which nothing lies that a workspace brought: clients look there for helpers of theirs."""
    return variables | {"PATH": PROGRAMS.search_path(variables["PATH"])} if "PATH" in variables else variables


def _is_of_client(folded: str) -> bool:
    return bool(_OF_CLIENTS.fullmatch(folded)) and not _OF_MODELS.search(folded)


def _with_git_counted(base: Mapping[str, str], passed: Passthrough) -> Mapping[str, str]:
    """The variables with git's settings counted without those that are secret."""
    count = base.get(_GIT_COUNT, "")
    if not (count.isascii() and count.isdigit()):
        return base
    named = [(_GIT_KEY.format(at), _GIT_VALUE.format(at)) for at in range(min(int(count), _MOST_GIT_SETTINGS))]
    kept = [
        (base[key], base[value])
        for key, value in named
        if key in base and value in base and not any(_is_kept_back(name, base[name], passed) for name in (key, value))
    ]
    if len(kept) == len(named):
        return base
    others = {name: value for name, value in base.items() if name not in {one for pair in named for one in pair}}
    pairs = ((_GIT_KEY.format(at), _GIT_VALUE.format(at), pair) for at, pair in enumerate(kept))
    counted = {name: text for key, value, pair in pairs for name, text in zip((key, value), pair, strict=True)}
    return {**others, **counted, _GIT_COUNT: str(len(kept))}


def _is_kept_back(name: str, value: str, passed: Passthrough) -> bool:
    return is_secret(name, value) and not passed.has(name)


def is_secret(name: str, value: str = "") -> bool:
    """True when a variable of that name and value is not passed on to commands unless the user has named it."""
    folded = name.upper()
    if folded.startswith(_OWN_PREFIX):
        return True
    is_kept = folded in _KEPT_NAMES or folded.startswith(_KEPT_PREFIXES)
    return (not is_kept and bool(_SECRET_NAME.search(folded))) or _holds_secret(value)


@functools.lru_cache(maxsize=1024)
def _holds_secret(value: str) -> bool:
    """Whether there is something in a value that redaction would take out of a text."""
    if "@" in value and _URL_WITH_PASSWORD.search(value):
        return True
    return len(value) >= _SHORTEST_SECRET and redact(value) != value
