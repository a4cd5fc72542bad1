"""Sessions with language servers, which all end with the test."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agent_core.cancel import CancelToken
from agent_core.lsp.diagnostics import LanguageServers
from agent_core.lsp.server import LspLimits
from agent_core.service_loop import ServiceLoop
from tests.support import language_server
from tools.environments.guardian import Guardian
from tools.ports import Problem


@dataclass
class Bench:
    """A session whose files have a language server; `edit` changes one on the disk and asks what it broke."""

    root: Path
    servers: LanguageServers
    log: Path
    notes: list[str] = field(default_factory=list)
    token: CancelToken = field(default_factory=CancelToken)

    def edit(self, text: str, name: str = "a.txt") -> Sequence[Problem]:
        path = self.root / name
        before = path.read_text(encoding="utf-8") if path.exists() else None
        path.write_text(text, encoding="utf-8")
        return self.servers.after(path, text, self.servers.before(path, before), self.token)

    def found(self, text: str, name: str = "a.txt") -> list[tuple[int, str]]:
        return [(problem.line, problem.message) for problem in self.edit(text, name)]

    def heard(self, what: str) -> int:
        """How many messages of that kind the fake server got."""
        if not self.log.exists():
            return 0
        return sum(line.split(" ")[0] == what for line in self.log.read_text(encoding="utf-8").splitlines())

    def pids(self) -> list[int]:
        lines = self.log.read_text(encoding="utf-8").splitlines()
        return [int(line.split(" ")[1]) for line in lines if line.startswith("start ")]


OpenBench = Callable[..., Bench]


@pytest.fixture
def bench(tmp_path: Path, guardian: Guardian) -> Iterator[OpenBench]:
    """`bench("push")`: a session whose .txt files are for the fake server (or whose `ending` says so).

    With a command, .py files are for that.
    """
    loop = ServiceLoop()
    opened: list[LanguageServers] = []

    def open_bench(
        mode: str = "push", *, command: Sequence[str] = (), limits: LspLimits | None = None, ending: str = ".txt"
    ) -> Bench:
        log, root, notes = tmp_path / "server.log", tmp_path / "workspace", []
        root.mkdir(exist_ok=True)
        fake = (sys.executable, "-I", language_server.__file__, mode, str(log))
        configured = {"python": tuple(command)} if command else {ending: fake}
        variables = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "MODEL_API_KEY": "secret"}
        servers = LanguageServers(
            [root],
            loop=loop,
            guardian=guardian,
            configured=configured,
            limits=limits or LspLimits(wait=20.0, pauses=(0.01, 0.01, 0.01), quiet=0.03),
            note=notes.append,
            variables=variables,
        )
        opened.append(servers)
        return Bench(root, servers, log, notes)

    yield open_bench
    for servers in opened:
        servers.close()
    loop.stop()
