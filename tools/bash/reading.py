"""What a shell command was read as: the programs that may run, and what could not be read."""

from __future__ import annotations

from typing import Literal

from tools.bash.unknown import UNKNOWN as UNKNOWN  # noqa: PLC0414 - whoever reads readings finds it here
from tools.light_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Argument:
    """One word after quotes, escapes, `$IFS`, `$'..'` and known variables are resolved.

    Attributes:
        text: its value, with `UNKNOWN` for each unknown part.
        expands: an unquoted glob or brace is in it: it may be several words, or names that nobody wrote.
        splits: an unquoted unknown part is in it: it may be none or several words.
    """

    text: str
    expands: bool = False
    splits: bool = False

    @property
    def is_known(self) -> bool:
        """Whether the program gets exactly this text as one word."""
        return not (self.expands or self.splits or UNKNOWN in self.text)


@dataclass(frozen=True, slots=True)
class Redirection:
    """A file or descriptor that a command reads from or writes to.

    Attributes:
        operator: `>`, `>>`, `>|`, `&>`, `&>>`, `<`, `<>`, `>&` or `<&`. (Heredocs and `<<<` are in `Input`.)
        descriptor: the number before the operator; None where the operator's own counts.
        target: the file, or the descriptor's number, or `-`.
    """

    operator: str
    descriptor: int | None
    target: Argument


@dataclass(frozen=True, slots=True)
class Input:
    """Where standard input comes from.

    Attributes:
        text: for kind `text`: a heredoc, a here-string, or what `echo`, `printf` or `cat` print into the pipe.
        source: for kind `command`: the program before the pipe, its last one.
    """

    kind: Literal["inherited", "text", "file", "command", "unknown"]
    text: str = ""
    source: Invocation | None = None


INHERITED = Input("inherited")


@dataclass(frozen=True, slots=True)
class Invocation:
    """A program that may run, with the wrappers around it taken off.

    `sudo -u x env A=1 timeout 5 rm y` is `rm y`, via sudo, env and timeout.

    Attributes:
        program: its bare name, `rm` for `/bin/rm`; empty where it is not known or there is none.
        written: as it is written: `/bin/rm`, `./x.sh`, `$CMD`.
        arguments: without the program itself.
        assignments: names and values set for it alone, also by `env`. With an empty `written` they are the whole
            statement.
        via: the wrappers, outermost first: sudo, env, xargs, find, ssh, docker, sh, eval, timeout …
        elsewhere: it runs on another machine or in a container.
        cwd: the directory it runs in, absolute, as far as `cd` can be followed; None: unknown.
        adds_unknown: more arguments come that nobody knows (xargs, `find -exec`, `"$@"`).
        background: nobody waits for it.
        wrapped: wrappers with the arguments of their own, as far as these were told from the command's.
    """

    program: str
    written: str
    arguments: tuple[Argument, ...]
    redirections: tuple[Redirection, ...] = ()
    input: Input = INHERITED
    assignments: tuple[tuple[str, Argument], ...] = ()
    via: tuple[str, ...] = ()
    elsewhere: bool = False
    cwd: str | None = None
    adds_unknown: bool = False
    background: bool = False
    wrapped: tuple[tuple[str, tuple[Argument, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Doubt:
    """Something that runs and cannot be read.

    Attributes:
        why: follows «because it …»: "runs text that is not known", "runs a program whose name is hidden".
    """

    why: str


@dataclass(frozen=True, slots=True)
class Reading:
    """What a command may run.

    Attributes:
        invocations: every program that may run: of all branches, substitutions, function bodies, traps, `eval`,
            `sh -c`, heredocs that are fed to shells, decoded texts.
        doubts: what could not be read; none when everything was understood.
        texts: the scripts inside it as they are read, decoded ones too; not the command itself.
    """

    invocations: tuple[Invocation, ...]
    doubts: tuple[Doubt, ...] = ()
    texts: tuple[str, ...] = ()
