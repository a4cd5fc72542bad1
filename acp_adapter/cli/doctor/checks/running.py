"""What the sessions of running processes are doing."""

from __future__ import annotations

import time
from collections.abc import Iterator

from acp_adapter.cli.doctor.case import Case
from acp_adapter.cli.doctor.finding import Finding, failing, well


def check_running(case: Case) -> Iterator[Finding]:
    """Each turn that runs, and processes that live and tell nothing any more."""
    from agent_core.activity import span  # noqa: PLC0415 - for this look only
    from agent_core.running import STALE_AFTER, running_processes  # noqa: PLC0415 - the same

    now = time.time()
    for process in running_processes(case.home.running):
        pid, silent = process.holder.pid, now - process.told
        if silent >= STALE_AFTER:
            text = f"process {pid} has turns that run, and told nothing for {span(silent)}"
            step = "If it does not answer in its editor either, end it. Nothing that was stored is lost."
            yield failing("running", text, step, pid=pid)
            continue
        for session in process.sessions:
            text = f"{session.cwd} (process {pid}): {session.doing.text(now)}"
            yield well("running", text, pid=pid, session=session.id)
