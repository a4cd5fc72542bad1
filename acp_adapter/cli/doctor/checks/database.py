"""Whether sessions, and what files were before they were changed, are stored well."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from acp_adapter.cli.doctor.case import Case
from acp_adapter.cli.doctor.finding import Finding, State, well
from acp_adapter.cli.doctor.sizes import counted, size_of, size_text

if TYPE_CHECKING:
    from agent_core.sessions.repair.findings import Findings, Problem

_FIX = "Run `hermes-acp doctor --fix`"
_MEANS = {
    "": "",
    "in place": "it mends that and leaves the rest as it is",
    "rebuild": "it saves what can be read into a new file and keeps the broken one under another name",
}
_SUBJECTS = {"blobs": "file history", "search": "search", "permissions": "permissions"}


def check_database(case: Case) -> Iterator[Finding]:
    """Every page, index and reference of the database; the kept contents of files."""
    from agent_core.sessions.repair.examining import examine  # noqa: PLC0415 - loads SQLite

    found = examine(case.home.database, case.home.blobs)
    if not found.exists:
        yield well("database", f"no sessions are stored yet ({found.path} is not there)", exists=False)
        return
    for problem in found.problems:
        yield _told(problem)
    if not found.fault:
        yield well(
            "database",
            _text(found),
            sessions=found.sessions,
            messages=found.messages,
            size=found.size + found.wal_size,
            format=found.version,
        )
        kept = f"{found.blobs.present} earlier contents, {size_text(found.blobs.size)}"
        yield well("file history", kept, contents=found.blobs.present, size=found.blobs.size)
    for path in found.beside:
        text = f"kept beside it: {path} ({size_text(size_of(path))}); delete it if you do not need it"
        yield well("database", text, kept=str(path))


def _told(problem: Problem) -> Finding:
    needs_step = problem.remedy and "doctor --fix" not in problem.text
    step = f"{_FIX}: {_MEANS[problem.remedy]}." if needs_step else ""
    state: State = "ok" if problem.is_notice else "fail"
    return Finding(_SUBJECTS.get(problem.subject, "database"), state, problem.text, step, bool(problem.remedy))


def _text(found: Findings) -> str:
    counts = f"{counted(found.sessions or 0, 'session')}, {counted(found.messages or 0, 'message')}"
    parts = [f"{counts}, {size_text(found.size + found.wal_size)}"]
    parts.append(f"format {found.version}, journal {found.journal_mode}")
    if found.holders:
        parts.append(f"in use by {', '.join(f'{holder.program} {holder.pid}' for holder in found.holders)}")
    if found.abandoned:
        parts.append(f"{found.abandoned} left open by a process that ended: they can be used again")
    return "; ".join(parts)
