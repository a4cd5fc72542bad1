"""The server as a process: claims stdin and stdout, greets the client, runs the agent, and always comes to an end."""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import signal
import stat
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from acp_adapter.jsonrpc import hold_little
from acp_adapter.logs import log_unhandled, set_up_logs, silence_early_logs
from acp_adapter.startup import FirstAnswer, Greeting, ServerOptions, greet
from acp_adapter.transport import Stdio, Transport
from agent_core.errors import RequestError, SettingsError
from agent_core.home import Home

if TYPE_CHECKING:
    from acp_adapter.export.recording import Recorder
    from agent_core.config import ConfigSource, Configuration
    from tools.redaction import Redactor


# Stdin and stdout are taken away from everyone but the transport (law 2: stdout belongs to the protocol).

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_MOST_STRAY = 5 * 1024 * 1024


def claim_stdio(stray_output: Path | None) -> Stdio:
    """Keep private duplicates of descriptors 0 and 1, and point the public ones elsewhere.

    From then on a print, a library or a child process reads from the null device and writes to the file
    `stray_output` (the null device where it is None or cannot be opened).

    Raises:
        OSError: stdin or stdout is closed.
    """
    reader, writer = _private(0), _private(1)
    claimed = Stdio(reader, writer)
    hold_little(writer)
    null = os.open(os.devnull, os.O_RDWR)
    if null == 2:  # noqa: PLR2004 - stderr was closed: no file of ours may take its number and get its warnings
        null = os.dup(null)
    sink = _open_sink(stray_output)
    os.dup2(null, 0)
    os.dup2(null if sink is None else sink, 1)
    os.close(null)
    if sink is not None:
        os.close(sink)
    return claimed


def _private(public: int) -> int:
    """A duplicate that no child inherits."""
    if sys.platform == "win32":
        duplicate = os.dup(public)  # not inheritable
        msvcrt.setmode(duplicate, os.O_BINARY)  # else line ends are rewritten, and Ctrl-Z ends the input
        return duplicate
    # Never as 0, 1 or 2: where one of those is closed, a plain dup would take its number.
    return fcntl.fcntl(public, fcntl.F_DUPFD_CLOEXEC, 3)


def _open_sink(path: Path | None) -> int | None:
    if path is None:
        return None
    try:
        sink = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        if os.fstat(sink).st_size <= _MOST_STRAY:
            return sink
        os.close(sink)
        # Other processes that write to it go on in what is the file before this one then.
        path.replace(path.with_name(f"{path.name}.1"))
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError:
        return None


# Fewer memory arenas: threads that come and go otherwise leave memory behind that nobody uses.

_M_ARENA_MAX = -8  # malloc.h of glibc
_ARENAS = 2


def share_arenas() -> bool:
    """Let threads share a few arenas of the C library; whether it knows how (only glibc does).

    By itself it makes up to eight for each core, and what one thread's turn has freed is of use to no other. It is
    to be called while there are few threads: with more than eight arenas it has decided how many there may be.
    """
    import ctypes  # noqa: PLC0415 - after the first answer

    try:
        return bool(ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _ARENAS))
    except (AttributeError, OSError, TypeError):
        return False


log = logging.getLogger(__name__)

_FLUSH_SECONDS = 0.5
# How many new objects there are before the collector looks at them: Python's usual number, and one for loading, which
# leaves next to no garbage.
_OBJECTS_WHILE_LOADING, _OBJECTS_AFTERWARDS = 200_000, 700
# Seconds that a thread has the interpreter while others wait for it: for loading, which must not hold up answers, a
# cancel or the end, and Python's usual number.
_TURN_WHILE_LOADING, _TURN_AFTERWARDS = 0.0005, 0.005

UNSAVED = 3
"""The exit code where a part of a conversation is not stored."""

_EXIT_SECONDS = 1.5
_LONGEST_END = 9.0
"""Seconds from the end of the input, with those that storing what is left is tried for."""


def run_server(home: Home, options: ServerOptions) -> int:
    """Serve one client on stdin and stdout until it is gone; ends the process, however busy it is."""
    if sys.stdin is not None and sys.stdin.isatty():
        sys.stderr.write(
            "hermes-acp waits for an editor's messages on stdin. Ctrl-C ends it.\n"
            "For people: hermes-acp setup, hermes-acp chat, hermes-acp demo; hermes-acp --help lists all.\n"
        )
    # Until all is loaded there is no garbage to speak of, and looking for it takes an eighth of the loading.
    gc.disable()
    silence_early_logs()
    log_unhandled()
    own, ending = _Own(home, options), Ending()
    try:
        recorder = _recorder(options, own)
        stdio = claim_stdio(_stray_output(home))
    except RequestError as problem:
        sys.stderr.write(f"hermes-acp: {problem.public}\n")
        return 2
    except OSError as problem:
        sys.stderr.write(f"hermes-acp: stdin and stdout must be open for the protocol ({problem}).\n")
        return 2
    from_file = stat.S_ISREG(os.fstat(stdio.reader).st_mode)
    tap = None if recorder is None else recorder.put
    transport = Transport(stdio, finish_before_end=from_file, on_over=ending.begin, tap=tap)
    transport.start()
    ending.hear_signals()
    with contextlib.suppress(KeyboardInterrupt):  # an end like that of the input
        memory = FirstAnswer(home, options)
        greeting = greet(transport, own.load, memory, _load_server, _load_sdk)
        if not greeting.ended:
            set_up_logs(home, verbose=options.verbose, redacting=own.redactor)
            _log_ignored_settings(own.config)
            _run_agent(transport, own.config, greeting, ending)
    transport.end(_FLUSH_SECONDS)
    if recorder is not None:
        recorder.close(_FLUSH_SECONDS)
    # Worker threads may be stuck in a tool or a read; they must not keep the process.
    os._exit(ending.finish_undisturbed())


class _Own:
    """The process's settings and its redactor, made once, by whichever thread needs them first."""

    def __init__(self, home: Home, options: ServerOptions) -> None:
        self._home = home
        self._options = options
        self._lock = threading.RLock()
        self._config: ConfigSource | None = None
        self._redactor: Redactor | None = None

    @property
    def config(self) -> ConfigSource:
        from agent_core.config import ConfigSource, Overrides, teach  # noqa: PLC0415 - after the first answer

        with self._lock:
            if self._config is None:
                chosen = Overrides(self._options.model, self._options.provider, self._options.base_url)
                self._config = ConfigSource(self._home, chosen, lambda settings: teach(self.redactor.learn, settings))
            return self._config

    @property
    def redactor(self) -> Redactor:
        from tools.redaction import Redactor  # noqa: PLC0415 - the same

        with self._lock:
            if self._redactor is None:
                self._redactor = Redactor()
            return self._redactor

    def load(self) -> Configuration:
        """The settings as they are now."""
        return self.config.load()

    def knowing_redactor(self) -> Redactor:
        """The redactor, once it knows the keys of the settings, as far as these can be read."""
        with contextlib.suppress(SettingsError):
            self.load()
        return self.redactor


def _recorder(options: ServerOptions, own: _Own) -> Recorder | None:
    if options.record is None:
        return None
    from acp_adapter.export.recording import Recorder  # noqa: PLC0415 - few record

    try:
        return Recorder(Path(options.record), own.knowing_redactor)
    except OSError as problem:
        why = problem.strerror or problem
        raise RequestError(f"--record: {options.record} cannot be written to: {why}. Name another file.") from problem


def _run_agent(transport: Transport, config: ConfigSource, greeting: Greeting, ending: Ending) -> None:
    import asyncio  # noqa: PLC0415 - after the first answer

    share_arenas()  # before there are more threads than it can tell
    from acp_adapter.server import serve  # noqa: PLC0415

    gc.freeze()
    gc.set_threshold(_OBJECTS_WHILE_LOADING)
    gc.enable()
    sys.setswitchinterval(_TURN_WHILE_LOADING)
    asyncio.run(serve(transport, config, greeting, ending=ending, on_loaded=_settle))


def _load_server() -> None:
    import acp_adapter.server  # noqa: F401, PLC0415 - while the first session is awaited


def _load_sdk() -> None:
    import acp_adapter.sdk  # noqa: F401, PLC0415 - the same


def _settle() -> None:
    """What is loaded before the first prompt stays: the collector need not look through it again and again."""
    gc.freeze()
    gc.set_threshold(_OBJECTS_AFTERWARDS)
    sys.setswitchinterval(_TURN_AFTERWARDS)


def _log_ignored_settings(config: ConfigSource) -> None:
    """Name the settings that nobody reads: one of them may be misspelt."""
    try:
        warnings = config.load().warnings
    except SettingsError:
        return  # the session that needs the settings says so
    for warning in warnings:
        log.warning("%s", warning)


def _stray_output(home: Home) -> Path | None:
    """The file that a stray print goes to; None where the home cannot be written to."""
    try:
        return home.make(home.logs) / "stdout.log"
    except OSError:
        return None


class Ending:
    """The end of this process. Safe to use from several threads.

    Attributes:
        store: stores what is left; what to tell the person of what could not be, '' for nothing. Whoever calls it
            while another does waits for the same.
    """

    def __init__(self) -> None:
        self.store: Callable[[], str] = lambda: ""
        self._lock = threading.Lock()
        self._has_begun = self._is_told = False

    def begin(self) -> None:
        """Nothing more will come: whatever hangs, the process ends. Commands then die with it, by their guardian."""
        with self._lock:
            if self._has_begun:
                return
            self._has_begun = True
        for seconds, end in ((_EXIT_SECONDS, self._end_now), (_LONGEST_END, lambda: os._exit(UNSAVED))):
            timer = threading.Timer(seconds, end)
            timer.daemon = True
            timer.start()

    def hear_signals(self) -> None:
        """Let SIGTERM and SIGHUP end the process as SIGINT does. Main thread only."""
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            # Who starts programs with `nohup` wants them to outlive the terminal.
            if number is not None and signal.getsignal(number) == signal.SIG_DFL:
                signal.signal(number, self._interrupt)

    def finish_undisturbed(self) -> int:
        """The same as `finish`, whoever presses Ctrl-C meanwhile. Main thread only."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        return self.finish()

    def finish(self) -> int:
        """Store what is left; the exit code."""
        try:
            told = self.store()
        except Exception as problem:
            log.exception("what is left could not be stored")
            told = f"what was not saved yet is lost: {type(problem).__name__}. The log tells more."
        # Whoever comes second ends the process: not before it is told.
        with self._lock:
            if told and not self._is_told:
                self._is_told = True
                with contextlib.suppress(OSError, ValueError):  # nobody reads it
                    sys.stderr.write(f"hermes-acp: {told}\n")
                    sys.stderr.flush()
        return UNSAVED if told else 0

    def _interrupt(self, *_: object) -> None:
        if not self._has_begun:  # else what is left is being stored
            self.begin()
            signal.raise_signal(signal.SIGINT)

    def _end_now(self) -> None:
        os._exit(self.finish())
