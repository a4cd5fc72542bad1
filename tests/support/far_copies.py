"""A workspace and a copy of it in another directory of this machine, whose shell runs the scripts."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from agent_core.cancel import CancelToken
from agent_core.remote.copy import Change, FarCopy, Limits, State, Store
from agent_core.remote.pull import Returned, bring_back
from agent_core.remote.remote_dir import Place
from tests.support.local_machine import LocalMachine
from tools.approval.sensitive import why_sensitive
from tools.environments.backends import Begin
from tools.environments.local_files import LocalFileSystem
from tools.environments.remote.connection import Streams
from tools.ports import FileSystem


class CopyBench:
    """Attributes:
    here: the workspace.
    there: the copy's directory.
    said: what was told of the progress.
    scripts: what was run there.
    where: what people call the machine; for copies that are made afterwards.
    twist: what becomes of a script before it is run there, for accidents.
    may_read: whether a file may be sent.
    """

    def __init__(self, folder: Path, limits: Limits | None = None, begin: Begin | None = None) -> None:
        self.here, self.there, self.folder = folder / "here", folder / "there", folder
        self.here.mkdir()
        self._elsewhere = begin
        self.where = "the near machine"
        self.said: list[str] = []
        self.limits = limits
        self.machine = LocalMachine()
        self.scripts: list[str] = []
        self.twist: Callable[[str], str] = lambda script: script
        self.may_read: Callable[[Path], bool] = lambda path: not why_sensitive(path)
        self.copy = self.another()

    def another(self) -> FarCopy:
        """The copy as a later process has it."""
        return FarCopy(
            self.here,
            Place(self.there, "", self.where, self._begin),
            Store(self.folder / "state"),
            self._may_read,
            self.limits,
            like=State(root=str(self.there), session="ses_1", both=True),
        )

    def _may_read(self, path: Path) -> bool:
        return self.may_read(path)

    def restart(self) -> None:
        """The process ends without a word, and another one goes on."""
        self.copy.store.let_go()
        self.copy = self.another()

    def git(self, *words: str) -> str:
        """Run git in the workspace."""
        done = subprocess.run(["git", *words], cwd=self.here, capture_output=True, text=True, check=True)
        return done.stdout

    def write(self, **files: str | bytes) -> None:
        """Write files here; a double underscore stands for a dot."""
        for name, content in files.items():
            path = self.here / name.replace("__", ".")
            path.write_bytes(content.encode() if isinstance(content, str) else content)

    def renew(self, token: CancelToken | None = None) -> list[str]:
        return list(self.copy.renew(self.said.append, token or CancelToken()))

    def changes(self) -> dict[str, Change]:
        found, _ = self.copy.changes(CancelToken(), 500)
        return {change.name: change for change in found}

    def back(self, files: FileSystem | None = None) -> Returned:
        found, words = self.copy.changes(CancelToken(), 500)
        done = bring_back(self.copy, found, files or LocalFileSystem())
        done.words.extend(words)
        return done

    def names_there(self) -> set[str]:
        """The files of the copy."""
        found = (path for path in self.there.rglob("*") if path.is_file() or path.is_symlink())
        names = {path.relative_to(self.there).as_posix() for path in found}
        return {name for name in names if not name.startswith((".git/", ".hermes-acp-copy"))}

    def run_there(self, script: str) -> str:
        """What a script prints in the copy."""
        whole = f"cd '{self.there}' && {{ {script}\n}} 2>&1; echo; echo ended"
        with self._begin(whole, Streams(subprocess.PIPE, subprocess.PIPE, subprocess.DEVNULL)) as process:
            return process.communicate(b"")[0].decode().rpartition("\nended")[0]

    @contextmanager
    def _begin(self, script: str, streams: Streams) -> Iterator[subprocess.Popen[bytes]]:
        self.scripts.append(script)
        if self._elsewhere is not None:
            with self._elsewhere(script, streams) as process:
                yield process
            return
        process = self.machine.start(self.twist(script), streams)
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    stream.close()
