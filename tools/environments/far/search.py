"""Searches another machine's files: with its ripgrep, or else with its find and grep."""

from __future__ import annotations

import errno
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

from tools.environments.far.file_calls import FileCalls
from tools.environments.far.link import Link
from tools.environments.far.machine import Streams
from tools.environments.far.probe import FarFacts
from tools.environments.far.wrapping import new_token, quoted
from tools.environments.rg_process import Runner
from tools.environments.ripgrep import SNIFFED_BYTES, Looks, Search
from tools.errors import CommandError
from tools.light_dataclass import dataclass
from tools.ports import Interrupt, SearchQuery, SearchResult
from tools.settings import SearchSettings

# When this end lets go, its input ends there: then it is killed, for it may search on for long without a word.
_HELD = """cd -P {folder} && [ "$(pwd -P)" = {folder} ] || {{ echo 'the directory is gone' >&2; exit 2; }}
exec 3<&0
{command} </dev/null &
p=$!
{{ cat <&3; kill -KILL $p; }} >/dev/null 2>&1 &
c=$!
wait $p; s=$?
kill $c 2>/dev/null; exit $s
"""


@dataclass(frozen=True, slots=True)
class FarGround:
    """Implements `rg_process.Ground` in a directory of another machine."""

    link: Link
    folder: Path

    def popen(self, command: Sequence[str], arguments: Sequence[str], **popen: Any) -> subprocess.Popen[bytes]:
        """Start it there; of `popen` only `stderr` holds here."""
        words = " ".join(quoted(word) for word in (*command, *arguments))
        complaints: IO[bytes] = popen["stderr"]
        script = _HELD.format(folder=quoted(str(self.folder)), command=words)
        try:
            self.link.footing()
            mark = f"{new_token()}\n"
            process = self.link.machine.start(
                f"printf '%s\\n' {mark}{script}", Streams(subprocess.PIPE, subprocess.PIPE, complaints)
            )
        except CommandError as problem:
            raise OSError(errno.EHOSTUNREACH, str(problem)) from problem
        # What the shell there prints of its own comes first.
        for line in process.stdout or ():
            if line == mark.encode():
                break
        return process


@dataclass(frozen=True, slots=True)
class FarSearch:
    """Searches on the machine of `link`.

    Attributes:
        facts: what the machine is.
        private: directories whose files are never shown.
    """

    link: Link
    calls: FileCalls
    facts: Callable[[], FarFacts]
    limits: SearchSettings
    private: tuple[Path, ...] = ()

    def __call__(self, query: SearchQuery, interrupt: Interrupt | None) -> SearchResult:
        """One page of what `query` finds.

        Raises:
            ToolError: as `ripgrep.search`. ToolInterrupted.
        """
        one_file = self.calls.ask("stat", str(query.path))[0].get("kind") != "directory"
        folder, start = (query.path.parent, f"./{query.path.name}") if one_file else (query.path, "./")
        below = tuple(path for path in self.private if query.path in path.parents)
        runner = Runner(folder, FarGround(self.link, folder), time.monotonic() + self.limits.timeout, interrupt)
        looks = Looks(self._modified, self._start_of)
        if "rg" in self.facts().programs:
            runner.command = ["rg"]
            return Search(query, self.limits, runner, start, below, one_file, looks=looks).run()
        from tools.environments.far.grep import GrepSearch  # noqa: PLC0415 - for machines without ripgrep

        return GrepSearch(query, self.limits, runner, start, below, one_file=one_file, looks=looks).run()

    def _modified(self, paths: Sequence[Path]) -> Sequence[int]:
        if not paths:
            return ()
        told, _ = self.calls.ask(
            "times", "/", b"\0".join(str(path).encode(errors="surrogateescape") for path in paths)
        )
        times: list[int] = told.get("times", [])
        return times

    def _start_of(self, path: Path) -> bytes:
        told, data = self.calls.ask("read", str(path), most=1 << 62, begin=SNIFFED_BYTES)
        if "errno" in told or "refused" in told:
            raise OSError(errno.EIO, told.get("text") or "it cannot be read", str(path))
        return data
