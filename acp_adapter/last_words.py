"""Failures that nobody has handled, on any thread: told without secrets, and to an editor without a traceback.

Python would print them to stderr as they are, and what a failure says may hold a key.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable
from pathlib import PurePath
from types import TracebackType

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
    import os  # noqa: PLC0415

    from tools.redaction import Redactor  # noqa: PLC0415 - as above

    redactor = Redactor()
    try:
        from agent_core.config import load  # noqa: PLC0415
        from agent_core.home import find_home  # noqa: PLC0415
        from agent_core.known_secrets import secrets_of  # noqa: PLC0415

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
