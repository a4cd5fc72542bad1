"""Keeps a connection's messages in a file, a line of JSON each, without the secrets in them.

A message costs its sender one `put`; a thread of the recorder's own reads, redacts and writes it. A file that cannot
be written to any more, or not as fast as messages come, ends the recording, never the session.
"""

from __future__ import annotations

import json
import logging
import os
import queue
import re
import stat
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, TypeGuard

from acp_adapter import __version__
from agent_core.errors import RequestError
from tools.light_dataclass import dataclass
from tools.os_compat import O_CLOEXEC, O_NONBLOCK
from tools.redaction import SHAPES, Redact

# The file: made for its owner alone; one that holds anything else stays as it is.

_FIRST_LINE = 1_000_000
_LONGEST = 1e9
"""Seconds, more than thirty years: no recording lasts so long, and what is said of more is not a time."""


def open_recording(path: Path) -> int:
    """A descriptor that writes at the file's end, behind a whole line.

    Raises:
        RequestError: what is there is no recording, or is the connection itself; it stays as it was.
        OSError: it cannot be opened for writing. A named pipe must have a reader.
    """
    # Not to wait for somebody who reads a pipe: the editor waits for us.
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | O_CLOEXEC | O_NONBLOCK, 0o600)
    try:
        os.set_blocking(file, True)
        _check(path, file)
    except BaseException:
        os.close(file)
        raise
    return file


def _check(path: Path, file: int) -> None:
    found = os.fstat(file)
    if _is_connection(found):
        raise RequestError(
            f"--record: {path} is where the messages themselves go (stdin or stdout). Name a file for them."
        )
    if stat.S_ISREG(found.st_mode) and found.st_size:
        _go_on(path, file, found.st_size)


def _is_connection(found: os.stat_result) -> bool:
    if os.path.samestat(found, Path(os.devnull).stat()):
        return False
    for public in (0, 1):
        try:
            if os.path.samestat(found, os.fstat(public)):
                return True
        except OSError:  # it is closed
            continue
    return False


def _go_on(path: Path, file: int, size: int) -> None:
    with path.open("rb") as there:
        first = there.readline(_FIRST_LINE)
        there.seek(size - 1)
        is_whole = there.read(1) == b"\n"
    if not _is_recording(first):
        raise RequestError(
            f"--record: {path} holds something that is no recording, and stays as it is. Name another file."
        )
    if not is_whole:  # whoever wrote it was killed, or the disk was full
        os.write(file, b"\n")


def _is_recording(line: bytes) -> bool:
    try:
        return is_entry(json.loads(line))
    except (ValueError, RecursionError):
        return False


def is_entry(entry: object) -> TypeGuard[dict[str, Any]]:
    """Whether this is what a line of a recording holds."""
    match entry:
        case {"recording": int()}:
            return True
        case {"dir": "in" | "out", "t": int() | float() as at, "frame": _}:
            return -_LONGEST < at < _LONGEST
        case {"dir": "in" | "out", "t": int() | float() as at, "line": str()}:
            return -_LONGEST < at < _LONGEST
    return False


# The recorder.

log = logging.getLogger(__name__)

Direction = Literal["in", "out"]
"""As the client sees it: `out` is to the agent, `in` from it. So it stands in the file, whoever records."""
Tap = Callable[[Direction, bytes], None]
"""Gets each line of a connection, on any thread; must not wait."""

_Taken = tuple[Direction, float, bytes]

FORMAT = 1
_QUIET_SECONDS = 0.5
_PATIENCE_SECONDS = 5.0
_MOST_UNPARSED = 100_000
MOST_WAITING = 256 * 1024 * 1024
"""Bytes that may wait to be written."""


class Recorder:
    """One recording, which begins with a line about itself. Several may follow one another in a file."""

    def __init__(
        self, path: Path, redacting: Callable[[], Redact], program: str = f"hermes-acp {__version__}"
    ) -> None:
        """Open the file, for its owner alone, and begin to write at its end.

        Args:
            redacting: makes what takes the secrets out; called once, on the recorder's thread, when it is needed.
            program: who records, for the reader.

        Raises:
            RequestError: the file holds something else, or is the connection itself.
            OSError: the file cannot be opened for writing.
        """
        self._path = path
        self._file = open_recording(path)
        self._redacting = redacting
        self._start = time.monotonic()
        self._run = os.urandom(4).hex()
        self._queue: queue.SimpleQueue[_Taken | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._waiting = 0
        self._over = threading.Event()
        self._is_writing = True
        begun = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self._write([{"recording": FORMAT, "program": program, "pid": os.getpid(), "at": begun}])
        threading.Thread(target=self._work, name="acp-recorder", daemon=True).start()

    def put(self, direction: Direction, line: bytes) -> None:
        """Keep one line of the connection."""
        with self._lock:
            if not self._is_writing:
                return
            is_room = self._waiting + len(line) <= MOST_WAITING
            if is_room:
                self._waiting += len(line)
                self._queue.put((direction, time.monotonic() - self._start, line))
        if not is_room:
            self._give_up(f"{MOST_WAITING >> 20} MiB wait to be written to {self._path}")

    def close(self, timeout: float) -> bool:
        """Wait, at most `timeout` seconds, until all that was put is written; False if it is not."""
        self._queue.put(None)
        return self._over.wait(timeout)

    def _work(self) -> None:
        try:
            if (first := self._queue.get()) is not None:
                self._write_all(first)
        except Exception:
            log.exception("the recording ends early: %s", self._path)
        finally:
            self._give_up("")
            os.close(self._file)
            self._over.set()

    def _write_all(self, taken: _Taken | None) -> None:
        cleaner = Cleaner(self._redacting(), _PATIENCE_SECONDS)
        while taken is not None:
            self._write(cleaner.cleaned(self._entry(*taken)))
            taken = self._next(cleaner)
        self._write(cleaner.settled(is_over=True))

    def _next(self, cleaner: Cleaner) -> _Taken | None:
        """What was put next. During a long wait, what the cleaner holds back is written."""
        waited = 0.0
        while cleaner.holds:
            try:
                return self._queue.get(timeout=_QUIET_SECONDS)
            except queue.Empty:
                waited += _QUIET_SECONDS
                self._write(cleaner.settled(is_over=waited >= _PATIENCE_SECONDS))
        return self._queue.get()

    def _entry(self, direction: Direction, at: float, line: bytes) -> dict[str, Any]:
        with self._lock:
            self._waiting -= len(line)
        entry: dict[str, Any] = {"dir": direction, "t": round(at, 6)}
        try:
            return {**entry, "frame": json.loads(line)}
        except (ValueError, RecursionError):
            return {**entry, "line": line[:_MOST_UNPARSED].decode(errors="replace")}

    def _write(self, entries: Iterable[dict[str, Any]]) -> None:
        lines = [json.dumps({"run": self._run, **entry}, ensure_ascii=False) for entry in entries]
        if not self._is_writing or not lines:
            return
        left = memoryview("".join(f"{line}\n" for line in lines).encode(errors="surrogatepass"))
        try:
            while left:
                left = left[os.write(self._file, left) :]
        except OSError as problem:
            self._give_up(f"{self._path} could not be written to: {problem}")

    def _give_up(self, why: str) -> None:
        with self._lock:
            self._is_writing, was_writing = False, self._is_writing
        if why and was_writing:
            log.warning("the recording ends early: %s", why)


# A text that comes in pieces, as the chunks of a message do, is judged as one: a secret may be in several.

Entry = dict[str, Any]
"""A line of a recording: `dir`, `t`, and `frame` (the message) or `line` (what was none)."""

_SEEN = 20_000
# A secret is made of these; where one cannot go on, nothing more needs to be known.
_OF_SECRETS = "".join(map(chr, range(33, 127)))


@dataclass(slots=True, eq=False)
class Held:
    """A line that waits to be written.

    Attributes:
        path: where in its update a piece of a text stands.
        text: that piece, until it is judged.
    """

    entry: Entry
    path: tuple[str, ...] = ()
    text: str | None = None

    @classmethod
    def of_piece(cls, entry: Entry, path: tuple[str, ...]) -> Held:
        """A line without its piece of a text."""
        holder, name = _holder(entry, path), path[-1]
        text, holder[name] = str(holder[name]), ""
        return cls(entry, path, text)

    def settle(self, clean: str) -> None:
        """The line is complete with `clean` in its piece's place."""
        _holder(self.entry, self.path)[self.path[-1]] = clean
        self.text = None


def _holder(entry: Entry, path: tuple[str, ...]) -> dict[str, Any]:
    """What of a line's update has the text that stands at `path`."""
    holder: dict[str, Any] = entry["frame"]["params"]["update"]
    for name in path[:-1]:
        holder = holder[name]
    return holder


class Stream:
    """One text. It keeps the end of what it has judged, to see secrets that go on from there.

    Attributes:
        size: how many characters wait to be judged.
        latest: when its last piece came.
    """

    def __init__(self, redact: Redact) -> None:
        self._redact = redact
        self._seen = ""
        self._pieces: deque[Held] = deque()
        self.size = 0
        self.latest = 0.0

    def add(self, held: Held) -> None:
        """Take the next piece."""
        self._pieces.append(held)
        self.size += len(held.text or "")
        self.latest = held.entry["t"]

    def settle(self, *, is_over: bool) -> None:
        """Judge the pieces; unless the text `is_over`, not those with its last word, which may go on.

        Where there is a secret in them, the first one gets all of the clean text.
        """
        whole = "".join(piece.text or "" for piece in self._pieces)
        certain = len(whole) if is_over else len(whole.rstrip(_OF_SECRETS))
        judged: list[tuple[Held, str]] = []
        end = 0
        while self._pieces and end + len(text := self._pieces[0].text or "") <= certain:
            judged.append((self._pieces.popleft(), text))
            end += len(text)
        new = whole[:end]
        clean = self._clean(new)
        for number, (piece, text) in enumerate(judged):
            piece.settle(text if clean == new else "" if number else clean)
        self.size = len(whole) - end
        self._seen = (self._seen + new)[-_SEEN:]

    def _clean(self, new: str) -> str:
        """`new` without secrets, also without the end of one that began in what came before."""
        before, whole = self._redact(self._seen), self._redact(self._seen + new)
        return whole[len(os.path.commonprefix([before, whole])) :]  # noqa: RUF071 - as it is meant


# What a recording may say of a value: no secret, no values of variables and headers, nothing of enormous size.

HIDDEN = "[redacted: value]"
_NAMED_VALUES = frozenset({"env", "environment", "headers", "http_headers"})
_SECRETS = frozenset({
    "accesstoken", "apikey", "authorization", "authtoken", "clientsecret", "cookie", "idtoken", "passphrase",
    "passwd", "password", "privatekey", "refreshtoken", "secret", "setcookie", "token",
})  # fmt: skip
_SECRET_FLAG = re.compile(r"(?i)--?[\w-]*(?:key|token|secret|passw(?:or)?d|passphrase|credentials?|header)")
_HEADER = re.compile(r"(?s)([\w-]{1,80}): ?\S.*")
_LAST_WORD = re.compile(r"(?P<word>[A-Za-z0-9_.+/=-]{8,}?)(?P<end>…|\.{3})\Z")
_PREFIXES = tuple(
    probe for shape in SHAPES for probe in shape.probes if re.fullmatch(r"[A-Za-z0-9]{2,}[_.-]?|eyJ", probe)
)
# Most names: they are not looked at, there are many.
_PLAIN_NAME = re.compile("[A-Za-z_]{1,20}")
_MOST_TEXT = 100_000
_KEPT_TEXT = 20_000
# A private key is the longest secret; one that ends behind the cut must be seen whole.
_LONGEST_SECRET = 20_000


def clean_value(value: Any, redact: Redact) -> Any:
    """`value`, a message or a part of one, as a recording may hold it. Names are judged as well.

    Raises:
        RecursionError: it is nested too deeply to be looked at.
    """
    match value:
        case str():
            return clean_text(value, redact)
        case list():
            return list(_items(value, redact))
        case dict():
            return {_clean_name(name, redact): _under(name, each, value, redact) for name, each in value.items()}
    return value


def clean_text(words: str, redact: Redact) -> str:
    """`words` without secrets; of what is enormous the beginning, with how much more there was."""
    if len(words) <= _MOST_TEXT:
        return _without_cut_secret(redact(words))
    left = len(words) - _KEPT_TEXT
    return f"{_beginning(words, _KEPT_TEXT, redact)}… [{left} characters left out of the recording]"


def _without_cut_secret(words: str) -> str:
    """`words` without what they end with, where that looks like a secret's beginning: titles are cut anywhere."""
    if not words.endswith(("…", "...")):
        return words
    last = _LAST_WORD.search(words)
    if last is None or not last["word"].startswith(_PREFIXES) or not any(map(str.isdigit, last["word"])):
        return words
    return f"{words[: last.start()]}[redacted: beginning of a secret]{last['end']}"


def _clean_name(name: str, redact: Redact) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else clean_text(name, redact)


def clean_beginning(words: str, most: int, redact: Redact) -> str:
    """The first `most` characters of `words`, without secrets: none is cut in two, and so unknown."""
    return redact(words) if len(words) <= most else _beginning(words, most, redact)


def _beginning(words: str, most: int, redact: Redact) -> str:
    clean = redact(words[: most + _LONGEST_SECRET])
    is_whole = len(words) <= most + _LONGEST_SECRET
    # What stands at the cut may be the beginning of one.
    return clean[:most] if is_whole else clean[: min(most, max(0, len(clean) - _LONGEST_SECRET))]


def _under(name: str, value: Any, holder: dict[Any, Any], redact: Redact) -> Any:
    plain = name.lower().replace("_", "").replace("-", "")
    if name.lower() in _NAMED_VALUES:
        return _without_values(value, redact)
    if not isinstance(value, str):
        return clean_value(value, redact)
    if value and plain in _SECRETS:
        return HIDDEN
    if name == "blob" or (name == "data" and "mimeType" in holder):
        return f"[{len(value)} characters of base64 left out of the recording]"
    if len(value) > _MOST_TEXT:
        return clean_text(value, redact)
    told = redact(f"{name}={value}")
    return _without_cut_secret(told.removeprefix(f"{name}=") if told.startswith(f"{name}=") else redact(value))


def _without_values(values: Any, redact: Redact) -> Any:
    """Variables or headers in any of their forms, by their names alone: values are what keys are passed in."""
    match values:
        case dict():
            return {_clean_name(name, redact): HIDDEN for name in values}
        case list():
            return [_without_value(each, redact) for each in values]
        case str():
            return HIDDEN
    return values


def _without_value(each: Any, redact: Redact) -> Any:
    match each:
        case str():
            return f"{clean_text(each.partition('=')[0], redact)}={HIDDEN}" if "=" in each else HIDDEN
        case dict():
            return {
                _clean_name(name, redact): clean_value(part, redact) if name == "name" else HIDDEN
                for name, part in each.items()
            }
    return clean_value(each, redact)


def _items(values: Sequence[Any], redact: Redact) -> Iterator[Any]:
    """Items of a list; in the arguments of a program, what follows `--api-key` is its value."""
    is_value = False
    for each in values:
        if is_value and isinstance(each, str):
            header = _HEADER.fullmatch(each)
            yield f"{clean_text(header[1], redact)}: {HIDDEN}" if header else HIDDEN
            is_value = False
            continue
        yield clean_value(each, redact)
        is_value = isinstance(each, str) and _SECRET_FLAG.fullmatch(each) is not None


# The lines in their order, without secrets. What the pieces of a text hold together is waited for.

_CHUNKS = frozenset({"agent_message_chunk", "agent_thought_chunk", "user_message_chunk"})
_TERMINAL = "terminal"
_MOST_OF_A_LINE = 2_000
_MOST_HELD = 64_000
_MOST_LINES = 2_000


@dataclass(frozen=True, slots=True)
class _Piece:
    """A text, and where its piece stands in a line."""

    session: str
    kind: str
    number: str
    path: tuple[str, ...]


class Cleaner:
    """Cleans the lines of one recording, in their order.

    A secret may come in several pieces of one text, with other messages between them. So lines are held back from
    a piece on that a secret may begin in: until the text goes on or is over.
    """

    def __init__(self, redacting: Redact, patience: float) -> None:
        """Make it; a text that got no further piece for `patience` seconds is taken to be at its end."""
        self._redact = redacting
        self._patience = patience
        self._held: deque[Held] = deque()
        self._streams: dict[_Piece, Stream] = {}

    @property
    def holds(self) -> bool:
        """Whether lines are held back."""
        return bool(self._held)

    def cleaned(self, entry: Entry) -> Iterator[Entry]:
        """The lines that can be written now that `entry` came."""
        piece, ended = _piece(entry), _session_ended_by(entry)
        for each, stream in list(self._streams.items()):
            is_over = each.session == ended and each != piece and each.kind != _TERMINAL
            if is_over or stream.latest < entry["t"] - self._patience:
                self._streams.pop(each).settle(is_over=True)
        held = Held(entry) if piece is None else Held.of_piece(entry, piece.path)
        held.entry = self._clean(entry)
        self._held.append(held)
        if piece is not None and "frame" in held.entry:
            self._streams.setdefault(piece, Stream(self._redact)).add(held)
        else:
            held.text = None
        is_much = len(self._held) > _MOST_LINES
        if is_much or sum(stream.size for stream in self._streams.values()) > _MOST_HELD:
            return self.settled(is_over=is_much)
        return self._ready()

    def settled(self, *, is_over: bool) -> Iterator[Entry]:
        """The lines whose texts no secret may go on in; all that are held if nothing more `is_over`."""
        for stream in self._streams.values():
            stream.settle(is_over=is_over)
        return self._ready()

    def _ready(self) -> Iterator[Entry]:
        while self._held and self._held[0].text is None:
            yield self._held.popleft().entry

    def _clean(self, entry: Entry) -> Entry:
        told = {"dir": entry["dir"], "t": entry["t"]}
        if "line" in entry:
            return {**told, "line": clean_beginning(entry["line"], _MOST_OF_A_LINE, self._redact)}
        try:
            return {**told, "frame": clean_value(entry["frame"], self._redact)}
        except RecursionError:
            return {**told, "line": "[a message that is nested too deeply to be recorded]"}


def _session_ended_by(entry: Entry) -> str:
    """The session in which something came that stands behind what was said; '' for none."""
    match entry.get("frame"):
        case {"method": "session/update", "params": {"sessionId": str(session), "update": dict(update)}}:
            return session if update.get("sessionUpdate") in {"tool_call", *_CHUNKS} else ""
        case {"method": str(), "id": _, "params": {"sessionId": str(session)}}:
            return session
    return ""


def _piece(entry: Entry) -> _Piece | None:
    """Which text this line is a piece of; None for a line that is none of one."""
    match entry.get("frame"):
        case {"method": "session/update", "params": {"sessionId": str(session), "update": dict(update)}}:
            pass
        case _:
            return None
    match update:
        case {"sessionUpdate": str(kind), "content": {"type": "text", "text": str()}} if kind in _CHUNKS:
            return _Piece(session, kind, str(update.get("messageId")), ("content", "text"))
        case {"_meta": {"terminal_output": {"terminal_id": str(terminal), "data": str()}}}:
            return _Piece(session, _TERMINAL, terminal, ("_meta", "terminal_output", "data"))
    return None
