"""The directory of a copy in another place: what is asked of it, each by a script of its own."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from agent_core.far_copy import scripts
from agent_core.far_copy.looking import Looked, contents, looked, unzipped
from agent_core.far_copy.packing import Packed
from tools.environments.backends import Begin
from tools.environments.guardian import signal_group
from tools.environments.remote.connection import Streams
from tools.environments.remote.scripts import new_token, quoted
from tools.errors import CommandError, ToolInterrupted
from tools.light_dataclass import dataclass
from tools.ports import Interrupt

_PIECE = 65_536
_MOST_WORDS = 100_000
_KILL = 9
_ANSWER_SECONDS, _SEND_SECONDS = 300.0, 3600.0


class PlaceGone(CommandError):
    """The copy is not there any more: its place has ended, or somebody has removed it."""


class PlaceFull(CommandError):
    """There is something else where the copy is to be."""


class FilesMoved(CommandError):
    """What was to be replaced there is not what it was."""


@dataclass(frozen=True, slots=True)
class Place:
    """One copy.

    Attributes:
        root: its directory there.
        id: tells it from others; plain letters and digits.
        where: what people call the machine.
        begin: starts scripts there.
    """

    root: Path
    id: str
    where: str
    begin: Begin

    def put_first(self, packed: Packed, branch: str | None, on_sent: Callable[[int], None], turn: Interrupt) -> None:
        """Fill the empty directory: whole, or to be begun anew.

        Args:
            branch: of the repository that it is to be; '' for the usual one, None for no repository.
            on_sent: is told how many bytes were sent.

        Raises:
            PlaceFull: it is not empty. CommandError: it could not be done. ToolInterrupted: it was ended.
        """
        named = f"git symbolic-ref HEAD {quoted(f'refs/heads/{branch}')} &&" if branch else ""
        git = "" if branch is None else scripts.GIT.format(branch=named)
        said = self._sent(scripts.FIRST, packed, on_sent, turn, git=git)
        if said == "full":
            raise PlaceFull(
                f"{self.root} on {self.where} is not empty, so the workspace cannot be copied to it. Name another "
                "directory there in terminal.cwd, or set terminal.sync: off."
            )
        self._see(said)

    def put_later(self, packed: Packed, on_sent: Callable[[int], None], turn: Interrupt) -> None:
        """Replace and remove what the notes in `packed` name.

        Raises:
            PlaceGone, FilesMoved: nothing was done. CommandError: it could not be done. ToolInterrupted: it was
                ended.
        """
        said = self._sent(scripts.LATER, packed, on_sent, turn)
        if said == "moved":
            raise FilesMoved(f"What was to be replaced on {self.where} is not what it was.")
        self._see(said)

    def check(self, turn: Interrupt) -> None:
        """See that the copy is there.

        Raises:
            PlaceGone: it is not. CommandError: nobody knows. ToolInterrupted: it was ended.
        """
        token = new_token()
        script = scripts.CHECK.format(root=quoted(str(self.root)), id=self.id, token=token)
        with self._answer(script, token, b"", turn):
            return

    def look(self, passed_over: Iterable[str], turn: Interrupt) -> Looked:
        """All files of the copy.

        Raises:
            PlaceGone, CommandError: it cannot be looked through. ToolInterrupted: it was ended.
        """
        token = new_token()
        passed = " -o ".join(f"-name {quoted(name)}" for name in passed_over)
        script = scripts.LOOK.format(root=quoted(str(self.root)), id=self.id, token=token, passed=passed)
        with self._answer(script, token, b"", turn) as stream:
            return looked(b"".join(unzipped(stream)), token)

    def fetch(self, wanted: Mapping[str, str], most: int, largest: int, turn: Interrupt) -> dict[str, bytes]:
        """Contents by name, as far as they still have the hashes that are given, and within the bounds.

        Raises:
            PlaceGone, CommandError: they cannot be fetched. ToolInterrupted: it was ended.
        """
        token = new_token()
        script = scripts.FETCH.format(root=quoted(str(self.root)), id=self.id, token=token)
        given = b"".join(os.fsencode(f"./{name}") + b"\0" for name in wanted)
        with self._answer(script, token, given, turn) as stream:
            return contents(stream, wanted, most, largest)

    def _sent(
        self, script: str, packed: Packed, on_sent: Callable[[int], None], turn: Interrupt, **words: str
    ) -> str:
        """What the script says of a stream that it was sent."""
        token = new_token()
        filled = script.format(root=quoted(str(self.root)), id=self.id, token=token, digest=packed.digest, **words)
        with self._running(filled, turn, _SEND_SECONDS) as (given, told):
            with contextlib.suppress(BrokenPipeError):  # who does not read on has told why
                _give_all(given, packed.file, on_sent)
            text = told.read(_MOST_WORDS).decode("utf-8", "replace")
        return text.rpartition(f"\n{token} ")[2].strip() if f"\n{token} " in text else "no: the connection broke off"

    def _see(self, said: str) -> None:
        if said == "gone":
            raise PlaceGone(f"The copy of the workspace on {self.where} is gone.")
        if said != "done":
            why = said.removeprefix("no: ")
            raise CommandError(f"The workspace could not be copied to {self.root} on {self.where}: {why}.")

    @contextmanager
    def _answer(self, script: str, token: str, given: bytes, turn: Interrupt) -> Iterator[IO[bytes]]:
        """What a script prints behind its first line of ours."""
        with self._running(script, turn, _ANSWER_SECONDS) as (inward, outward):
            giving = threading.Thread(target=_give, args=(inward, given), name="names of files", daemon=True)
            giving.start()
            try:
                self._see_first(outward, token)
                yield outward
            finally:
                giving.join(1.0)

    def _see_first(self, stream: IO[bytes], token: str) -> None:
        # Some people's shells greet whoever signs in.
        seen = 0
        while line := stream.readline(_MOST_WORDS):
            seen += len(line)
            if line.startswith(token.encode()):
                break
            if seen > _MOST_WORDS:
                raise CommandError(f"The shell of {self.where} prints too much of its own at its start.")
        if not line:
            raise CommandError(f"{self.where} did not answer. Try again.")
        if line.split() == [token.encode(), b"gone"]:
            raise PlaceGone(f"The copy of the workspace on {self.where} is gone.")

    @contextmanager
    def _running(self, script: str, turn: Interrupt, seconds: float) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
        """A script's input and output; a cancel ends it, and so does the time."""
        if turn.is_set():
            raise ToolInterrupted
        pipes = Streams(subprocess.PIPE, subprocess.PIPE, subprocess.DEVNULL)
        try:
            with self.begin(script, pipes) as process:
                forget = turn.on_cancel(lambda: _end(process))
                late = threading.Timer(seconds, _end, (process,))
                late.daemon = True
                late.start()
                try:
                    assert process.stdin is not None  # noqa: S101 - as it was asked for
                    assert process.stdout is not None  # noqa: S101 - the same
                    yield process.stdin, process.stdout
                finally:
                    late.cancel()
                    forget()
        except (OSError, CommandError) as problem:
            if turn.is_set():
                raise ToolInterrupted from problem
            if isinstance(problem, CommandError):
                raise
            raise CommandError(f"The connection to {self.where} broke off: {problem.strerror}.") from problem
        if turn.is_set():
            raise ToolInterrupted


def _end(process: subprocess.Popen[bytes]) -> None:
    signal_group(process.pid, _KILL)


def _give_all(given: IO[bytes], file: Path, on_sent: Callable[[int], None]) -> None:
    with given, file.open("rb") as stream:
        sent = 0
        while data := stream.read(_PIECE):
            given.write(data)
            sent += len(data)
            on_sent(sent)


def _give(stream: IO[bytes], data: bytes) -> None:
    try:
        with stream:
            stream.write(data)
    except OSError:
        return  # whoever reads has ended, and its output tells why
