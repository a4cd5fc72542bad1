"""Which paths of a command may hold secrets. Text alone, no disk: what is not known is not known to be open."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator
from pathlib import Path

from tools.approval.dangers.places import full_path
from tools.approval.scripts.homes import home
from tools.approval.sensitive import why_sensitive
from tools.bash.reading import UNKNOWN, Argument

_SECRET = re.compile(
    r"/(?:etc/(?:g?shadow|sudoers|master\.passwd|ssl/private|ssh|security|krb5\.keytab|kubernetes|ppp|wireguard"
    r"|NetworkManager)|(?:var/)?run/secrets|var/lib/(?:docker|kubelet|sss)|var/spool|private/etc)(?:[-.]|/|$)",
    re.IGNORECASE,
)
_OPEN_PROC = re.compile(
    r"/proc/(?:cpuinfo|meminfo|version|loadavg|uptime|stat|mounts|filesystems|swaps|diskstats|net/\w+|sys/.+"
    r"|self/(?:status|limits|mounts|cgroup))"
)
_OPEN_DEVICE = re.compile(r"/dev/(?:null|zero|stdin|fd/\d+)|/dev/shm/.+")
# Hidden things of a home hold histories, sessions, tokens and profiles. These hold what anybody may fetch.
_HOME = re.compile(r"(?:/home/[^/]+|/Users/[^/]+|/root|~[^/]*)/(?P<inside>.+)")
_OPEN_AT_HOME = re.compile(
    r"(?!\.|Library/)|\.(?:cargo/registry|rustup/toolchains|pyenv/versions|nvm/versions|rbenv/versions|m2/repository"
    r"|local/lib|gradle/caches|asdf/installs|vim|oh-my-zsh)/"
)
# One of each kind: a pattern that fits any of them may show it.
_EXAMPLES = (
    ".env", ".env.local", "prod.env", ".envrc", ".netrc", ".npmrc", ".pypirc", ".pgpass", ".htpasswd", ".git",
    ".git-credentials", ".ssh", ".aws", ".kube", ".docker", ".hermes", ".gnupg", ".vault-token", "kubeconfig",
    "id_rsa",
    "id_ed25519", "id_ecdsa", "server.pem", "server.key", "store.p12", "store.pfx", "a.keystore", "a.jks", "a.kdbx",
    "credentials", "credentials.json", "credentials.yml", "terraform.tfstate", "prod.tfvars", ".bash_history",
)  # fmt: skip
_ORDINARY = ("main.py", "data.json", "notes.txt", "app.yml", "Makefile", "index.html", ".gitignore", "lib.rs", "a.md")
_MARKS = (":", "@", "=")
# What stands before a path of git's: `:!docs`, `:(icase)docs`.
_MAGIC = re.compile(r":(?:\([^)]*\)|[!^/]+:?)")
_WILD = re.compile(r"[*?\[{]")
_BRACES = re.compile(r"[{},]")


def is_open(argument: Argument, cwd: str | None, *, shows_contents: bool) -> bool:
    """True when no secret is meant by the argument, whether it is a path, an option with one, or no path.

    Args:
        cwd: the directory it is read in, absolute; None: unknown.
        shows_contents: the program shows what the files hold: then none of the names that a pattern may stand for is
            a secret's. Otherwise it is enough that the pattern does not look for them.
    """
    for piece in _pieces(argument.text):
        parts = [part for part in piece.split("/") if part]
        if shows_contents and argument.expands and not all(_fits_no_secret(part) for part in parts):
            return False
        if any(looks_for_secrets(part) for part in parts) or not is_open_path(piece, cwd):
            return False
    return True


def _pieces(text: str) -> Iterator[str]:
    """What may be a path in an argument: itself, an option's value, what follows a colon (`HEAD:.env`)."""
    yield text
    if text.startswith("-"):
        yield text[2:]
    if found := _MAGIC.match(text):
        yield text[found.end() :]
    for mark in _MARKS:
        yield from text.split(mark)[1:]


def is_open_path(text: str, cwd: str | None = None) -> bool:
    """True when `text` is the path of something whose content may be shown."""
    if "\0" in text:
        return False
    if not text:
        return True

    path = full_path(text, cwd)
    if path.startswith("/proc") and not _OPEN_PROC.fullmatch(path):
        return False
    if path.startswith("/dev") and not _OPEN_DEVICE.fullmatch(path) and path != "/dev":
        return False
    if _SECRET.match(path) or why_sensitive(Path(path)):
        return False
    return _OPEN_AT_HOME.match(_below_home(path)) is not None


def _below_home(path: str) -> str:
    """What of the path is below somebody's directory; '' where it is not."""
    if path.startswith(f"{home()}/"):
        return path.removeprefix(f"{home()}/")
    found = _HOME.fullmatch(path)
    return "" if found is None else found["inside"]


def fits_open_names_only(pattern: str) -> bool:
    """Whether no word that a pattern stands for ends with the name of a secret, as an option with a value would."""
    if _BRACES.search(pattern) or UNKNOWN in pattern:
        return False
    return not any(fnmatch.fnmatchcase(f"--x={example}", pattern) for example in _EXAMPLES)


def looks_for_secrets(pattern: str) -> bool:
    """Whether a pattern fits secrets, and no ordinary name: `id_*`, but not `*` and `*.json`."""
    if not _WILD.search(pattern):
        return False
    return _fits_any(pattern, _EXAMPLES) and not _fits_any(pattern, _ORDINARY)


def _fits_any(pattern: str, names: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for name in names)


def _fits_no_secret(pattern: str) -> bool:
    if not _WILD.search(pattern) and UNKNOWN not in pattern:
        return True
    if _BRACES.search(pattern) or UNKNOWN in pattern:
        return False
    return not any(
        fnmatch.fnmatchcase(example, pattern) for example in _EXAMPLES if pattern[0] == "." or example[0] != "."
    )
