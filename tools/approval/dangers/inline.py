"""Finds the scripts inside a command: `python -c`, a heredoc into perl, a program of awk or sed, SQL for a client."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise

from tools.approval.dangers.interpreters import (
    INTERPRETERS,
    LANGUAGES,
    LONG_WITH_VALUE,
    SQL_CLIENTS,
    SQL_LONG_WITH_VALUE,
    SQLITE,
    SQLITE_LONG_WITH_VALUE,
    STREAM_EDITORS,
    Interpreter,
    SqlClient,
)
from tools.approval.dangers.verb_tables import LOCAL
from tools.approval.dangers.words import Words, sort_words, texts
from tools.bash.reading import UNKNOWN, Argument, Invocation
from tools.light_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Script:
    """The text of a script, in a language that `judge_script` may know; `is_fed` where it comes through a pipe that
    nobody can look into.
    """

    language: str
    source: str = ""
    is_fed: bool = False


# Python's own options: with a module, with a value that follows, and others, which no script is.
_PYTHON_MODULE = re.compile(r"-[bBdEhiIOPqRsSuvVx]*m([\w.]+)?")
_PYTHON_VALUE = re.compile(r"-[bBdEhiIOPqRsSuvVx]*[WX]|--check-hash-based-pycs")
_PYTHON_OPTION = re.compile(r"-(?![bBdEhiIOPqRsSuvVx]*c|$)")
_TIMEIT_VALUES = "nrsu", ("--number", "--repeat", "--setup", "--unit")
_TIMEIT_SETUP = "-s", "--setup"
_SCRIPT_FILES = "-f", "--file"
_MODULE_ENDS = ".py", "/__main__.py"
_SUBCOMMANDS = frozenset({"eval", "repl", "test", "x", "install", "build"})
_PRINTS = re.compile(r"-p|--print")
_INPUTS = frozenset({"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", UNKNOWN})
_OTHER_INPUTS = re.compile(r"/dev/fd/[1-9]|/proc/self/fd/[1-9]")
# With these no script is read from standard input. The words of PowerShell's options are no letters.
_NOTHING_READ: Mapping[str, tuple[str, ...]] = {"powershell": ()}
_NOTHING_READ_ELSEWHERE = ("--test", "-f", "--file", "--check")
_SQLITE = SqlClient(files=("-init", "--init"))
_SQLITE_GIVES = "-cmd", "--cmd"
_MAKERS = frozenset({"make", "gmake"})
_MAKE_VALUES = "fCIoWE", ("--eval", "--file", "--makefile", "--directory")
_MAKE_GIVES = "-E", "--eval"
_MAKE_FILES = "-f", "--file", "--makefile"
_TAKE_SQL = frozenset({"duckdb", "bq", "turso"})
_SQL_LOOKS = "-l", "--list", "--version", "--help"
_SQL = re.compile(
    r"\s*(?:(?:drop|alter)\s+(?:table|database|schema|index|view|user|role|keyspace|collection|column|type"
    r"|function|trigger|sequence)\b|truncate\s+(?:table\s+)?\w+\s*;?\s*$|delete\s+from\s"
    r"|update\s+\S+\s+set\s|grant\s.+\son\s|/\*|--\s)",
    re.IGNORECASE,
)
_SQL_READS = re.compile(r"(?:^|[;\n])\s*(?:\.read|\\ir?|\\include|source|\\\.)\s+['\"]?([^\s;'\"]+)", re.IGNORECASE)
# What they are told is stored, or searched for.
_NO_CLIENTS = frozenset({"git", "hg", "svn", "jj", "sl", "alembic", "ast-grep", "sg", "comby", "codespell"})
_DESCRIBES = re.compile(
    r"-m|--(?:message|title|body|subject|summary|desc|description|name|notes?|comment|reason|label|grep)"
)
# Nobody has seen what is in the file; the name of some tells.
_TELLING_FILE = re.compile(
    r"^(?:-$|/dev/|/proc/)|(?:^|[/_.-])(?:drop|delete|truncate|wipe|purge|reset|destroy|cleanup|rollback|down|undo)",
    re.IGNORECASE,
)
_DEBUGGERS = frozenset({"gdb", "lldb", "gdb-multiarch", "rust-gdb", "rust-lldb"})
_DEBUGGED = re.compile(r"(?:[\w-]+=)?\s*(?:py|python|pi|script)\s+([\s\S]+)")
_VERSIONS = re.compile(r"--?(?:version|help)|-[hV]")


def language_of(program: str) -> str | None:
    """The language that a program interprets; None for other programs."""
    name = re.sub(r"[\d.]+$", "", program.casefold()) or program
    return LANGUAGES.get(name)


def is_sql_client(program: str) -> bool:
    """Whether a program sends SQL to a database."""
    return program.casefold() in SQL_CLIENTS or program in SQLITE


def scripts_of(call: Invocation) -> Iterator[Script]:
    """Every script that `call` gives to an interpreter in its text or through its standard input."""
    program = call.program.casefold()
    language = language_of(program)
    if language is not None:
        yield from _programs(language, call) if language in STREAM_EDITORS else _interpreted(language, call)
    elif program in SQLITE:
        yield from _sqlite(call)
    elif program in SQL_CLIENTS:
        yield from _sql(program, call)
    elif program in _MAKERS:
        words = sort_words(call.arguments, *_MAKE_VALUES)
        yield from (Script("make", one.text) for one in words.values(*_MAKE_GIVES))
        if not _INPUTS.isdisjoint(texts(words.values(*_MAKE_FILES))):
            yield from _fed("make", call)
    elif program in _DEBUGGERS:
        yield from (Script("python", text) for text in _debugged(call))
    elif program not in LOCAL and program not in _NO_CLIENTS:
        yield from (Script("sql", text) for text in _said(call) if _SQL.match(text))


def script_files(call: Invocation) -> Iterator[tuple[str, Argument]]:
    """The files whose text `call` is told to run by an option or in a script, each with its language."""
    program = call.program.casefold()
    language = language_of(program)
    if language is not None and language in STREAM_EDITORS:
        words = sort_words(call.arguments, *STREAM_EDITORS[language].values)
        yield from ((language, one) for one in words.values(*_SCRIPT_FILES))
    elif (module := module_run_by(call)) is not None:
        path = module.program.replace(".", "/")
        yield from (("python", Argument(f"{path}{end}")) for end in _MODULE_ENDS)
    elif is_sql_client(program):
        client = SQL_CLIENTS.get(program, _SQLITE)
        words = sort_words(call.arguments, client.letters, (*SQL_LONG_WITH_VALUE, *client.files))
        yield from (("sql", one) for one in words.values(*client.files))
        yield from (("sql", one) for text in (*texts(call.arguments), call.input.text) for one in files_read(text))


def files_read(sql: str) -> Iterator[Argument]:
    """The files that SQL tells its client to run."""
    yield from (Argument(found[1]) for found in _SQL_READS.finditer(sql))


def _said(call: Invocation) -> Iterator[str]:
    """The arguments, but for what only describes something."""
    given = texts(call.arguments)
    yield from given[:1]
    yield from (text for before, text in pairwise(given) if not _DESCRIBES.fullmatch(before))


def _debugged(call: Invocation) -> Iterator[str]:
    for text in texts(call.arguments):
        if found := _DEBUGGED.fullmatch(text):
            yield found[1]


def module_run_by(call: Invocation) -> Invocation | None:
    """What `python -m NAME …` runs, as if it were a program of that name."""
    if language_of(call.program) != "python":
        return None
    rest = iter(call.arguments)
    for one in rest:
        if found := _PYTHON_MODULE.fullmatch(one.text):
            words = (*(Argument(name) for name in found.groups() if name), *rest)
            return replace(call, program=words[0].text, arguments=words[1:]) if words else None
        if _PYTHON_VALUE.fullmatch(one.text):
            next(rest, None)
        elif not _PYTHON_OPTION.match(one.text):
            return None
    return None


def script_file(call: Invocation) -> tuple[str, ...]:
    """The file that `call` gives to its interpreter to run, if it is one and there is one."""
    language = language_of(call.program)
    if language is None or language in STREAM_EDITORS:
        return ()
    words = _own_words(language, call)
    named = () if words.values(*_interpreter(language).gives) else (*words.values(*_SCRIPT_FILES), *words.operands)
    return texts(named[:1])


def _interpreted(language: str, call: Invocation) -> Iterator[Script]:
    given = texts(call.arguments)
    if language == "javascript" and not _SUBCOMMANDS.isdisjoint(given[:1]):
        if given[0] == "eval":
            yield from (Script(language, text) for text in given[1:])
        return
    words = _own_words(language, call)
    if found := words.values(*_interpreter(language).gives):
        yield Script(language, "\n".join(texts(found)))
        return
    own = (name for name, _ in words.options) if _interpreter(language).is_led else given
    if any(_VERSIONS.fullmatch(text) for text in own):
        return
    if (module := module_run_by(call)) is not None:
        if module.program == "timeit":
            timed = sort_words(module.arguments, *_TIMEIT_VALUES)
            yield Script(language, "\n".join(texts((*timed.values(*_TIMEIT_SETUP), *timed.operands))))
        return
    file = next(iter(words.plain), "-")
    if _OTHER_INPUTS.match(file):
        yield Script(language, is_fed=True)
    elif file in _INPUTS and not words.has(*_NOTHING_READ.get(language, _NOTHING_READ_ELSEWHERE)):
        yield from _fed(language, call)


def _own_words(language: str, call: Invocation) -> Words:
    """What the interpreter itself is told; what follows the script's file belongs to that."""
    given = call.arguments
    if language == "javascript":
        given = tuple(_written_out(given[1:] if texts(given[:1]) == ("run",) else given))
    of = _interpreter(language)
    return sort_words(given, of.letters, LONG_WITH_VALUE, of.optional, of.numbers, is_led=of.is_led)


def _interpreter(language: str) -> Interpreter:
    return INTERPRETERS.get(language, Interpreter())


def _written_out(given: tuple[Argument, ...]) -> Iterator[Argument]:
    """The arguments for node and the like, without a `-p` that only says what becomes of a script behind `-e`."""
    for place, one in enumerate(given):
        is_before_option = any(following.text[:1] == "-" for following in given[place + 1 : place + 2])
        if not (is_before_option and _PRINTS.fullmatch(one.text)):
            yield one


def _fed(language: str, call: Invocation) -> Iterator[Script]:
    if call.input.kind == "text":
        yield Script(language, call.input.text)
    elif call.input.kind != "inherited" or not call.arguments:
        yield Script(language, is_fed=True)


def _programs(language: str, call: Invocation) -> Iterator[Script]:
    editor = STREAM_EDITORS[language]
    words = sort_words(call.arguments, *editor.values)
    named = words.values(*editor.gives)
    first = () if named or words.has(*_SCRIPT_FILES) else words.operands[:1]
    for one in (*named, *first):
        yield Script(language, one.text)


def _sqlite(call: Invocation) -> Iterator[Script]:
    words = sort_words(call.arguments, long_with_value=SQLITE_LONG_WITH_VALUE)
    sources = (*words.values(*_SQLITE_GIVES), *words.operands[1:])
    yield from (Script("sqlite", one.text) for one in sources)
    if not words.operands[1:] and call.input.kind not in {"file", "inherited"}:
        yield from _fed("sqlite", call)


def _sql(program: str, call: Invocation) -> Iterator[Script]:
    client = SQL_CLIENTS[program]
    words: Words = sort_words(call.arguments, client.letters, SQL_LONG_WITH_VALUE)
    found = words.values(*client.gives)
    yield from (Script("sql", one.text) for one in found)
    if program in _TAKE_SQL:
        yield from (Script("sql", one.text) for one in words.operands[1:] if " " in one.text)
    if any(_TELLING_FILE.search(one.text) for one in words.values(*client.files)):
        yield Script("sql", is_fed=True)
    if not found and not words.has(*client.files, *_SQL_LOOKS) and call.input.kind != "inherited":
        yield from _fed("sql", call)
