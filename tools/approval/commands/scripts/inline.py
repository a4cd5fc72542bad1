"""The scripts inside a command, and their languages."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise

from tools.approval.commands.bash.reading import UNKNOWN, Argument, Invocation
from tools.approval.commands.dangers.remote import LOCAL
from tools.approval.commands.dangers.scene import Words, sort_words, texts
from tools.light_dataclass import dataclass

# How interpreters, stream editors and clients of SQL are told what to run.


@dataclass(frozen=True, slots=True)
class Interpreter:
    """Of one language, whatever its program.

    Attributes:
        gives: the options behind which a script stands.
        letters: short options with a value, as `sort_words` has them; `optional`: where the value may be left out or
            stand at once behind the letter; `numbers`: where it is a number.
        is_led: its own options end where the script's file stands.
    """

    gives: tuple[str, ...] = ()
    letters: str = ""
    optional: str = ""
    numbers: str = ""
    is_led: bool = False


@dataclass(frozen=True, slots=True)
class StreamEditor:
    """awk or sed: the options with a value, as `sort_words` has them, and those behind which a script stands."""

    values: tuple[str, tuple[str, ...], str]
    gives: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SqlClient:
    """A client of a database.

    Attributes:
        letters: its short options with a value.
        gives: the options behind which SQL stands.
        files: those behind which a file of SQL stands.
    """

    letters: str = ""
    gives: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


_PROGRAMS: Mapping[str, str] = {
    "python": "python pypy ipython jython",
    "perl": "perl",
    "ruby": "ruby irb jruby",
    "javascript": "node nodejs bun deno tsx ts-node",
    "php": "php",
    "lua": "lua luajit",
    "r": "r rscript",
    "julia": "julia",
    "elixir": "elixir",
    "groovy": "groovy",
    "scala": "scala",
    "raku": "raku",
    "guile": "guile",
    "racket": "racket",
    "erlang": "erl",
    "applescript": "osascript",
    "tcl": "tclsh expect",
    "haskell": "ghc",
    "java": "jshell",
    "swift": "swift",
    "powershell": "pwsh powershell",
    "crystal": "crystal",
    "nim": "nim",
    "awk": "gawk awk mawk nawk",
    "sed": "sed gsed",
    "elisp": "emacs",
}
LANGUAGES: Mapping[str, str] = {
    program: language for language, programs in _PROGRAMS.items() for program in programs.split()
}
"""The language that each program interprets."""

STREAM_EDITORS: Mapping[str, StreamEditor] = {
    "awk": StreamEditor(
        ("Fvfei", ("--file", "--source", "--field-separator", "--assign", "--include"), ""), ("-e", "--source")
    ),
    "sed": StreamEditor(("efl", ("--expression", "--file", "--line-length"), "i"), ("-e", "--expression")),
}
INTERPRETERS: Mapping[str, Interpreter] = {
    "python": Interpreter(gives=("-c",), letters="cWX", optional="m", is_led=True),
    "perl": Interpreter(gives=("-e", "-E"), letters="eEMmI", optional="iFxCDd", numbers="0l", is_led=True),
    "ruby": Interpreter(gives=("-e",), letters="eIrCFT", optional="ixKWE", numbers="0", is_led=True),
    "javascript": Interpreter(gives=("-e", "--eval", "-p", "--print", "-pe"), letters="eprC", is_led=True),
    "php": Interpreter(gives=("-r", "-B", "-E", "-R"), letters="rcdBERFz"),
    "lua": Interpreter(gives=("-e",), letters="el"),
    "r": Interpreter(gives=("-e", "--eval"), letters="efg"),
    "julia": Interpreter(gives=("-e", "-E", "--eval", "--print"), letters="eELpHJ"),
    "elixir": Interpreter(gives=("-e", "--eval", "--rpc-eval"), letters="eprS"),
    "groovy": Interpreter(gives=("-e",), letters="e"),
    "scala": Interpreter(gives=("-e",), letters="e"),
    "raku": Interpreter(gives=("-e",), letters="eIM"),
    "guile": Interpreter(gives=("-c",), letters="ceslL"),
    "racket": Interpreter(gives=("-e", "--eval"), letters="eftlpr"),
    "erlang": Interpreter(gives=("-eval",)),
    "applescript": Interpreter(gives=("-e",), letters="el"),
    "tcl": Interpreter(gives=("-c",), letters="cf"),
    "haskell": Interpreter(gives=("-e",), letters="e"),
    "swift": Interpreter(gives=("-e",), letters="e"),
    "powershell": Interpreter(gives=("-Command", "-c", "-EncodedCommand", "-enc", "-command")),
    "crystal": Interpreter(gives=("eval",)),
    "elisp": Interpreter(gives=("--eval", "-eval", "--execute")),
    "nim": Interpreter(gives=("--eval", "-e"), letters="e"),
}
LONG_WITH_VALUE = (
    "--eval", "--print", "--rpc-eval", "-eval", "--execute", "-Command", "-command", "-EncodedCommand",
    "-enc", "--require", "--import", "--import-map", "--config", "--tsconfig", "--experimental-loader",
    "--loader", "--expression", "--file", "--check-hash-based-pycs", "--project", "--conditions",
    "--input-type", "--env-file", "-pe",
)  # fmt: skip
"""Options of interpreters in words, with a value."""

SQL_CLIENTS: Mapping[str, SqlClient] = {
    "psql": SqlClient(letters="cdfhpUvLoFPRT", gives=("-c", "--command"), files=("-f", "--file")),
    "mysql": SqlClient(letters="eDhuPS", gives=("-e", "--execute")),
    "mariadb": SqlClient(letters="eDhuPS", gives=("-e", "--execute")),
    "clickhouse-client": SqlClient(letters="qdhu", gives=("-q", "--query"), files=("--queries-file",)),
    "clickhouse": SqlClient(letters="qdhu", gives=("-q", "--query")),
    "sqlcmd": SqlClient(letters="QqSUPdi", gives=("-Q", "-q"), files=("-i",)),
    "cqlsh": SqlClient(letters="ekfu", gives=("-e", "--execute"), files=("-f",)),
    "duckdb": SqlClient(letters="cs", gives=("-c", "-s", "-cmd")),
    "cockroach": SqlClient(letters="eh", gives=("-e", "--execute")),
    "snowsql": SqlClient(letters="qf", gives=("-q",), files=("-f",)),
    "trino": SqlClient(gives=("--execute",), files=("--file",)),
    "presto": SqlClient(gives=("--execute",), files=("--file",)),
    "hive": SqlClient(letters="ef", gives=("-e",), files=("-f",)),
    "beeline": SqlClient(letters="ef", gives=("-e",), files=("-f",)),
    "spark-sql": SqlClient(letters="ef", gives=("-e",), files=("-f",)),
    "usql": SqlClient(letters="cf", gives=("-c", "--command"), files=("-f",)),
    "pgcli": SqlClient(),
    "mycli": SqlClient(letters="e", gives=("-e", "--execute")),
    "isql": SqlClient(),
    "vsql": SqlClient(letters="cf", gives=("-c",), files=("-f",)),
    "sqlplus": SqlClient(),
    "impala-shell": SqlClient(letters="qf", gives=("-q",), files=("-f",)),
    "influx": SqlClient(gives=("-execute",)),
    "litecli": SqlClient(letters="e", gives=("-e",)),
    "bq": SqlClient(),
    "turso": SqlClient(),
    "wrangler": SqlClient(gives=("--command",), files=("--file",)),
}
SQL_LONG_WITH_VALUE = (
    "--command", "--execute", "--query", "--file", "--dbname", "--host", "--port", "--username", "--user",
    "--database", "-cmd", "-execute", "--queries-file", "--password", "--server",
)  # fmt: skip
SQLITE = frozenset({"sqlite3", "sqlite"})
SQLITE_LONG_WITH_VALUE = (
    "-cmd", "-init", "-separator", "-newline", "-nullvalue", "--cmd", "--init", "--separator",
)  # fmt: skip


# The scripts: `python -c`, a heredoc into perl, a program of awk or sed, SQL for a client.


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


# Scripts that a program runs for itself: `rails runner`, `manage.py shell`, `gnuplot -e`, `rpm --eval`.

# A program's word after which it runs a script, the script's language, and the options that hold it.
_SHELLS: Mapping[tuple[str, str], tuple[str, tuple[str, ...]]] = {
    **dict.fromkeys(
        (("rails", "runner"), ("rails", "r"), ("rails", "console"), ("rails", "c")),
        ("ruby", ()),
    ),
    **dict.fromkeys(
        (("manage.py", "shell"), ("manage.py", "shell_plus"), ("django-admin", "shell"), ("flask", "shell")),
        ("python", ("-c", "--command")),
    ),
    ("artisan", "tinker"): ("php", ("--execute",)),
    **dict.fromkeys(
        (
            ("wp", "eval"), ("wp", "shell"), ("drush", "eval"), ("drush", "php:eval"), ("drush", "ev"),
            ("craft", "exec"), ("magento", "dev:console"),
        ),
        ("php", ()),
    ),
    **dict.fromkeys(
        (("odoo", "shell"), ("odoo-bin", "shell"), ("superset", "shell"), ("scrapy", "shell")),
        ("python", ("-c",)),
    ),
}  # fmt: skip
_SQL_SHELLS = frozenset({
    ("rails", "dbconsole"), ("rails", "db"), ("manage.py", "dbshell"), ("django-admin", "dbshell"),
    ("wp", "query"),
})  # fmt: skip
# Longer ones are not searched.
_MAX_CHARS = 4_000
_GIVE_TEXT = ("-e", "--eval", "-E", "--execute", "--exec", "-x", "-c", "--batch-string", "--expression")
_SYSTEM_CALL = re.compile(
    r"\b(?:system|shell|popen|exec\w*|spawn\w*|unix|dos|run|getoutput)\s*\(?\s*(?P<quote>['\"])(?P<line>.*?)(?P=quote)"
    r"|(?:^|[\n;])\s*!(?P<bang>[^\n]+)",
    re.DOTALL,
)
_DELETING_CALL = re.compile(
    r"\b(?:(?P<one>(?<!\.)delete|unlink|unlinkSync)|rmdir|remove|rmtree|remove_tree|rm_rf?|rm|(?:rm|rmdir|remove)Sync)\s*\(\s*"
    r"(?P<quote>['\"])(?:(?P<path>[^'\"]+)(?P=quote)\s*[,)])?"
)
_MACROS = re.compile(r"%\((?P<line>.*)\)|%\{lua:(?P<lua>.*)\}", re.DOTALL)


def app_scripts(call: Invocation) -> Iterator[Script]:
    """Every script that `call` gives to a program that is no interpreter by trade."""
    program, arguments = call.program.casefold(), call.arguments
    first = [one.text.rpartition("/")[2] for one in arguments[:1]]
    if language_of(program) in {"python", "php", "ruby"} and any([name] == first for name, _ in _SHELLS):
        program, arguments = first[0], arguments[1:]
    verb = next((one.text for one in arguments if not one.text.startswith("-")), "")
    found = _SHELLS.get((program, verb))
    if found is not None:
        yield from _in_shell(call, verb, arguments, *found)
    elif (program, verb) in _SQL_SHELLS:
        yield from _fed_to_app(call, "sql")
    elif program == "rpm":
        yield from _macros(texts(arguments))
    elif program == "dc" or (program not in LOCAL and language_of(program) is None):
        yield from _calling(arguments)


def _in_shell(
    call: Invocation, verb: str, arguments: tuple[Argument, ...], language: str, names: tuple[str, ...]
) -> Iterator[Script]:
    words = sort_words(arguments, "ecmi", (*names, "--environment", "--settings", "--interface"))
    given = words.values(*names)
    rest = words.operands[words.plain.index(verb) + 1 :] if verb in words.plain else ()
    if not names:
        given = tuple(one for one in rest[:1] if not re.fullmatch(r"[\w./-]+\.(?:rb|py|php)", one.text))
    yield from (Script(language, one.text) for one in given)
    if not given and not rest:
        yield from _fed_to_app(call, language)


def _fed_to_app(call: Invocation, language: str) -> Iterator[Script]:
    if call.input.kind == "text":
        yield Script(language, call.input.text)
    elif call.input.kind in {"command", "unknown", "file"}:
        yield Script(language, is_fed=True)


def _macros(given: tuple[str, ...]) -> Iterator[Script]:
    for text in given:
        if found := _MACROS.search(text[:_MAX_CHARS]):
            yield Script("shell", found["line"]) if found["line"] is not None else Script("lua", found["lua"])


def _calling(arguments: tuple[Argument, ...]) -> Iterator[Script]:
    """Commands and deletions in a text of a language that nobody here reads."""
    for one in sort_words(arguments, "eEcx", _GIVE_TEXT).values(*_GIVE_TEXT):
        yield from (Script("shell", command) for command in commands_called(one.text))


def commands_called(text: str) -> Iterator[str]:
    """What a text of a language that nobody here reads plainly gives to a shell, or deletes."""
    start = text[:_MAX_CHARS]
    yield from (found["line"] or found["bang"] for found in _SYSTEM_CALL.finditer(start))
    for found in _DELETING_CALL.finditer(start):
        yield f"rm {'' if found['one'] else '-rf '}-- {shlex.quote(found['path'] or UNKNOWN)}"
