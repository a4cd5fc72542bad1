"""Files on another machine, asked for through a Python program there or a plain shell."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import json
import os
import select
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from tools.environments.atomic_writes import file_error
from tools.environments.local_files import is_pseudo
from tools.environments.remote.connection import MOST_BYTES, Footing, Link, NotConnected, Streams
from tools.environments.remote.scripts import new_token, quoted
from tools.errors import CommandError, FileAccessError, FileChanged, FileMissing, FileRefused
from tools.light_dataclass import dataclass
from tools.ports import FileStat, FileSystem, Interrupt, SearchQuery, SearchResult, real_path

# The calls that are made of another machine's files, one at a time; two ways to answer them implement `FileCalls`.
# The first is a program (`file_program.py`) that the python3 there runs.

_HEAD = struct.Struct(">I")
_HELLO = b"hermes-files\n"
_SILENT_SECONDS, _WHOLE_SECONDS = 60.0, 900.0
_KINDS = frozenset({"file", "directory", "other"})
_MOST_TOLD, _MOST_WORDS = 64 * 1024 * 1024, 200
_MOST_GREETING = 20_000
# A connection's end reaches its programs one after the other.
_NOTICED_SECONDS = 1.0
# What may be asked again when the connection has broken off meanwhile.
_ONLY_LOOKS = frozenset({"stat", "read", "list", "resolve", "times", "leads"})

Told = dict[str, Any]


class BadAnswer(ValueError):
    """What came is no answer, though the connection holds: what runs there is not what was started."""


class FileCalls(Protocol):
    """Answers `file_program`'s requests. Safe to use from several threads."""

    def ask(self, do: str, path: str, body: bytes = b"", **fields: Any) -> tuple[Told, bytes]:
        """One request.

        Returns:
            what `file_program` tells, `errno` or `refused` included, and raw bytes.

        Raises:
            CommandError, FileAccessError: the machine cannot be reached.
        """
        ...

    def close(self) -> None:
        """Nothing more is asked."""
        ...


class ProgramCalls:
    """Asks a program there that goes on running, so that a call costs one way there and back."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._footing: Footing | None = None

    def ask(self, do: str, path: str, body: bytes = b"", **fields: Any) -> tuple[Told, bytes]:
        """One request."""
        asked = json.dumps({"do": do, "path": path, "follows": len(body), **fields}).encode("ascii")
        with self._lock:
            for is_last in (do not in _ONLY_LOOKS, True):
                process = self._running()
                try:
                    return _exchange(process, do, _HEAD.pack(len(asked)) + asked + body)
                except BadAnswer as problem:
                    self._end()
                    raise self._odd(do, path, problem) from problem
                except (OSError, EOFError, TimeoutError) as problem:
                    self._end()
                    if is_last:
                        raise self._broken(do, path) from problem
                    if self._footing is not None:
                        self._link.holds(self._footing, wait=_NOTICED_SECONDS)
        raise self._broken(do, path)

    def close(self) -> None:
        """End the program."""
        with self._lock:
            self._end()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._footing is not None and self._link.holds(self._footing):
            return self._process
        self._end()
        try:
            return self._begun()
        except NotConnected:
            # It broke off unnoticed: nothing was sent yet.
            return self._begun()

    def _begun(self) -> subprocess.Popen[bytes]:
        self._footing = self._link.footing()
        source = _program()
        script = f"exec python3 -I -X utf8 -c {quoted(f'import sys; exec(sys.stdin.buffer.read({len(source)}))')}"
        streams = Streams(subprocess.PIPE, subprocess.PIPE, subprocess.DEVNULL)
        process = self._process = self._link.start(script, streams)
        try:
            if process.stdin is not None:
                process.stdin.write(source)
                process.stdin.flush()
            hello = _behind_greeting(process)
        except (OSError, EOFError, TimeoutError) as problem:
            self._end()
            if not self._link.holds(self._footing, wait=_NOTICED_SECONDS):
                raise NotConnected(
                    f"The connection to {self._link.machine.name} has broken off. Try again."
                ) from problem
            raise CommandError(
                f"The python3 of {self._link.machine.name} does not start. Set terminal.files_by to sh to do without."
            ) from problem
        if not hello:
            self._end()
            raise CommandError(f"The shell of {self._link.machine.name} prints too much of its own at its start.")
        return process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self._link.ended(process)

    def _odd(self, do: str, path: str, problem: BadAnswer) -> FileAccessError:
        return FileAccessError(
            f"The python3 of {self._link.machine.name} gave no answer that means anything when {path} was asked for "
            f"({do}): {problem}. See what has become of it there, or set terminal.files_by to sh."
        )

    def _broken(self, do: str, path: str) -> FileAccessError:
        unsure = "" if do in _ONLY_LOOKS else " Whether it was done is not known: look at it before you go on."
        return FileAccessError(
            f"The connection to {self._link.machine.name} broke off while {path} was asked for ({do}).{unsure}"
        )


def _exchange(process: subprocess.Popen[bytes], do: str, request: bytes) -> tuple[Told, bytes]:
    if process.stdin is None:
        raise EOFError
    process.stdin.write(request)
    process.stdin.flush()
    size: int = _HEAD.unpack(_read(process, _HEAD.size))[0]
    if size > _MOST_TOLD:
        raise BadAnswer(f"it has {size:,} bytes")
    try:
        told: Told = json.loads(_read(process, size))
        follows = int(told["follows"])
        is_answer = 0 <= follows <= MOST_BYTES and _is_answer(do, told)
    except (ValueError, LookupError, TypeError, RecursionError) as problem:
        raise BadAnswer(f"{type(problem).__name__}: {problem}"[:_MOST_WORDS]) from problem
    if not is_answer:
        raise BadAnswer(f"{told}"[:_MOST_WORDS])
    return told, _read(process, follows)


def _is_answer(do: str, told: Told) -> bool:
    words = [told[name] for name in ("errno", "refused", "text") if name in told]
    if not all(isinstance(word, str) for word in words):
        return False
    if do == "stat" and not told.keys() & {"errno", "refused"}:
        return told.get("kind") in _KINDS and all(
            isinstance(told.get(name), int) for name in ("size", "mtime", "mode")
        )
    return all(isinstance(each, int) for each in told.get("times", ()))


def _behind_greeting(process: subprocess.Popen[bytes]) -> bool:
    """Read up to the program's first words: what comes before them is the shell's. False where there is too much."""
    seen = b""
    while not seen.endswith(_HELLO):
        seen += _read(process, 1)
        if len(seen) > _MOST_GREETING:
            return False
    return True


def _read(process: subprocess.Popen[bytes], count: int) -> bytes:
    """Exactly so many bytes.

    Raises:
        EOFError: it has ended. TimeoutError: it says nothing, or too little for too long.
    """
    if process.stdout is None:
        raise EOFError
    descriptor = process.stdout.fileno()
    readable = select.poll()
    readable.register(descriptor, select.POLLIN)
    data, until = bytearray(), time.monotonic() + _WHOLE_SECONDS
    while len(data) < count:
        if time.monotonic() > until or not readable.poll(_SILENT_SECONDS * 1000):
            raise TimeoutError
        piece = os.read(descriptor, min(count - len(data), 1 << 20))
        if not piece:
            raise EOFError
        data += piece
    return bytes(data)


@cache
def _program() -> bytes:
    return Path(__file__).with_name("file_program.py").read_bytes()


# Files on another machine. No policy here: `gated_ports` stands in front.

_MOST_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class FarFileSystem:
    """Implements `tools.ports.FileSystem` on another machine, and `Resolves`.

    Attributes:
        where: what messages call the machine.
        search_with: searches there; takes the query, and what ends it.
        reach: sees to a connection before something is asked for; raises CommandError.
    """

    calls: FileCalls
    where: str
    search_with: Callable[[SearchQuery, Interrupt | None], SearchResult]
    interrupt: Interrupt | None = None
    reach: Callable[[], object] | None = None

    def resolve(self, path: Path) -> Path:
        """Where the path leads, with all links resolved."""
        told, data = self._ask("resolve", str(path))
        self._check("look at", path, told)
        return Path(os.fsdecode(data))

    def leads(self, places: Sequence[str]) -> Sequence[Path]:
        """Where what fits absolute patterns of a shell leads, with all links resolved."""
        told, data = self._ask("leads", "/", b"\0".join(map(os.fsencode, places)))
        self._check("look at", Path("/"), told)
        return [Path(os.fsdecode(name)) for name in data.split(b"\0") if name]

    def stat(self, path: Path) -> FileStat | None:
        """Facts of the path, None when nothing is there."""
        told, _ = self._ask("stat", str(path))
        if told.get("errno") in {"ENOENT", "ENOTDIR"}:
            return None
        self._check("look at", path, told)
        return FileStat(told["kind"], told["size"], told["mtime"], told["mode"])

    def open(self, path: Path) -> BinaryIO:
        """The content of a regular file, all of it."""
        self._refuse_pseudo(path)
        told, data = self._ask("read", str(path), most=_MOST_BYTES)
        self._check("read", path, told)
        return io.BytesIO(data)

    def open_saved(self, path: Path) -> BinaryIO:
        """As `open`: no editor has another text of it."""
        return self.open(path)

    def write(self, path: Path, data: bytes, *, expected: bytes | None) -> bytes:
        """Put `data` in place of `expected`, whole or not at all; what is in the file now is `data`."""
        self._refuse_pseudo(path)
        if expected is None:
            told, _ = self._ask("create", str(path), data)
            self._check("create", path, told)
        else:
            told, _ = self._ask("write", str(path), expected + data, expected=len(expected))
            self._check("write", path, told)
        return data

    def remarks(self) -> tuple[str, ...]:
        """None: what was written was written by us."""
        return ()

    def list(self, path: Path) -> Sequence[str]:
        """Names in a directory, sorted."""
        if is_pseudo(path):
            raise FileRefused(f"Could not list {path}: what is below /proc, /sys and /dev is not looked at.")
        told, data = self._ask("list", str(path))
        self._check("list", path, told)
        return [os.fsdecode(name) for name in data.split(b"\0") if name]

    def remove(self, path: Path, *, expected: bytes) -> None:
        """Delete a file, or a link to a file, whose content is `expected`."""
        self._refuse_pseudo(path)
        told, _ = self._ask("remove", str(path), expected)
        self._check("delete", path, told)

    def rename(self, source: Path, target: Path) -> None:
        """Move a file to a path where nothing is; the target's parents are created."""
        told, _ = self._ask("rename", str(source), target=str(target))
        if told.get("refused") == "exists":
            raise FileChanged(f"There is already something at {target}; nothing was changed. Look at it first.")
        self._check("move", source, told)

    def change_mode(self, path: Path, mode: int) -> None:
        """Give a file other permission bits."""
        told, _ = self._ask("mode", str(path), mode=mode)
        self._check("change the mode of", path, told)

    def search(self, query: SearchQuery) -> SearchResult:
        """Search names or content below a path, there."""
        facts = self.stat(query.path)
        if facts is None:
            raise FileMissing(f"Could not search {query.path}: there is nothing at that path on {self.where}.")
        if facts.kind == "other" or is_pseudo(query.path):
            raise FileRefused(f"Could not search {query.path}: it is neither a directory nor a regular file.")
        return self.search_with(query, self.interrupt)

    def _refuse_pseudo(self, path: Path) -> None:
        if is_pseudo(path):
            raise FileRefused(f"Could not read {path}: files below /proc, /sys and /dev are not read as text.")

    def _ask(self, do: str, path: str, body: bytes = b"", **fields: Any) -> tuple[Told, bytes]:
        if self.reach is not None:
            self.reach()
        return self.calls.ask(do, path, body, **fields)

    def _check(self, trying: str, path: Path, told: Told) -> None:
        if (word := told.get("refused")) is not None:
            raise _refused(trying, path, word, told.get("text", ""))
        if (name := told.get("errno")) is None:
            return
        number = getattr(errno, name, errno.EIO)
        raise file_error(trying, path, OSError(number, told.get("text") or os.strerror(number), str(path)))


def _refused(trying: str, path: Path, word: str, text: str) -> FileAccessError:
    match word:
        case "changed":
            return FileChanged(f"{path} has changed since it was read; nothing was written. Read it again.")
        case "exists":
            return FileChanged(f"{path} already exists; nothing was written. Read it first.")
        case "size":
            return FileRefused(
                f"Could not {trying} {path}: it has {text} bytes, and {_MOST_BYTES} at most are fetched. "
                "Use head, tail or sed in the terminal."
            )
        case "link":
            return FileRefused(
                f"Could not {trying} {path}: it is a symbolic link that leads elsewhere from there. Use the terminal."
            )
        case _:
            kind = "a directory" if text == "directory" else "a device, pipe or socket"
            return FileRefused(f"Could not {trying} {path}: it is {kind}, not a regular file.")


# The second, for a machine without python3: each call is a short script of POSIX shell and the usual small programs.
# What is resolved and what is touched are two steps here: a link that somebody puts between the two is followed. The
# content that a change was made from is compared by its SHA-256.

_SECONDS = 120.0
_MOST_WORDS_OF_SHELL = 200
_COMMON = """
no() { echo "no $1"; exit 0; }
refuse() { echo "refused $1 $2"; exit 0; }
facts() { stat -c "$1" "$3" 2>/dev/null || stat -f "$2" "$3"; }
sum() { { sha256sum <"$1" || shasum -a 256 <"$1" || openssl dgst -sha256 -r <"$1"; } 2>/dev/null | cut -c 1-64; }
d=${p%/*}; d=${d:-/}
settled() {
  case $p in /*) ;; *) no EINVAL ;; esac
  [ -d "$d" ] || { [ -e "$d" ] && no ENOTDIR; no ENOENT; }
  [ "$(cd -P "$d" 2>/dev/null && pwd -P)" = "$d" ] || no ELOOP
}
plain() {
  [ -d "$p" ] && refuse kind directory
  [ -e "$p" ] || { [ -h "$p" ] && no ELOOP; no ENOENT; }
  [ -f "$p" ] || refuse kind other
}
same() { [ "$(sum "$p")" = "$expected" ] || refuse changed; }
t=$d/$temporary
whole() { [ "$(wc -c <"$t")" -eq "$size" ] || { rm -f "$t"; no EIO; }; }
"""
_SCRIPTS = {
    "stat": """
settled; [ -h "$p" ] && no ELOOP; [ -e "$p" ] || no ENOENT
k=other; [ -f "$p" ] && k=file; [ -d "$p" ] && k=directory
echo "ok $k $(facts '%s %Y %a' '%z %m %Lp' "$p")"
""",
    "read": """
settled; plain; [ -h "$p" ] && no ELOOP; [ -r "$p" ] || no EACCES
n=$(wc -c <"$p"); [ "$n" -gt "$most" ] && refuse size "$n"
echo ok; [ -z "$begin" ] || exec head -c "$begin" "$p"
exec cat "$p"
""",
    "create": """
[ -e "$p" ] || [ -h "$p" ] && refuse exists
mkdir -p "$d" 2>/dev/null || no EACCES
settled; cat >"$t" || { rm -f "$t"; no EACCES; }
whole
ln "$t" "$p" 2>/dev/null && { rm -f "$t"; echo ok; exit 0; }
[ -e "$p" ] || [ -h "$p" ] && { rm -f "$t"; refuse exists; }
mv "$t" "$p" && echo ok
""",
    "write": """
settled; plain; [ -h "$p" ] && no ELOOP
same
if (umask 077; cat >"$t"); then
  whole
  o=$(facts %u:%g %u:%g "$p")
  [ "$(facts %u:%g %u:%g "$t")" = "$o" ] || chown "$o" "$t" 2>/dev/null || kept=no
  chmod "$(facts %a %Lp "$p")" "$t"
  [ "$(sum "$p")" = "$expected" ] || { rm -f "$t"; refuse changed; }
  # Who may not give a file away leaves it whose it is.
  [ -z "$kept" ] || { cat "$t" >"$p" || kept=; rm -f "$t"; [ -n "$kept" ] && echo ok || no EACCES; exit 0; }
  mv -f "$t" "$p" && echo ok
else
  rm -f "$t"; no EACCES
fi
""",
    "list": """
settled; [ -h "$p" ] && no ELOOP; [ -e "$p" ] || no ENOENT; [ -d "$p" ] || no ENOTDIR; [ -r "$p" ] || no EACCES
echo ok; cd "$p" || exit 0
for f in * .[!.]* ..?*; do [ -e "$f" ] || [ -h "$f" ] || continue; printf '%s\\000' "$f"; done
""",
    "remove": 'settled; plain; same; rm -f "$p" && echo ok || no EACCES',
    "rename": """
settled; [ -e "$p" ] || [ -h "$p" ] || no ENOENT
t=${target%/*}; t=${t:-/}
if [ -h "$p" ] && [ "$d" != "$t" ]; then case $(readlink "$p") in /*) ;; *) refuse link ;; esac; fi
mkdir -p "$t" || no EACCES
[ "$(cd -P "$t" && pwd -P)" = "$t" ] || no ELOOP
[ -e "$target" ] || [ -h "$target" ] && refuse exists
[ -h "$p" ] || { ln "$p" "$target" 2>/dev/null && rm -f "$p" && { echo ok; exit 0; }; }
[ -e "$target" ] && refuse exists
mv "$p" "$target" && echo ok
""",
    "mode": 'settled; plain; [ -h "$p" ] && no ELOOP; chmod "$mode" "$p" && echo ok || no EPERM',
    "resolve": """
q=$p; rest=
while [ ! -e "$q" ] && [ ! -h "$q" ] && [ "$q" != / ]; do rest=/${q##*/}$rest; q=${q%/*}; q=${q:-/}; done
r=$(readlink -f "$q" 2>/dev/null) || r=$(realpath "$q" 2>/dev/null) || r=$(cd -P "$q" 2>/dev/null && pwd -P) || r=$q
[ "$r" = / ] && [ -n "$rest" ] && r=
echo ok; printf '%s%s' "$r" "$rest"
""",
    "leads": """
echo ok; IFS=; tr '\\000' '\\n' | while read -r w; do
  for f in $w; do [ -e "$f" ] && { readlink -f "$f" || realpath "$f"; } 2>/dev/null; done
done | sort -u | head -n 5000 | tr '\\n' '\\000'
""",
    "times": """
echo ok; tr '\\000' '\\n' | while IFS= read -r f; do facts %Y %m "$f" 2>/dev/null || echo 0; done
""",
}


class ShellCalls:
    """Implements `FileCalls`."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def ask(self, do: str, path: str, body: bytes = b"", **fields: Any) -> tuple[Told, bytes]:
        """One request."""
        values = {"p": path, "begin": "", "kept": "", "temporary": f".hermes-{new_token()}.tmp"}
        given = body
        if do == "write":
            given, expected = body[fields["expected"] :], body[: fields["expected"]]
            values["expected"] = hashlib.sha256(expected).hexdigest()
        elif do == "remove":
            given, values["expected"] = b"", hashlib.sha256(body).hexdigest()
        elif do in {"times", "leads"}:
            given = body + b"\0"
        # A connection that breaks off ends an input as well: what came then is not all of it.
        values["size"] = str(len(given))
        values |= {name: str(value) for name, value in fields.items() if name in {"most", "target", "begin"}}
        if "mode" in fields:
            values["mode"] = f"{fields['mode']:o}"
        setting = "".join(f"{name}={quoted(value)}\n" for name, value in values.items())
        self._link.footing()
        try:
            output = self._link.output_of(f"{setting}{_COMMON}{_SCRIPTS[do]}", given=given, seconds=_SECONDS)
        except CommandError as problem:
            raise FileAccessError(f"{path} could not be asked for ({do}): {problem}") from problem
        try:
            return _told(do, output)
        except (ValueError, IndexError) as problem:
            words = " ".join(output[:_MOST_WORDS_OF_SHELL].decode(errors="replace").split())
            raise FileAccessError(
                f"The shell of {self._link.machine.name} gave no answer that means anything when {path} was asked "
                f"for ({do}): {words!r}. It needs stat, wc, cat and the like, as most systems have them."
            ) from problem

    def close(self) -> None:
        """Nothing goes on between two calls."""


def _told(do: str, output: bytes) -> tuple[Told, bytes]:
    line, _, data = output.partition(b"\n")
    verdict, *words = line.decode(errors="replace").split() or ["no"]
    if verdict == "refused":
        return {"refused": words[0], "text": " ".join(words[1:])}, b""
    if verdict != "ok":
        return {"errno": words[0] if words else "EIO", "text": ""}, b""
    if do == "stat":
        kind, size, changed, mode = words
        return {"kind": kind, "size": int(size), "mtime": int(changed) * 10**9, "mode": int(mode, 8)}, b""
    if do == "times":
        return {"times": [int(each) * 10**9 for each in data.split()]}, b""
    if do == "list":
        names = sorted(data.split(b"\0")[:-1])
        return {}, b"\0".join(names)
    return {}, data


# A session that works elsewhere: some directories are this machine's, all else is the other one's.


@dataclass(frozen=True, slots=True)
class RoutedFiles:
    """Implements `tools.ports.FileSystem`. Paths come resolved, but for `resolve`.

    Attributes:
        here: this machine's files.
        there: the other machine's; asked for when it is first needed, as it may not be reachable.
        shared: directories that are this machine's, under the same names on both.
    """

    here: FileSystem
    there: Callable[[], FileSystem]
    shared: tuple[Path, ...]

    def resolve(self, path: Path) -> Path:
        """Where the path leads, with the links of the machine that has it."""
        if self._is_here(path) and self._is_here(real := Path(os.path.realpath(path))):
            return real
        return real_path(self.there(), path)

    def stat(self, path: Path) -> FileStat | None:
        """As the machine that has it."""
        return self._of(path).stat(path)

    def open(self, path: Path) -> BinaryIO:
        """As the machine that has it."""
        return self._of(path).open(path)

    def open_saved(self, path: Path) -> BinaryIO:
        """As the machine that has it."""
        return self._of(path).open_saved(path)

    def write(self, path: Path, data: bytes, *, expected: bytes | None) -> bytes:
        """As the machine that has it."""
        return self._of(path).write(path, data, expected=expected)

    def remarks(self) -> tuple[str, ...]:
        """Those of this machine's files: an editor may have written them."""
        return self.here.remarks()

    def list(self, path: Path) -> Sequence[str]:
        """As the machine that has it."""
        return self._of(path).list(path)

    def remove(self, path: Path, *, expected: bytes) -> None:
        """As the machine that has it."""
        self._of(path).remove(path, expected=expected)

    def rename(self, source: Path, target: Path) -> None:
        """Move within one machine.

        Raises:
            FileAccessError: the two are on different ones.
        """
        if self._is_here(source) != self._is_here(target):
            raise FileAccessError(
                f"Could not move {source} to {target}: they are on different machines. Write the new file, then "
                "remove the old one."
            )
        self._of(source).rename(source, target)

    def search(self, query: SearchQuery) -> SearchResult:
        """As the machine that has it."""
        return self._of(query.path).search(query)

    def _of(self, path: Path) -> FileSystem:
        return self.here if self._is_here(path) else self.there()

    def _is_here(self, path: Path) -> bool:
        return any(path.is_relative_to(place) for place in self.shared)
