"""From the text of a command to what it may run."""

from __future__ import annotations

from pathlib import Path

from tools.bash.budget import Budget, TooMuch
from tools.bash.doubts import NO_GRAMMAR, TOO_MUCH
from tools.bash.grammar import NoGrammar
from tools.bash.machine import Frame
from tools.bash.reading import Reading
from tools.bash.scope import Scope
from tools.bash.shell import Shell, read_rest
from tools.bash.sink import Sink


def read_command(command: str, cwd: Path | None = None) -> Reading:
    """Read `command` as bash would: which programs it may run, and what cannot be known.

    Nothing runs and the disk is not looked at. Every text can be read, in bounded time: what is too long or too
    nested for that is a doubt.

    Args:
        command: what is given to `bash -c`.
        cwd: the absolute directory it starts in; None where it is not known.
    """
    sink = Sink(Budget())
    frame = Frame()
    try:
        Shell(Scope(cwd=str(cwd) if cwd else None), sink, frame).run(command)
        read_rest(sink, frame)
    except (TooMuch, RecursionError):
        sink.doubt(TOO_MUCH)
    except NoGrammar:
        sink.doubt(NO_GRAMMAR)
    return sink.reading()
