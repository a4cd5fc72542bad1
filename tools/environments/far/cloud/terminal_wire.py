"""A script's plain bytes over a service that has only terminals for programs that read.

The terminal is made raw; then a line with what is to be run is sent. A terminal has no end of input: so input goes as
lines of text, which a loop of shell there decodes; one line says that there is no more, and one that the script is to
end. What is printed stands between two marks that nobody knows beforehand.
"""

from __future__ import annotations

import contextlib
import queue
import string
import threading
from collections.abc import Iterator
from typing import Protocol

from tools.environments.far.cloud.port import Size
from tools.environments.far.leading import leading
from tools.environments.far.wrapping import line_of, new_token, overlap, quoted

_READY_SECONDS = 60.0
_LONGEST_LINE = 2_048
_MOST_GREETING = 200_000
_END_OF_INPUT, _KILL = b".\n", b"!\n"
_KILL_SECONDS = 2.0
# In no text: so hardly any output is held back because it could be the mark.
_BEFORE_END = b"\xf5"
_HELD_SECONDS = 0.2
_PLAIN = frozenset(string.ascii_letters + string.digits + string.punctuation + " ") - {"\\"}
# It may be typed at some shell's prompt, and be echoed: so no quote or backslash is in it, and its mark is in halves.
_FIRST = 'stty raw -echo; printf %s%s {half} {other}; IFS= read -r l; eval "$(printf %b "$l")"'
# It hangs up where the service lets go of it: then the script, which is in a session of its own, is ended as well.
_PIPED = """exec 3<&0 2>/dev/null
f=${{TMPDIR:-/tmp}}/hermes-acp.{token}; (umask 077; mkfifo "$f") || exit 97
s=; command -v setsid >/dev/null && s=setsid
h=; trap h=1 HUP
$s sh -c {script} <"$f" 3<&- &
c=$!
trap 'kill -KILL "-$c" "$c"; exit' HUP
[ -z "$h" ] || {{ kill -KILL "-$c" "$c"; exit; }}
{{
  trap '' PIPE HUP
  exec 5>"$f"; rm -f "$f"
  while IFS= read -r l; do
    case $l in .) exec 5>&- ;; !) kill -KILL "-$c" "$c" ;; *) printf %b "$l" >&5 ;; esac
  done
}} <&3 >/dev/null &
p=$!
wait $c
kill -KILL $p; printf '\\365%s%s' {half} {other}
"""
_AT_TERMINAL = "stty sane rows {rows} cols {columns} 2>/dev/null\n{script}"


class Terminal(Protocol):
    """A program at a terminal in a sandbox; as `Wire`, all calls may raise what the SDK raises."""

    def read(self) -> bytes:
        """What it prints next; empty at its end."""
        ...

    def write(self, data: bytes) -> None:
        """Type."""
        ...

    def kill(self) -> None:
        """End it."""
        ...


class BrokenOff(OSError):
    """The terminal ended before the script."""


def first_program(token: str) -> str:
    """What is to run first at the terminal, as text for any shell's single quotes; `token` goes to `TerminalWire`."""
    half, other = _halves(token)
    return _FIRST.format(half=half, other=other)


class TerminalWire:
    """Implements `Wire`.

    Args:
        opened: where `first_program` with the same token was started.
        size: the script is to have the terminal; None: plain bytes.
    """

    def __init__(self, opened: Terminal, token: str, script: str, size: Size | None) -> None:
        self._terminal = opened
        self._mark = token.encode()
        self._end = new_token()
        self._size = size
        self._script = self._wrapped(script)
        self._ready, self._over = threading.Event(), threading.Event()
        self._lock = threading.Lock()

    def chunks(self) -> Iterator[bytes]:
        """What the script prints."""
        try:
            begun = self._begun()
        except BaseException:
            self._over.set()
            raise
        finally:
            self._ready.set()
        yield from self._printed(begun)

    def send(self, data: bytes) -> None:
        """Give it input."""
        self._wait()
        if self._size is not None:
            self._terminal.write(data)
            return
        for at in range(0, len(data), _LONGEST_LINE):
            with self._lock:
                self._terminal.write(_encoded(data[at : at + _LONGEST_LINE]))

    def end_input(self) -> None:
        """A line says so; at a terminal nothing does."""
        self._wait()
        if self._size is None and not self._over.is_set():
            with self._lock:
                self._terminal.write(_END_OF_INPUT)

    def kill(self) -> None:
        """End it."""
        if self._size is None and self._ready.is_set() and not self._over.is_set():
            # Whatever the SDK raises: the terminal's end ends it too.
            with self._lock, contextlib.suppress(Exception):
                self._terminal.write(_KILL)
            self._over.wait(_KILL_SECONDS)
        self._ready.set()
        self._terminal.kill()

    def _begun(self) -> bytes:
        """Wait for the mark, and send what is to run; returns what came behind it."""
        seen = b""
        while self._mark not in seen:
            data = self._terminal.read()
            if not data or len(seen) > _MOST_GREETING:
                raise BrokenOff(f"the terminal there did not begin as expected: {seen[-300:]!r}")
            seen += data
        self._terminal.write(line_of(self._script))
        return seen.partition(self._mark)[2]

    def _printed(self, held: bytes) -> Iterator[bytes]:
        if self._size is not None:
            if held:
                yield held
            while data := self._terminal.read():
                yield data
            return
        came: queue.SimpleQueue[bytes | Exception] = queue.SimpleQueue()
        threading.Thread(target=self._read_into, args=(came,), name="output of a script", daemon=True).start()
        end = _BEFORE_END + self._end.encode()
        while end not in held:
            keep = overlap(held, end)
            if len(held) > keep:
                yield held[: len(held) - keep]
                held = held[len(held) - keep :]
            try:
                next_one = came.get(timeout=_HELD_SECONDS if held else None)
            except queue.Empty:
                # What looked like the beginning of the mark is the script's own, which waits for an answer to it.
                yield held
                held = b""
                continue
            if isinstance(next_one, Exception):
                raise next_one
            if not next_one:
                raise BrokenOff("the terminal there ended before the script did")
            held += next_one
        self._over.set()
        if last := held.partition(end)[0]:
            yield last

    def _read_into(self, came: queue.SimpleQueue[bytes | Exception]) -> None:
        try:
            while data := self._terminal.read():
                came.put(data)
            came.put(b"")
        except Exception as problem:  # noqa: BLE001 - whatever the SDK raises is raised by `chunks`
            came.put(problem)
        finally:
            self._over.set()

    def _wait(self) -> None:
        if not self._ready.wait(_READY_SECONDS):
            raise TimeoutError(f"the terminal there did not begin within {_READY_SECONDS:.0f} seconds")

    def _wrapped(self, script: str) -> str:
        if (size := self._size) is not None:
            return _AT_TERMINAL.format(rows=size.rows, columns=size.columns, script=leading(script, terminal=True))
        half, other = _halves(self._end)
        return _PIPED.format(token=new_token(), script=quoted(script), half=half, other=other)


def _halves(token: str) -> tuple[str, str]:
    return token[: len(token) // 2], token[len(token) // 2 :]


def _encoded(data: bytes) -> bytes:
    """A line that `printf %b` makes the data of again: plain signs, and all others by their numbers."""
    # The first sign is never plain, so that no line of data is the one that ends the input.
    first, rest = data[:1], data[1:]
    signs = (chr(byte) if chr(byte) in _PLAIN else f"\\0{byte:03o}" for byte in rest)
    return f"\\0{first[0]:03o}{''.join(signs)}\n".encode("ascii")
