"""Which process prompts a session, and whether it is still alive.

A lease is three columns of `sessions`: `holder` (the `Holder` as JSON), and from it `holder_token`, `holder_until`.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import sqlite3
import subprocess
import sys
import uuid
from dataclasses import asdict
from pathlib import Path

from agent_core.errors import SessionInUse, UnknownSession
from agent_core.sessions.records import Holder
from agent_core.sessions.rows import DELETING
from tools.environments.program_finder import PROGRAMS

LEASE = 60.0
"""Seconds that a lease holds unless it is renewed."""

_MOST_AHEAD = 86_400.0
"""Seconds by which the clocks of two machines may differ. A time beyond it is from a clock that was wrong."""

_DEAD_STATES = frozenset("ZXx")
_PS_TIMEOUT = 5.0


def this_process(program: str = "hermes-acp", *, beats: bool = False) -> Holder:
    """The process that runs now, with a token that no other has, nor an earlier call."""
    pid, start = os.getpid(), None
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        start = start_of(pid)
    return Holder(secrets.token_hex(16), socket.gethostname(), pid, f"{_boot()} {start or ''}", program, beats=beats)


def holder_of(row: str | None, token: str | None, until: float | None) -> Holder | None:
    """Who is in the columns; None where nobody is. A holder that cannot be read is known by its time alone."""
    if token is None:
        return None
    try:
        facts = json.loads(row or "{}")
        named = (str(facts["host"]), int(facts["pid"]), str(facts["started"]), str(facts["program"]))
        beats = bool(facts.get("beats"))
    except (ValueError, TypeError, KeyError, OverflowError):
        named, beats = ("an unknown host", 0, "", "another program"), False
    return Holder(token, *named, until or 0.0, beats)


def is_alive(holder: Holder, now: float) -> bool:
    """Whether the holder's process lives.

    For a process in this one's table, since the machine's last start, that table decides, whatever `until` says: a
    computer that slept loses no lease. For others, where the table does not tell, and where other machines may use
    the same file, a lease that was not renewed is over, and so is one that no right clock can have written; what the
    table does not have any more is dead all the same.

    Args:
        now: seconds since the epoch.
    """
    boot, _, start = holder.started.rpartition(" ")
    if holder.pid > 0 and start and boot == _boot():
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            lives = start_of(holder.pid) == start
            if not (lives and holder.beats):
                return lives
    return now < holder.until < now + _MOST_AHEAD


def claim(connection: sqlite3.Connection, session_id: str, identity: Holder, now: float) -> bool:
    """Take the session's lease within a write transaction, from nobody or from a dead process.

    True where it was not this process's before: what is known of the session may be out of date.

    Raises:
        UnknownSession: there is no such session.
        SessionInUse: another living process has it.
    """
    holder = read_holder(connection, session_id)
    if holder is not None and holder.token == identity.token:
        return False
    refuse_living(holder, session_id, now)
    connection.execute(
        "UPDATE sessions SET holder = ?, holder_token = ?, holder_until = ? WHERE id = ?",
        (_text(identity, now + LEASE), identity.token, now + LEASE, session_id),
    )
    return True


def read_holder(connection: sqlite3.Connection, session_id: str) -> Holder | None:
    """Who holds the session, dead or alive.

    Raises:
        UnknownSession: there is no such session, or it is being deleted.
    """
    row = connection.execute(
        "SELECT holder, holder_token, holder_until FROM sessions WHERE id = ? AND archived < ?",
        (session_id, DELETING),
    ).fetchone()
    if row is None:
        raise UnknownSession(session_id)
    return holder_of(*row)


def refuse_living(holder: Holder | None, session_id: str, now: float, what: str = "prompted") -> None:
    """Do nothing where nobody, or a dead process, holds the session.

    Args:
        what: what cannot be done to it here: prompted, changed, deleted.

    Raises:
        SessionInUse: a living process holds it.
    """
    if holder is None or not is_alive(holder, now):
        return
    who = f"{holder.program}, process {holder.pid} on {holder.host}" if holder.pid else holder.program
    fork = "" if what == "deleted" else ", or fork the session and go on in the fork"
    raise SessionInUse(
        f"Session {session_id!r} cannot be {what} here: it is open in another program ({who}). "
        f"Close it there and try again{fork}."
    )


def refuse_others(
    connection: sqlite3.Connection, session_id: str, own: Holder, now: float, what: str = "prompted"
) -> None:
    """The same, unless `own` process holds it. Raises UnknownSession, too."""
    holder = read_holder(connection, session_id)
    if holder is not None and holder.token != own.token:
        refuse_living(holder, session_id, now, what)


def renew(connection: sqlite3.Connection, session_id: str, identity: Holder, now: float) -> None:
    """Hold the lease for another while, if it is still this process's."""
    until = now + LEASE
    connection.execute(
        "UPDATE sessions SET holder = ?, holder_until = ? WHERE id = ? AND holder_token = ?",
        (_text(identity, until), until, session_id, identity.token),
    )


def give_up(connection: sqlite3.Connection, session_id: str, token: str) -> None:
    """End the lease, if it is the token's."""
    connection.execute(
        "UPDATE sessions SET holder = NULL, holder_token = NULL, holder_until = NULL"
        " WHERE id = ? AND holder_token = ?",
        (session_id, token),
    )


def _text(holder: Holder, until: float) -> str:
    return json.dumps({**asdict(holder), "until": until})


def _boot() -> str:
    """Names this start of the machine and, within it, the table that process numbers belong to.

    Not the host's name: it may change, and others may have the same.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return f"{sys.platform} {uuid.getnode():012x}"


def start_of(pid: int) -> str | None:
    """When the process began, as one word; None where it does not run.

    Raises:
        OSError, subprocess.SubprocessError: that cannot be found out.
    """
    return _start_from_proc(pid) if Path("/proc/self/stat").exists() else start_from_ps(pid)


def _start_from_proc(pid: int) -> str | None:
    try:
        facts = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The command's name stands in parentheses and may hold anything: fields are counted from the last one.
    fields = facts.rpartition(")")[2].split()
    return None if fields[0] in _DEAD_STATES else fields[19]


def start_from_ps(pid: int) -> str | None:
    """When a process has started, where the kernel shows no files of it."""
    shown = subprocess.run(
        [PROGRAMS.find("ps") or "/bin/ps", "-o", "stat=,lstart=", "-p", str(pid)],
        env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=_PS_TIMEOUT,
    )
    state, *started = shown.stdout.split() or ["Z"]
    return None if state[0] in _DEAD_STATES else "-".join(started)
