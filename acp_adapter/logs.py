"""Log files, without secrets, and failures that nobody handles.

Only the standard library is imported at the top: a subcommand's failure is told whatever is wrong with the rest.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path, PurePath
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent_core.home import Home
    from tools.redaction import Redact


# Log records: a rotating file in the home directory; stderr only on request.

_FORMAT = "%(asctime)s %(levelname)s session=%(session)s turn=%(turn)s %(name)s [%(threadName)s] %(message)s"
_MAX_BYTES = 5 * 1024 * 1024
_KEPT = 3


class RedactingFormatter(logging.Formatter):
    """Writes records without the secrets in them: those of the message, its arguments and the traceback alike."""

    def __init__(self, layout: str, redacting: Redact) -> None:
        super().__init__(layout)
        from agent_core.activity import where  # noqa: PLC0415 - after the first answer

        self._redact = redacting
        self._where = where

    def format(self, record: logging.LogRecord) -> str:
        """The record as text; it says which session and turn its thread works for."""
        record.session, record.turn = self._where()
        return self._redact(super().format(record))


def silence_early_logs() -> None:
    """Keep records from reaching stderr before `set_up_logs`: some editors show any of it as an error."""
    logging.getLogger().addHandler(logging.NullHandler())


def set_up_logs(home: Home, *, verbose: bool, redacting: Redact | None = None) -> None:
    """Log to `logs/hermes-acp.log`, and to stderr if `verbose`; each record passes `redacting`, or `redact`."""
    from tools.redaction import redact  # noqa: PLC0415 - after the first answer

    root = logging.getLogger()
    root.setLevel(logging.DEBUG if verbose else logging.INFO)
    handlers: list[logging.Handler] = [logging.StreamHandler(sys.stderr)] if verbose else []
    try:
        handlers.append(SharedLog(home.make(home.logs) / "hermes-acp.log", _MAX_BYTES, _KEPT))
    except OSError:
        # A home that cannot be written to costs the log, not the session.
        handlers.append(logging.NullHandler())
    for handler in handlers:
        handler.setFormatter(RedactingFormatter(_FORMAT, redacting or redact))
        root.addHandler(handler)
    # They log each request, with its address or even its key, at INFO and DEBUG.
    for name in ("httpx2", "httpcore2", "openai", "anthropic", "botocore", "urllib3"):
        logging.getLogger(name).setLevel(logging.WARNING)


# A log file that several processes write to; whichever finds it full moves it aside for all of them.


class SharedLog(logging.Handler):
    """Writes each record as a whole to the end of `path`; `path.1` and so on are the ones before, for the user alone.

    A record that cannot be written, on a full disk say, is lost, and nobody is told on stderr.
    """

    def __init__(self, path: Path, most_bytes: int, kept: int) -> None:
        super().__init__()
        self._path = path
        self._most = most_bytes
        self._kept = kept
        self._file: int | None = None
        self._is_cut = False

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        try:
            data = f"{self.format(record)}\n".encode(errors="backslashreplace")
        except Exception:  # noqa: BLE001 - as every handler does: this is for who wrote the call
            self.handleError(record)
            return
        try:
            self._write(data)
        except OSError:
            return

    def close(self) -> None:
        """Nothing more is written."""
        self.acquire()
        try:
            self._leave()
        finally:
            self.release()
        super().close()

    def _write(self, data: bytes) -> None:
        file = self._current()
        size = os.fstat(file).st_size
        if size and size + len(data) > self._most and self._move_aside(file):
            self._leave()
            file = self._current()
        self._append(file, b"\n" + data if self._is_cut else data)

    def _append(self, file: int, data: bytes) -> None:
        left = memoryview(data)
        try:
            while left:
                left = left[os.write(file, left) :]
        finally:
            # Half a record, on a disk that was full then, must not have the next one on its line.
            self._is_cut = bool(left) and (len(left) < len(data) or self._is_cut)

    def _current(self) -> int:
        """The file that has the name now: another process may have moved ours aside."""
        if self._file is not None and not self._has_name(self._file):
            self._leave()
        if self._file is None:
            from tools.os_compat import O_CLOEXEC  # noqa: PLC0415 - failures are told before anything of ours is loaded

            self._file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | O_CLOEXEC, 0o600)
        return self._file

    def _has_name(self, file: int) -> bool:
        try:
            return os.path.samestat(os.fstat(file), self._path.stat())
        except FileNotFoundError:
            return False

    def _move_aside(self, file: int) -> bool:
        """Whether it is done, here or elsewhere; False while another process is at it, who may take long."""
        from tools.os_compat import lock  # noqa: PLC0415 - few records find it full

        try:
            lock(file)
        except BlockingIOError:
            return False
        if self._has_name(file):
            for number in range(self._kept, 0, -1):
                before = self._numbered(number - 1)
                if before.exists():
                    before.replace(self._numbered(number))
        return True  # closing the file lets go of the lock

    def _numbered(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}") if number else self._path

    def _leave(self) -> None:
        file, self._file, self._is_cut = self._file, None, False
        if file is not None:
            os.close(file)


# Failures that nobody has handled, on any thread: Python would print them as they are, and they may hold a key.

log = logging.getLogger(__name__)

_Failure = tuple[type[BaseException], BaseException, TracebackType | None]
_Tell = Callable[[str, _Failure], None]


def log_unhandled() -> None:
    """From now on they are records of the log; a line besides, where one ends the process or there is no log yet."""
    _hook(_to_log)
    logging.captureWarnings(capture=True)


def print_unhandled() -> None:
    """From now on they are printed as Python does it, for a person at a terminal, but without secrets."""
    _hook(_to_stderr)


def _hook(tell: _Tell) -> None:
    def of_process(kind: type[BaseException], value: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            sys.__excepthook__(kind, value, trace)
            return
        tell("it ends the process", (kind, value, trace))

    def of_thread(told: threading.ExceptHookArgs) -> None:
        if told.exc_value is not None and not issubclass(told.exc_type, SystemExit):
            name = "" if told.thread is None else told.thread.name
            tell(f"in the thread {name}", (told.exc_type, told.exc_value, told.exc_traceback))

    def of_nobody(told: sys.UnraisableHookArgs) -> None:
        # The object is not told: what it says of itself may be anything.
        if told.exc_value is not None:
            tell(told.err_msg or "where it could not be raised", (told.exc_type, told.exc_value, told.exc_traceback))

    sys.excepthook = of_process
    threading.excepthook = of_thread
    sys.unraisablehook = of_nobody


def _to_log(where: str, failure: _Failure) -> None:
    is_kept = any(not isinstance(handler, logging.NullHandler) for handler in logging.getLogger().handlers)
    if is_kept:  # else Python would print the record as it is
        log.error("nobody has handled a failure: %s", where, exc_info=failure)
    if not is_kept or "process" in where:
        _write(f"hermes-acp: an unexpected failure, {where}: {failure[0].__name__}{_place(failure[2])}\n")


def _to_stderr(where: str, failure: _Failure) -> None:
    import traceback  # noqa: PLC0415 - few commands fail so

    text = "".join(traceback.format_exception(failure[1]))
    _write(_without_secrets(f"hermes-acp: an unexpected failure, {where}\n{text}"))


def _without_secrets(text: str) -> str:
    """The text without secrets, those of the settings too where these can be read."""
    from tools.redaction import Redactor  # noqa: PLC0415 - as above

    redactor = Redactor()
    try:
        from agent_core.config import load, secrets_of  # noqa: PLC0415
        from agent_core.home import find_home  # noqa: PLC0415

        redactor.learn(secrets_of(load(find_home(os.environ))))
    except Exception:  # noqa: BLE001, S110 - whatever is wrong there, this failure is to be told
        pass
    return redactor(text)


def _place(trace: TracebackType | None) -> str:
    """Where it happened, without what was said there."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else f" at {PurePath(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"


def _write(text: str) -> None:
    if sys.stderr is not None:
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except (OSError, ValueError):  # nobody reads it
            return
