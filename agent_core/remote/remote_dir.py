"""The directory of a copy on the other machine: the scripts that are run there, and what they tell."""

from __future__ import annotations

import contextlib
import gzip
import os
import re
import subprocess
import tarfile
import threading
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from agent_core.remote.select import MARKER, Fact, Packed, Tell, digest_of, is_name, link_to
from tools.environments.backends import Begin
from tools.environments.guardian import signal_group
from tools.environments.remote.connection import Streams
from tools.environments.remote.scripts import new_token, quoted
from tools.errors import CommandError, ToolInterrupted
from tools.light_dataclass import dataclass
from tools.ports import Interrupt

# The scripts by which a copy is made, looked through and fetched; all that they need is what small systems have. Each
# prints a token that nobody there knows beforehand, and behind it how it went: what it could not do whole counts as
# not done. `{root}` is the copy's directory and `{id}` names the copy. Output may be a terminal's, to which gzip
# writes nothing: so `cat` does.

BEGUN, WHOLE = "begun", "whole"
_IN_GIT = ".git/hermes-acp-copy"
"""The marker once more, where there is a repository: `git clean -x` takes the other one away."""
_MARKED = f"$(cat {MARKER} {_IN_GIT} 2>/dev/null)"
_OURS = f"""cd {{root}} 2>/dev/null && case "{_MARKED}" in
*"{{id}} {WHOLE}"*) [ -e {MARKER} ] || echo "{{id}} {WHOLE}" >{MARKER} || : ;;
*) false ;;
esac"""

_TAKE = """umask 022; LC_ALL=C; export LC_ALL
say() {{ printf '\\n%s %s\\n' {token} "$1"; exit 0; }}
d=$(mktemp -d "${{TMPDIR:-/tmp}}/hermes-acp-in.XXXXXX") || say 'no: there is no room in its temporary directory'
trap 'rm -rf "$d"' EXIT
cat >"$d/in" || say 'no: there is no room in its temporary directory'
[ "$(sha256sum <"$d/in" | cut -c 1-64)" = {digest} ] || say 'no: it did not come whole'
"""

FIRST = (
    _TAKE
    + f"""
mkdir -p {{root}} && cd {{root}} || say 'no: its directory cannot be made there'
case "{_MARKED}" in
*"{{id}} {BEGUN}"* | *"{{id}} {WHOLE}"*) find . -mindepth 1 -maxdepth 1 ! -name {MARKER} -exec rm -rf {{{{}}}} +
  echo "{{id}} {BEGUN}" >{MARKER} ;;
*) [ -z "$(ls -A .)" ] || say full; echo "{{id}} {BEGUN}" >{MARKER} || say 'no: its directory cannot be written' ;;
esac
gunzip -c <"$d/in" | tar -xof - || say 'no: it could not be unpacked'
{{git}}
[ ! -d .git ] || echo "{{id}} {WHOLE}" >{_IN_GIT}
echo "{{id}} {WHOLE}" >{MARKER} && say done
say 'no: its directory cannot be written'
"""
)
"""Unpacks what it reads into an empty directory, or into one that an attempt before it has begun."""

GIT = f"""
if command -v git >/dev/null 2>&1; then (
  GIT_CONFIG_GLOBAL=/dev/null; GIT_CONFIG_NOSYSTEM=1; export GIT_CONFIG_GLOBAL GIT_CONFIG_NOSYSTEM
  git() {{{{ command git -c core.looseCompression=0 -c core.fsync=none -c gc.auto=0 -c core.autocrlf=false "$@"; }}}}
  git init -q . && {{branch}} echo /{MARKER} >>.git/info/exclude &&
  git add -A -f -- . ':!{MARKER}' && git -c user.name=hermes-acp -c user.email=hermes-acp@localhost \\
    -c commit.gpgSign=false -c core.hooksPath=/dev/null commit -q --allow-empty -m 'What was copied here'
) </dev/null >/dev/null 2>&1; fi
"""
"""Makes what was unpacked the first commit of a repository, so that git tells there what was changed."""

CHECKED, REPLACED = f"{MARKER}.checked", f"{MARKER}.replaced"
LATER = (
    _TAKE
    + f"""
{_OURS} || say gone
mkdir "$d/notes" && gunzip -c <"$d/in" | tar -xof - -C "$d/notes" ./{CHECKED} ./{REPLACED} || say 'no: not unpacked'
[ ! -s "$d/notes/{CHECKED}" ] || sha256sum -c "$d/notes/{CHECKED}" >/dev/null 2>&1 || say moved
xargs -0 sh -c 'rm -f "$@" 2>/dev/null; for f; do
  [ -d "$f" ] && [ ! -L "$f" ] || continue
  find "$f" -depth -type d -exec rmdir {{{{}}}} + 2>/dev/null
  [ ! -d "$f" ] || mv "$f" "$f.was-a-directory-$$"
done' _ <"$d/notes/{REPLACED}"
gunzip -c <"$d/in" | tar -xof -; s=$?
rm -f {CHECKED} {REPLACED}
[ $s = 0 ] || say 'no: it could not be unpacked'
say done
"""
)
"""Unpacks what has changed here since, if the files that it replaces or removes are what they were.

A directory in the place of a file has only what is passed over in it, as caches: it is set aside.
"""

PASSED_OVER = (".git", "node_modules", "__pycache__", ".venv", ".tox", ".mypy_cache", ".pytest_cache", ".ruff_cache")
LARGEST_HASHED = 256 * 1024 * 1024
FOUND = f"""LC_ALL=C; export LC_ALL
{_OURS} || {{{{ echo {{token}} gone; exit 0; }}}}
echo {{token}} found
"""
LOOK = (
    FOUND
    + f"""n='
'
{{{{
look() {{{{ find . \\( {{passed}} \\) -prune -o "$@"; }}}}
part() {{{{ printf '\\000%s\\000' {{token}}; }}}}
look -type f -print0; part
look -type f -perm -100 -print0; part
look -type l -exec sh -c 'for f; do printf "%s\\000%s\\000" "$f" "$(readlink "$f")"; done' _ {{{{}}}} +; part
look ! -type f ! -type d ! -type l -print0; part
look -type f ! -size +{LARGEST_HASHED}c ! -path "*$n*" -exec sha256sum {{{{}}}} + 2>/dev/null; part
printf end
}}}} | gzip -c | cat
"""
)
"""Tells all files of the copy; `looked` reads its parts."""

FETCH = FOUND + "xargs -0 tar -cf - 2>/dev/null | gzip -c | cat\n"
"""Gives the files whose names it reads."""


# What the machine tells of the files. It may be hostile: nothing is taken on trust but contents.

_MOST_TOLD = 128 * 1024 * 1024
_PIECE = 65_536
_LINE = re.compile(rb"([0-9a-f]{64}) [ *](.+)")


@dataclass(frozen=True, slots=True)
class Looked:
    """The files of a copy.

    Attributes:
        files: links, and files whose content is known by its hash.
        unknown: other regular files: they could not be read there, are too large, or have names that no line tells.
        odd: pipes, devices.
    """

    files: Mapping[str, Fact]
    unknown: frozenset[str] = frozenset()
    odd: frozenset[str] = frozenset()

    def has(self, name: str) -> bool:
        """Whether anything is there."""
        return name in self.files or name in self.unknown or name in self.odd


class Unzipped(gzip.GzipFile):
    """What was compressed, as a stream of `most` bytes at most."""

    def __init__(self, stream: IO[bytes], most: int = _MOST_TOLD) -> None:
        super().__init__(fileobj=stream)
        self._left, self._most = most, most

    def read(self, size: int | None = _PIECE) -> bytes:
        """The next bytes of it; none at its end.

        Raises:
            CommandError: it is too much, or not whole.
        """
        try:
            data = super().read(size)
        except (OSError, EOFError, zlib.error) as problem:
            raise CommandError("What came from there is no whole stream: the connection broke off.") from problem
        self._left -= len(data)
        if self._left < 0:
            raise CommandError(f"More than {self._most // 1024 // 1024} MB came from there; nothing of it was taken.")
        return data


def looked(told: bytes, token: str) -> Looked:
    """What `scripts.LOOK` has told.

    Raises:
        CommandError: it is not whole.
    """
    parts = told.split(b"\0" + token.encode() + b"\0")
    if len(parts) != 6 or parts[5] != b"end":  # noqa: PLR2004 - as the script has them
        raise CommandError("The files there could not be looked through: what was told of them is not whole.")
    files, runnable, links, odd = (part.removesuffix(b"\0").split(b"\0") for part in parts[:4])
    present, executable = _names(files), _names(runnable)
    lines = (_LINE.fullmatch(line) for line in parts[4].split(b"\n"))
    digests = {_name(found[2]): found[1].decode() for found in lines if found is not None}
    known = {name: Fact(digests[name], name in executable) for name in present if name in digests}
    targets = zip(links[::2], links[1::2], strict=False)
    known |= {name: link_to(os.fsdecode(target)) for raw, target in targets if (name := _name(raw))}
    return Looked(known, present - known.keys(), _names(odd))


def contents(stream: IO[bytes], wanted: Mapping[str, str], most: int, largest: int) -> dict[str, bytes]:
    """The contents of files, out of an archive that `scripts.FETCH` has made. Nothing is unpacked.

    Args:
        wanted: names, and the hashes that they were told to have: what is another meanwhile is left out.
        most: bytes of all of them.
        largest: bytes of one.

    Raises:
        CommandError: it is not whole.
    """
    found: dict[str, bytes] = {}
    size = 0
    try:
        with tarfile.open(fileobj=Unzipped(stream, 2 * most), mode="r|", ignore_zeros=True) as archive:
            for entry in archive:
                name = entry.name.removeprefix("./")
                if name not in wanted or name in found:
                    continue
                if entry.islnk():
                    content = found.get(entry.linkname.removeprefix("./"))
                elif entry.isreg() and entry.size <= largest and size + entry.size <= most:
                    taken = archive.extractfile(entry)
                    content = None if taken is None else taken.read()
                else:
                    continue
                if content is not None and digest_of(content) == wanted[name]:
                    found[name] = content
                    size += len(content)
    except (tarfile.TarError, EOFError, ValueError, OverflowError, RecursionError) as problem:
        raise CommandError(f"What came from there is no archive as expected: {problem}.") from problem
    return found


def _names(raw: Iterable[bytes]) -> frozenset[str]:
    return frozenset(name for each in raw if (name := _name(each)))


def _name(raw: bytes) -> str:
    """The name that `find` has told, if it may be one; else ''."""
    name = os.fsdecode(raw)
    return name[2:] if name.startswith("./") and is_name(name[2:]) else ""


# The directory: what is asked of it, each by a script of its own.

_MOST_WORDS = 100_000
_KILL = 9
_ANSWER_SECONDS, _SEND_SECONDS = 300.0, 3600.0


class PlaceGone(CommandError):
    """The copy is not there any more: its place has ended, or somebody has removed it."""


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

    def put_first(self, packed: Packed, branch: str | None, tell: Tell, turn: Interrupt) -> None:
        """Fill the empty directory: whole, or to be begun anew.

        Args:
            branch: of the repository that it is to be; '' for the usual one, None for no repository.

        Raises:
            CommandError: it is not empty, or it could not be done. ToolInterrupted: it was ended.
        """
        named = f"git symbolic-ref HEAD {quoted(f'refs/heads/{branch}')} &&" if branch else ""
        git = "" if branch is None else GIT.format(branch=named)
        self._sent(FIRST, packed, tell, turn, git=git)

    def put_later(self, packed: Packed, tell: Tell, turn: Interrupt) -> None:
        """Replace and remove what the notes in `packed` name.

        Raises:
            PlaceGone, FilesMoved: nothing was done. CommandError: it could not be done. ToolInterrupted: it was
                ended.
        """
        self._sent(LATER, packed, tell, turn)

    def check(self, turn: Interrupt) -> None:
        """See that the copy is there.

        Raises:
            PlaceGone: it is not. CommandError: nobody knows. ToolInterrupted: it was ended.
        """
        with self._answer(FOUND, b"", turn):
            return

    def look(self, passed_over: Iterable[str], turn: Interrupt) -> Looked:
        """All files of the copy.

        Raises:
            PlaceGone, CommandError: it cannot be looked through. ToolInterrupted: it was ended.
        """
        passed = " -o ".join(f"-name {quoted(name)}" for name in passed_over)
        with self._answer(LOOK, b"", turn, passed=passed) as (stream, token):
            return looked(b"".join(iter(Unzipped(stream).read, b"")), token)

    def fetch(self, wanted: Mapping[str, str], most: int, largest: int, turn: Interrupt) -> dict[str, bytes]:
        """Contents by name, as far as they still have the hashes that are given, and within the bounds.

        Raises:
            PlaceGone, CommandError: they cannot be fetched. ToolInterrupted: it was ended.
        """
        given = b"".join(os.fsencode(f"./{name}") + b"\0" for name in wanted)
        with self._answer(FETCH, given, turn) as (stream, _):
            return contents(stream, wanted, most, largest)

    def _sent(self, script: str, packed: Packed, tell: Tell, turn: Interrupt, **words: str) -> None:
        """Give a script the stream, and see what it says of it."""
        filled, token = self._filled(script, digest=packed.digest, **words)
        with self._running(filled, turn, _SEND_SECONDS) as (given, told):
            with contextlib.suppress(BrokenPipeError), given:  # who does not read on has told why
                packed.send(given.write, tell)
            text = told.read(_MOST_WORDS).decode("utf-8", "replace")
        match text.rpartition(f"\n{token} ")[2].strip() if f"\n{token} " in text else "no: the connection broke off":
            case "done":
                return
            case "gone":
                raise PlaceGone(f"The copy of the workspace on {self.where} is gone.")
            case "moved":
                raise FilesMoved(f"What was to be replaced on {self.where} is not what it was.")
            case "full":
                raise CommandError(
                    f"{self.root} on {self.where} is not empty, so the workspace cannot be copied to it. Name "
                    "another directory there in terminal.cwd, or set terminal.sync: off."
                )
            case said:
                why = said.removeprefix("no: ")
                raise CommandError(f"The workspace could not be copied to {self.root} on {self.where}: {why}.")

    def _filled(self, script: str, **words: str) -> tuple[str, str]:
        """The script, and the token that it prints."""
        token = new_token()
        return script.format(root=quoted(str(self.root)), id=self.id, token=token, **words), token

    @contextmanager
    def _answer(self, script: str, given: bytes, turn: Interrupt, **words: str) -> Iterator[tuple[IO[bytes], str]]:
        """What a script prints behind its first line of ours, and its token."""
        filled, token = self._filled(script, **words)
        with self._running(filled, turn, _ANSWER_SECONDS) as (inward, outward):
            giving = threading.Thread(target=_give, args=(inward, given), name="names of files", daemon=True)
            giving.start()
            try:
                self._see_first(outward, token)
                yield outward, token
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


def _give(stream: IO[bytes], data: bytes) -> None:
    try:
        with stream:
            stream.write(data)
    except OSError:
        return  # whoever reads has ended, and its output tells why
