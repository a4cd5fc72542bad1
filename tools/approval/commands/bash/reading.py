"""What a shell command was read as: its invocations, and why it could not be read as a whole."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tools.approval.commands.bash import UNKNOWN as UNKNOWN  # noqa: PLC0414 - whoever reads readings finds it here
from tools.light_dataclass import dataclass

if TYPE_CHECKING:
    from tree_sitter import Language, Node


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


# Why a command could not be read as a whole. Each follows "because it …".

HIDDEN_PROGRAM = "runs a program whose name is hidden"
UNKNOWN_TEXT = "runs text that is not known"
PARTLY_UNKNOWN_TEXT = "runs text of which parts are not known"
UNKNOWN_SCRIPT = "runs a script that is not known"
NOT_BASH = "is not valid bash, as far as can be told"
TOO_MUCH = "is too long or too nested to be read"
OTHER_SHELL = "runs the text of another kind of shell"
NO_GRAMMAR = "cannot be read, since the grammar of bash is not installed"
FORK_BOMB = "starts itself again and again"


# How much may be read of a command before it counts as unreadable.

# Heredocs come on top: programs write large files with them.
MAX_CHARS = 1 << 16
MAX_WITH_DOCUMENTS = 1 << 18
MAX_DEPTH = 24
MAX_INVOCATIONS = 400
MAX_WORDS = 4000
MAX_EXPANDED = 64
MAX_VALUES = 16
MAX_TEXT = 1 << 17
_STEPS = 60_000


class TooMuch(Exception):
    """The command is longer, deeper or more tangled than anybody writes it."""


class Budget:
    """Steps that are left for one reading, shared by all its nested texts."""

    def __init__(self, steps: int = _STEPS) -> None:
        self._left = steps

    def spend(self, steps: int = 1) -> None:
        """Take steps off.

        Raises:
            TooMuch: none are left.
        """
        self._left -= steps
        if self._left < 0:
            raise TooMuch


def check_depth(depth: int) -> None:
    """Raise `TooMuch` where texts are nested too deeply."""
    if depth > MAX_DEPTH:
        raise TooMuch


# The grammar of bash, by tree-sitter. It is loaded when the first command is read.


class NoGrammar(Exception):
    """tree-sitter or its grammar of bash cannot be loaded."""


def parse(skeleton: str) -> Node:
    """The tree of a script of which only ASCII is left, so that its places are places in the text.

    Raises:
        NoGrammar: the packages `tree-sitter` and `tree-sitter-bash` are missing.
    """
    language = _language()
    from tree_sitter import Parser  # noqa: PLC0415 - with its grammar

    # A parser is for one thread at a time.
    return Parser(language).parse(skeleton.encode("ascii", "replace")).root_node


@functools.lru_cache(maxsize=1)
def _language() -> Language:
    try:
        import tree_sitter_bash  # noqa: PLC0415 - heavy
        from tree_sitter import Language  # noqa: PLC0415 - heavy
    except ImportError as error:
        message = "Bash's grammar cannot be loaded: install tree-sitter and tree-sitter-bash"
        raise NoGrammar(message) from error
    return Language(tree_sitter_bash.language())


# How a command of git is written: git's own options, then the command, then what is the command's.

_TAKES_NEXT = frozenset({
    "-c", "-C", "--git-dir", "--work-tree", "--namespace", "--config-env", "--super-prefix", "--attr-source",
})  # fmt: skip
_OF_ANOTHER = frozenset({"--git-dir", "--work-tree", "--namespace", "--bare"})
_VARIABLES = re.compile(r"GIT_(?:DIR|WORK_TREE|COMMON_DIR|INDEX_FILE|NAMESPACE|\w+_PATHSPECS)")


@dataclass(frozen=True, slots=True)
class GitWords:
    """The words of a command of git.

    Attributes:
        options: of git itself, each with its value, which is an empty text for those without.
        command: None where there is none.
        rest: the command's arguments.
        folder: where it runs; None where nobody knows, or where it is told to use another repository than that there.
    """

    options: tuple[tuple[str, Argument], ...]
    command: Argument | None
    rest: tuple[Argument, ...]
    folder: Path | None


def git_words(call: Invocation) -> GitWords:
    """The words of `call`, a command of git."""
    options: list[tuple[str, Argument]] = []
    folder = None if call.cwd is None else Path(call.cwd)
    command, rest = None, iter(call.arguments)
    for argument in rest:
        if not argument.text.startswith("-"):
            command = argument
            break
        name, equals, value = argument.text.partition("=")
        given = next(rest, argument) if name in _TAKES_NEXT and not equals else Argument(value)
        options.append((name, given))
        if name == "-C" and folder is not None:
            folder = folder / given.text if given.is_known else None
        elif name in _OF_ANOTHER or not argument.is_known:
            folder = None
    return GitWords(tuple(options), command, tuple(rest), folder)


def sets_git_up(command: str) -> bool:
    """Whether the text of a command sets variables that lead git to another repository or change what paths mean."""
    return _VARIABLES.search(command) is not None
