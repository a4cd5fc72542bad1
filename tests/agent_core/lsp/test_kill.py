"""Language servers do not outlive us, however we end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.support import language_server
from tests.support.processes import has_ended
from tests.support.waiting import wait_until

_SESSION = """
import sys, threading
from pathlib import Path
from agent_core.cancel import CancelToken
from agent_core.lsp.diagnostics import LanguageServers
from agent_core.lsp.server import LspLimits
from agent_core.service_loop import ServiceLoop
from tools.environments.guardian import Guardian
root = Path(sys.argv[1])
servers = LanguageServers([root], loop=ServiceLoop(), guardian=Guardian(), configured={".txt": tuple(sys.argv[2:])},
                          limits=LspLimits(wait=30))
servers.after(root / "a.txt", "fine", servers.before(root / "a.txt", None), CancelToken())
print("ready", flush=True)
threading.Event().wait()
"""


def test_they_end_when_we_are_killed(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    # It ignores the end of its input, as a server at work does.
    fake = [sys.executable, "-I", language_server.__file__, "push", str(log)]
    keeps_on = ["/bin/sh", "-c", '"$@" & exec sleep 1000', "sh", *fake]
    with subprocess.Popen(
        [sys.executable, "-c", _SESSION, str(tmp_path), *keeps_on],
        cwd=Path(__file__).parents[3],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    ) as session:
        try:
            wait_until(lambda: "start " in (log.read_text() if log.exists() else ""), 30)
            (group,) = {os.getpgid(int(line.split()[1])) for line in log.read_text().splitlines() if "start " in line}
            os.kill(session.pid, signal.SIGKILL)
            session.wait(10)
            wait_until(lambda: has_ended(group), 10)
        finally:
            session.kill()
