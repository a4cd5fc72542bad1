"""Recognises in what a command printed that its confinement, and nothing else, has kept it from something.

A refusal by the sandbox looks like any other: "Permission denied". So each one is tried against this process, which
is not confined: what it could do itself, the sandbox has refused; what it could not do either fails everywhere.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from tools.environments.sandbox.port import Confinement
from tools.ports import CommandOutcome

_MOST_NAMED = 3
_MOST_LINES = 400
_MOST_LINE_CHARS = 2_000

_DENIED = re.compile(
    r"permission denied|operation not permitted|read-only file system|access denied|\bEACCES\b|\bEPERM\b|\bEROFS\b"
    r"|device or resource busy|\bEBUSY\b"
    r"|permissionerror|cross-device link|\bEXDEV\b|can't create|cannot create|unable to open database file",
    re.IGNORECASE,
)
_PATH = re.compile(r"""(?<![\w.:/])(?:~|\.{1,2})?/[^\s'"`:;,()<>\[\]’‘]+""")
_QUOTED_PATH = re.compile(r"""['"`‘]((?:~|\.{1,2})?/[^'"`’]+)['"`’]""")
_PROCESSES = tuple(
    (re.compile(pattern, re.IGNORECASE), what)
    for pattern, what in (
        (r"\bkill\w*\b.*?\(?(\d{2,7})\)?.*operation not permitted", "signalling"),
        # renice, taskset, chrt
        (r"\bfailed to set (?:priority for|pid) ([1-9]\d{1,6})\b.*operation not permitted", "scheduling"),
    )
)
_NO_NAME = re.compile(
    r"could(?: not|n't) resolve (?:host(?:name)?|proxy)|temporary failure in name resolution"
    r"|name or service not known|name resolution|\bEAI_AGAIN\b|\bENOTFOUND\b|no address associated"
    r"|dns error|unknown host|no such host"
    r"|nodename nor servname|failed to lookup address",
    re.IGNORECASE,
)
_HOST = re.compile(
    r"(?:resolve(?: host(?:name)?)?:? |ENOTFOUND |EAI_AGAIN |lookup |https?://|host=')"
    r"['\"]?([a-z0-9-]+(?:\.[a-z0-9-]+)+)",
    re.IGNORECASE,
)
_NO_NETWORK = re.compile(
    r"network is unreachable|\bENETUNREACH\b|socket: (?:permission denied|operation not permitted)"
)
_OTHER = tuple(
    (re.compile(pattern, re.IGNORECASE), what)
    for pattern, what in (
        (r"no new privileges|must be setuid root|effective uid is not 0", "becoming another user"),
        (r"permissions to create new namespace|unshare failed: op|no usable sandbox", "making a sandbox of its own"),
        (r"out of pty devices|posix_openpt|openpty.*(?:failed|denied)", "opening a terminal"),
        (r"docker daemon socket|connect to the docker daemon", "reaching the Docker daemon"),
    )
)
_ANSWERED = re.compile(r"(?:the answer was no|the settings deny it)(?: \([^)]*\))?$")
# "/bin/sh: 1: …", "/srv/a.py:12: …": who complains, and where, is not what was refused.
_COMPLAINING = re.compile(r"(?<![\w.:/])(?:~|\.{1,2})?/[^\s:'\"]+:(?: ?line)? ?\d+:")


def looks_denied(
    outcome: CommandOutcome, confinement: Confinement, by_network: Sequence[str] = (), cwd: Path | None = None
) -> str:
    """What the sandbox kept a command from, in words that follow "it was kept from"; '' where it did not.

    Of a command that succeeded, only what is certain is told: a file named with the refusal.

    Args:
        by_network: what the session's network refused it: "example.org:443: why".
        cwd: where it ran, for paths that are relative.
    """
    failed = outcome.exit_code != 0
    if outcome.interrupted:
        return ""
    found: dict[str, None] = {}
    if failed:
        # Who was asked about a host has answered: the same question is not put in another way.
        found.update((f"reaching {each}", None) for each in by_network if not _ANSWERED.search(each))
    for line in outcome.output.splitlines()[-_MOST_LINES:]:
        found.update((each, None) for each in _in_line(line[:_MOST_LINE_CHARS], confinement, cwd, failed=failed))
        if len(found) > _MOST_NAMED:
            break
    named = list(found)[:_MOST_NAMED]
    return "; ".join([*named, "and more"] if len(found) > _MOST_NAMED else named)


def _in_line(line: str, confinement: Confinement, cwd: Path | None, *, failed: bool) -> Iterator[str]:
    if _DENIED.search(line):
        yield from _held(line, confinement)
        yield from _files(line, confinement, cwd)
        for pattern, what in _PROCESSES:
            match = pattern.search(line)
            if match and _exists(int(match[1])):
                yield f"{what} process {match[1]}"
    if not failed:
        return
    if confinement.network != "on":
        yield from _network(line)
    for pattern, what in _OTHER:
        if pattern.search(line):
            yield what


def _network(line: str) -> Iterator[str]:
    if _NO_NAME.search(line):
        match = _HOST.search(line)
        yield f"reaching {match[1]} directly" if match else "looking up names of hosts"
    elif _NO_NETWORK.search(line.lower()):
        yield "reaching the network directly"


def _held(line: str, confinement: Confinement) -> Iterator[str]:
    """What is held is known by its name alone: it is often named as it is seen from where the command runs."""
    for place in confinement.held:
        if place.name in line and re.search(rf"(?<![\w.-]){re.escape(place.name)}(?![\w.-])", line):
            yield f"changing {place}, which others run later"


def _files(line: str, confinement: Confinement, cwd: Path | None) -> Iterator[str]:
    about = _COMPLAINING.sub(" ", line)
    named = [*_QUOTED_PATH.findall(about), *_PATH.findall(about)]
    for name in dict.fromkeys(each.rstrip(".,:") for each in named):
        path = _absolute(name, cwd)
        if path is not None and (what := _refused(path, confinement)):
            yield what
            return  # the longest way to say it comes first; what follows is a part of it


def _refused(path: Path, confinement: Confinement) -> str:
    """What the confinement does not allow of a path and this process could do."""
    real = Path(os.path.realpath(path))
    if any(real.is_relative_to(each) for each in confinement.hidden):
        return f"reading {path}" if _may_read(real) else ""
    if confinement.level == "full" or _is_special(real):
        return ""
    writable = confinement.writable if confinement.level == "workspace-write" else ()
    if any(real.is_relative_to(each) for each in writable):
        return ""
    place = real
    while not os.path.lexists(place) and place != place.parent:
        place = place.parent
    return f"changing {path}" if os.access(place, os.W_OK) else ""


def _is_special(path: Path) -> bool:
    """What is no file that somebody keeps, and is refused outside as well."""
    return path.is_relative_to("/proc") or path.is_relative_to("/sys") or path == Path("/dev/null")


def _absolute(name: str, cwd: Path | None) -> Path | None:
    expanded = os.path.expanduser(name)  # noqa: PTH111 - it knows no user: it stays as it is
    if expanded.startswith("/"):
        return Path(os.path.normpath(expanded))
    return Path(os.path.normpath(cwd / expanded)) if cwd is not None and not expanded.startswith("~") else None


def _may_read(path: Path) -> bool:
    return os.access(path, os.R_OK)


def _exists(process: int) -> bool:
    """Whether it is one that this process may signal."""
    try:
        os.kill(process, 0)
    except OSError:
        return False
    return True
