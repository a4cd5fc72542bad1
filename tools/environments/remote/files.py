"""Files on another machine, asked for through its POSIX shell and the usual small programs."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import select
import stat as modes
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, BinaryIO, Literal

from tools.environments.atomic_writes import file_error
from tools.environments.local_files import is_pseudo
from tools.environments.remote import connection
from tools.environments.remote.connection import FarFacts, Link, NotConnected, Session, Streams, TooMuch, close_pipes
from tools.environments.remote.scripts import line_of, new_token, quoted
from tools.environments.ripgrep import SNIFFED_BYTES, Looks, Program
from tools.environments.search import searched
from tools.errors import CommandError, FileAccessError, FileChanged, FileMissing, FileRefused
from tools.light_dataclass import dataclass
from tools.ports import FileStat, FileSystem, Interrupt, SearchQuery, SearchResult, real_path
from tools.settings import SearchSettings

# The scripts. Each goes into the directory that is meant and names what is in it from there, so that no link that
# comes in the place of a directory later leads elsewhere. A file is opened, and then compared with what has its name:
# so nothing that a link leads to is taken for it. Contents are compared by their SHA-256.

_COMMON = r"""
no() { echo "no $1"; exit 0; }
refuse() { echo "refused $1 $2"; exit 0; }
if stat -c %u / >/dev/null 2>&1; then
  facts() { stat -c "$1" "$3" 2>/dev/null; }
  held() { stat -L -c %d:%i "/dev/fd/$1" 2>/dev/null || stat -L -c %d:%i "/proc/self/fd/$1"; }
else
  facts() { stat -f "$2" "$3" 2>/dev/null; }
  held() { stat -f %d:%i <&"$1"; }
fi
sum() { { sha256sum || shasum -a 256 || openssl dgst -sha256 -r; } 2>/dev/null | cut -c 1-64; }
settled() { [ "$(pwd -P)" = "$1" ] || no ELOOP; }
enter() {
  case $1 in /*) ;; *) no EINVAL ;; esac
  [ -d "$1" ] || { [ -e "$1" ] && no ENOTDIR; no ENOENT; }
  cd -P "$1" 2>/dev/null || no EACCES
  settled "$1"
}
above() { d=${1%/*}; d=${d:-/}; n=./${1##*/}; }
make() {
  rest=
  while [ ! -e "$d" ] && [ ! -h "$d" ]; do rest=${d##*/}/$rest; d=${d%/*}; d=${d:-/}; done
  enter "$d"
  while [ -n "$rest" ]; do
    mkdir "./${rest%%/*}" 2>/dev/null
    d=${d%/}/${rest%%/*}; rest=${rest#*/}
    cd -P "./${d##*/}" 2>/dev/null || no EACCES
    settled "$d"
  done
}
plain() {
  [ -d "$n" ] && refuse kind directory
  [ -e "$n" ] || { [ -h "$n" ] && no ELOOP; no ENOENT; }
  [ -f "$n" ] || refuse kind other
  [ -r "$n" ] || no EACCES
}
hold() {
  [ -h "$n" ] && no ELOOP
  plain
  exec 3<"$n"
  [ "$(facts %d:%i %d:%i "$n")" = "$(held 3)" ] || no ELOOP
}
same() { [ "$(sum <&3)" = "$expected" ] || refuse changed; }
is_free() { [ -e "$n" ] || [ -h "$n" ] && refuse exists; }
take() { (umask "$1"; set -C; cat >"$t") 2>/dev/null; }
whole() { [ "$(wc -c <"$t")" -eq "$size" ] || no EIO; }
"""
_CLEANED = """
t=./$temporary; old=$t.old
trap 'rm -f "$t" "$old"' EXIT
"""
_SCRIPTS = {
    "stat": """
above "$p"; enter "$d"
f=$(facts '%f %s %Y %y' '%Xp %z %Fm' "$n") || { [ -e "$n" ] && no EACCES; no ENOENT; }
echo "ok $f"
""",
    "read": """
above "$p"; enter "$d"; hold
s=$(facts %s %z "$n"); [ "$s" -gt "$most" ] && refuse size "$s"
echo ok; exec head -c "${begin:-$most}" <&3
""",
    "create": f"""
above "$p"; make; is_free
{_CLEANED}
take "$(umask)" || no EACCES
whole
ln -n "$t" "$n" 2>/dev/null && {{ echo ok; exit 0; }}
is_free
mv "$t" "$n" && echo ok
""",
    "write": f"""
above "$p"; enter "$d"; hold; same
id='%d:%i %s %y'; ids='%d:%i %z %Fm'; i=$(facts "$id" "$ids" "$n")
{_CLEANED}
over=
if take 077; then
  whole
  # What GNU's cp knows of attributes and access lists is kept, and the time is the new content's.
  cp --attributes-only --preserve=all "$n" "$t" 2>/dev/null && touch "$t"
  o=$(facts %u:%g %u:%g "$n")
  # Who may not give a file away leaves it whose it is.
  [ "$(facts %u:%g %u:%g "$t")" = "$o" ] || chown "$o" "$t" 2>/dev/null || over=yes
  chmod "$(facts %a %Lp "$n")" "$t"
else
  # A directory that takes no new file.
  t=$folder/$temporary; old=$t.old; over=yes
  take 077 || no EACCES
  whole
fi
[ "$(facts "$id" "$ids" "$n")" = "$i" ] || refuse changed
if [ -z "$over" ]; then
  mv -fT "$t" "$n" 2>/dev/null && {{ echo ok; exit 0; }}
  [ -h "$n" ] || [ -d "$n" ] && refuse changed
  mv -f "$t" "$n" && echo ok
  exit 0
fi
[ -w "$n" ] || no EACCES
(umask 077; set -C; cat "$n" >"$old") && [ "$(sum <"$old")" = "$expected" ] || refuse changed
exec 4<>"$n"
[ "$(held 4)" = "${{i%% *}}" ] || refuse changed
put() {{ cat "$1" >/dev/fd/4 || cat "$1" >"$n"; }} 2>/dev/null
put "$t" && [ "$(sum <"$n")" = "$(sum <"$t")" ] && {{ echo ok; exit 0; }}
put "$old"; no EIO
""",
    "list": """
[ -h "$p" ] && no ELOOP
enter "$p"; [ -r . ] || no EACCES
echo ok
for f in * .[!.]* ..?*; do [ -e "$f" ] || [ -h "$f" ] || continue; printf '%s\\000' "$f"; done
""",
    # A link is compared by what it leads to, and deleted itself.
    "remove": 'above "$p"; enter "$d"; plain; exec 3<"$n"; same; rm -f "$n" && echo ok || no EACCES',
    "rename": """
above "$p"; enter "$d"; [ -e "$n" ] || [ -h "$n" ] || no ENOENT
s=$n; here=$d
[ -h "$n" ] && case $(readlink "$n") in /*) ;; *) l=relative ;; esac
[ -r . ] && exec 5<.
above "$target"; make; is_free
if [ "$here" != "$d" ]; then
  [ -z "$l" ] || refuse link
  s=/dev/fd/5/${p##*/}; [ -e "$s" ] || [ -h "$s" ] || s=$p
fi
[ -h "$s" ] || { ln -n "$s" "$n" 2>/dev/null && rm -f "$s" && { echo ok; exit 0; }; }
is_free
mv "$s" "$n" && echo ok
""",
    "mode": """
above "$p"; enter "$d"; hold
chmod "$mode" /dev/fd/3 2>/dev/null || chmod "$mode" "$n" && echo ok || no EPERM
""",
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
echo ok
if stat -c %u / >/dev/null 2>&1; then xargs -0 stat -L -c '%Y %n'; else xargs -0 stat -L -f '%m %N'; fi 2>/dev/null
exit 0
""",
}

# What is only looked at goes to a shell that goes on running, so that it costs one way there and back; what changes
# something is a script of its own, whose input is the new content.

_HELLO = b"hermes-files\n"
_SERVE = """echo hermes-files
while IFS= read -r line; do eval "$(printf %b "$line")"; done
"""
_SILENT_SECONDS, _WHOLE_SECONDS, _CHANGE_SECONDS = 60.0, 900.0, 120.0
_MOST_BYTES = 256 * 1024 * 1024
_MOST_WORDS, _MOST_GREETING = 200, 20_000
# A connection's end reaches its programs one after the other.
_NOTICED_SECONDS = 1.0
# What may be asked again when the connection has broken off meanwhile.
_LOOKS = frozenset({"stat", "read", "list", "resolve"})


@dataclass(frozen=True, slots=True)
class Answer:
    """What a script tells.

    Attributes:
        word: `ok`, `no` (then `told` begins with an error's name) or `refused` (with the reason).
        told: the words behind it.
        data: what follows.
    """

    word: str
    told: Sequence[str]
    data: bytes = b""


class FileCalls:
    """Asks for files on the machine of `link`. Safe to use from several threads."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._session: Session | None = None

    def ask(self, do: str, path: str, given: bytes = b"", **values: str) -> Answer:
        """One request.

        Args:
            given: the script's input; contents, or names.
            values: variables of it.

        Raises:
            CommandError, FileAccessError: the machine cannot be reached, or does not answer as expected.
        """
        values = {"p": path, "temporary": f".hermes-{new_token()}.tmp", "size": str(len(given)), **values}
        if do in _LOOKS:
            with self._lock:
                output = self._looked(do, path, _setting(values))
        else:
            folder = self._link.session().folder
            script = f"{_COMMON}{_setting(values | {'folder': folder})}{_SCRIPTS[do]}"
            try:
                output = self._link.output_of(script, given=given, seconds=_CHANGE_SECONDS)
            except CommandError as problem:
                raise FileAccessError(f"{path} could not be asked for ({do}): {problem}") from problem
        line, _, data = output.partition(b"\n")
        word, *told = line.decode(errors="replace").split() or ["no", "EIO"]
        if word not in {"ok", "no", "refused"} or (word != "ok" and not told):
            raise self._odd(do, path, output)
        return Answer(word, told, data)

    def odd(self, do: str, path: str, answer: Answer) -> FileAccessError:
        """The error of an answer whose words mean nothing."""
        return self._odd(do, path, " ".join((answer.word, *answer.told)).encode())

    def close(self) -> None:
        """Nothing more is asked."""
        with self._lock:
            self._end()

    def _looked(self, do: str, path: str, setting: str) -> bytes:
        mark = b"\0" + new_token().encode() + b"\0"
        said = f"printf '\\000%s\\000' {mark[1:-1].decode()}"
        request = line_of(f"(\n{setting}{_SCRIPTS[do]}) </dev/null\n{said}")
        try:
            try:
                return self._exchanged(request, mark)
            except (OSError, EOFError):
                if self._session is not None:
                    self._session.lasts(_NOTICED_SECONDS)
                return self._exchanged(request, mark)
        except TooMuch as problem:
            raise self._odd(do, path, str(problem).encode()) from problem
        except (OSError, EOFError) as problem:
            raise FileAccessError(
                f"The connection to {self._link.machine.name} broke off while {path} was asked for ({do})."
            ) from problem

    def _exchanged(self, request: bytes, mark: bytes) -> bytes:
        """What the shell there says to a request."""
        if self._process is None or self._session is None or not self._session.is_up:
            self._end()
            try:
                self._begin()
            except NotConnected:
                # It broke off unnoticed: nothing was sent yet.
                self._begin()
        process = self._process
        if process is None or process.stdin is None:
            raise EOFError
        try:
            process.stdin.write(request)
            process.stdin.flush()
            return _read_to(process, mark, connection.MOST_BYTES)
        except BaseException:
            self._end()
            raise

    def _begin(self) -> None:
        self._session = self._link.session()
        streams = Streams(subprocess.PIPE, subprocess.PIPE, subprocess.DEVNULL)
        self._process = self._link.start(_COMMON + _SERVE, streams)
        try:
            # What comes before its first words is what the shell there prints of its own.
            _read_to(self._process, _HELLO, _MOST_GREETING)
        except TooMuch as problem:
            self._end()
            where = self._link.machine.name
            raise CommandError(f"The shell of {where} prints too much of its own at its start.") from problem
        except (OSError, EOFError) as problem:
            self._end()
            raise NotConnected(f"The connection to {self._link.machine.name} has broken off. Try again.") from problem

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            self._link.ended(process)
            close_pipes(process)

    def _odd(self, do: str, path: str, output: bytes) -> FileAccessError:
        words = " ".join(output[:_MOST_WORDS].decode(errors="replace").split())
        return FileAccessError(
            f"The shell of {self._link.machine.name} gave no answer that means anything when {path} was asked "
            f"for ({do}): {words!r}. It needs stat, head, wc and the like, as most systems have them."
        )


def _setting(values: dict[str, str]) -> str:
    return "".join(f"{name}={quoted(value)}\n" for name, value in values.items())


def _read_to(process: subprocess.Popen[bytes], mark: bytes, most: int) -> bytes:
    """What comes before the mark.

    Raises:
        EOFError: it has ended. TimeoutError: it says nothing, or too little for too long. TooMuch.
    """
    if process.stdout is None:
        raise EOFError
    descriptor = process.stdout.fileno()
    readable = select.poll()
    readable.register(descriptor, select.POLLIN)
    data, until = bytearray(), time.monotonic() + _WHOLE_SECONDS
    while not data.endswith(mark):
        if time.monotonic() > until or not readable.poll(_SILENT_SECONDS * 1000):
            raise TimeoutError
        piece = os.read(descriptor, 1 << 20)
        if not piece:
            raise EOFError
        data += piece
        if len(data) > most:
            raise TooMuch(f"it says more than {most:,} bytes")
    return bytes(data[: -len(mark)])


# Searches there: with its ripgrep, or else with its find and grep.

_RG, _SHELL = Program(("rg",)), Program(("sh", "-c"))
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
    """Implements `ripgrep.Ground` in a directory of another machine."""

    link: Link
    folder: Path

    def popen(self, program: Program, arguments: Sequence[str], **popen: Any) -> subprocess.Popen[bytes]:
        """Start it there; of `popen` only `stderr` holds here."""
        words = " ".join(quoted(word) for word in (*program.words, *arguments))
        complaints: IO[bytes] = popen["stderr"]
        script = _HELD.format(folder=quoted(str(self.folder)), command=words)
        try:
            self.link.session()
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

    def __call__(self, query: SearchQuery, interrupt: Interrupt | None, *, one_file: bool) -> SearchResult:
        """One page of what `query` finds, in a directory or in `one_file`.

        Raises:
            ToolError: as `search.search`. ToolInterrupted.
        """
        ground = FarGround(self.link, query.path.parent if one_file else query.path)
        by_rg = "rg" in self.facts().programs
        return searched(
            query,
            self.limits,
            ground,
            _RG if by_rg else _SHELL,
            interrupt=interrupt,
            private=self.private,
            one_file=one_file,
            by_rg=by_rg,
            looks=Looks(self._modified, self._start_of),
        )

    def _modified(self, paths: Sequence[Path]) -> Sequence[int]:
        if not paths:
            return ()
        given = b"".join(os.fsencode(path) + b"\0" for path in paths)
        lines = self.calls.ask("times", "/", given).data.splitlines()
        told = {name: seconds for seconds, _, name in (line.partition(b" ") for line in lines) if seconds.isdigit()}
        return [int(told.get(os.fsencode(path), 0)) for path in paths]

    def _start_of(self, path: Path) -> bytes:
        answer = self.calls.ask("read", str(path), most=str(1 << 62), begin=str(SNIFFED_BYTES))
        if answer.word != "ok":
            raise OSError(errno.EIO, "it cannot be read", str(path))
        return answer.data


# Files on another machine. No policy here: `gated_ports` stands in front.


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
    search_with: FarSearch
    interrupt: Interrupt | None = None
    reach: Callable[[], object] | None = None

    def resolve(self, path: Path) -> Path:
        """Where the path leads, with all links resolved."""
        return Path(os.fsdecode(self._done("look at", path, "resolve").data))

    def leads(self, places: Sequence[str]) -> Sequence[Path]:
        """Where what fits absolute patterns of a shell leads, with all links resolved."""
        given = b"".join(os.fsencode(place) + b"\0" for place in places)
        found = self._done("look at", Path("/"), "leads", given).data
        return [Path(os.fsdecode(name)) for name in found.split(b"\0") if name]

    def stat(self, path: Path) -> FileStat | None:
        """Facts of the path, None when nothing is there."""
        answer = self._asked("stat", path)
        if answer.word == "no" and answer.told[0] in {"ENOENT", "ENOTDIR"}:
            return None
        self._check("look at", path, answer)
        try:
            mode, size, changed, *moment = answer.told
            bits, nanoseconds = int(mode, 16), _nanoseconds(changed, moment)
            facts = FileStat(_kind(bits), int(size), nanoseconds, modes.S_IMODE(bits))
        except ValueError as problem:
            raise self.calls.odd("stat", str(path), answer) from problem
        if modes.S_ISLNK(bits):
            raise file_error("look at", path, OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path)))
        return facts

    def open(self, path: Path) -> BinaryIO:
        """The content of a regular file, all of it."""
        self._refuse_pseudo(path)
        return io.BytesIO(self._done("read", path, "read", most=str(_MOST_BYTES)).data)

    def open_saved(self, path: Path) -> BinaryIO:
        """As `open`: no editor has another text of it."""
        return self.open(path)

    def write(self, path: Path, data: bytes, *, expected: bytes | None) -> bytes:
        """Put `data` in place of `expected`, whole or not at all; what is in the file now is `data`."""
        self._refuse_pseudo(path)
        if expected is None:
            self._done("create", path, "create", data)
        else:
            self._done("write", path, "write", data, expected=hashlib.sha256(expected).hexdigest())
        return data

    def remarks(self) -> tuple[str, ...]:
        """None: what was written was written by us."""
        return ()

    def list(self, path: Path) -> Sequence[str]:
        """Names in a directory, sorted."""
        if is_pseudo(path):
            raise FileRefused(f"Could not list {path}: what is below /proc, /sys and /dev is not looked at.")
        return sorted(os.fsdecode(name) for name in self._done("list", path, "list").data.split(b"\0")[:-1])

    def remove(self, path: Path, *, expected: bytes) -> None:
        """Delete a file, or a link to a file, whose content is `expected`."""
        self._refuse_pseudo(path)
        self._done("delete", path, "remove", expected=hashlib.sha256(expected).hexdigest())

    def rename(self, source: Path, target: Path) -> None:
        """Move a file to a path where nothing is; the target's parents are created."""
        answer = self._asked("rename", source, target=str(target))
        if answer.word == "refused" and answer.told[0] == "exists":
            raise FileChanged(f"There is already something at {target}; nothing was changed. Look at it first.")
        self._check("move", source, answer)

    def change_mode(self, path: Path, mode: int) -> None:
        """Give a file other permission bits."""
        self._done("change the mode of", path, "mode", mode=f"{mode:o}")

    def search(self, query: SearchQuery) -> SearchResult:
        """Search names or content below a path, there."""
        facts = self.stat(query.path)
        if facts is None:
            raise FileMissing(f"Could not search {query.path}: there is nothing at that path on {self.where}.")
        if facts.kind == "other" or is_pseudo(query.path):
            raise FileRefused(f"Could not search {query.path}: it is neither a directory nor a regular file.")
        return self.search_with(query, self.interrupt, one_file=facts.kind == "file")

    def _refuse_pseudo(self, path: Path) -> None:
        if is_pseudo(path):
            raise FileRefused(f"Could not read {path}: files below /proc, /sys and /dev are not read as text.")

    def _done(self, trying: str, path: Path, do: str, given: bytes = b"", **values: str) -> Answer:
        answer = self._asked(do, path, given, **values)
        self._check(trying, path, answer)
        return answer

    def _asked(self, do: str, path: Path, given: bytes = b"", **values: str) -> Answer:
        if self.reach is not None:
            self.reach()
        return self.calls.ask(do, str(path), given, **values)

    def _check(self, trying: str, path: Path, answer: Answer) -> None:
        if answer.word == "refused":
            raise _refused(trying, path, answer.told[0], " ".join(answer.told[1:]))
        if answer.word == "no":
            number = getattr(errno, answer.told[0], errno.EIO)
            raise file_error(trying, path, OSError(number, os.strerror(number), str(path)))


def _kind(mode: int) -> Literal["file", "directory", "other"]:
    if modes.S_ISREG(mode):
        return "file"
    return "directory" if modes.S_ISDIR(mode) else "other"


def _nanoseconds(seconds: str, moment: Sequence[str]) -> int:
    """Of `1700000000.5`, or of `1700000000` and what GNU's stat writes behind it: `2023-11-14 22:13:20.5 +0000`."""
    whole, _, part = seconds.partition(".")
    if not part and len(moment) > 1:
        part = moment[1].partition(".")[2]
    return int(whole) * 10**9 + int(part[:9].ljust(9, "0") or 0)


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
