"""Finds the scripts inside a command: `python -c`, a heredoc into perl, a program of awk or sed, SQL for a client."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

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


_LANGUAGES: Mapping[str, str] = {
    "python": "python", "pypy": "python", "ipython": "python", "perl": "perl", "ruby": "ruby",
    "node": "javascript", "nodejs": "javascript",
    "bun": "javascript", "deno": "javascript", "tsx": "javascript", "ts-node": "javascript", "php": "php",
    "lua": "lua", "luajit": "lua",
    "r": "r", "rscript": "r", "julia": "julia", "elixir": "elixir", "groovy": "groovy", "scala": "scala",
    "raku": "raku",
    "guile": "guile", "racket": "racket", "erl": "erlang", "osascript": "applescript", "tclsh": "tcl",
    "expect": "tcl", "ghc": "haskell",
    "jshell": "java", "swift": "swift", "pwsh": "powershell", "powershell": "powershell", "crystal": "crystal",
    "nim": "nim", "irb": "ruby",
    "gawk": "awk", "awk": "awk", "mawk": "awk", "nawk": "awk", "sed": "sed", "gsed": "sed", "emacs": "elisp",
    "jruby": "ruby", "jython": "python",
}  # fmt: skip
# The letters and words after which a script is; those whose value is something else; those that run a file or module.
_GIVES: Mapping[str, tuple[str, ...]] = {
    "python": ("-c",), "perl": ("-e", "-E"), "ruby": ("-e",), "javascript": ("-e", "--eval", "-p", "--print", "-pe"),
    "php": ("-r", "-B", "-E", "-R"), "lua": ("-e",), "r": ("-e", "--eval"), "julia": ("-e", "-E", "--eval",
    "--print"), "elixir": ("-e", "--eval", "--rpc-eval"),
    "groovy": ("-e",), "scala": ("-e",), "raku": ("-e",), "guile": ("-c",), "racket": ("-e", "--eval"),
    "erlang": ("-eval",),
    "applescript": ("-e",), "tcl": ("-c",), "haskell": ("-e",), "swift": ("-e",), "powershell": ("-Command", "-c",
    "-EncodedCommand", "-enc", "-command"),
    "crystal": ("eval",), "elisp": ("--eval", "-eval", "--execute"), "nim": ("--eval", "-e"),
}  # fmt: skip
_LETTERS: Mapping[str, str] = {"python": "cmWX", "perl": "eEMmI", "ruby": "eIrCFT", "javascript": "eprC",
    "php": "rcdBERFz", "lua": "el",
                               "r": "efg", "julia": "eELpHJ", "elixir": "eprS", "groovy": "e", "scala": "e",
                               "raku": "eIM",
                               "guile": "ceslL", "racket": "eftlpr", "applescript": "el", "tcl": "cf",
                               "haskell": "e", "swift": "e", "nim": "e"}  # fmt: skip
_OPTIONAL: Mapping[str, str] = {"perl": "iFxCDd", "ruby": "ixKWE"}
_NUMBERS: Mapping[str, str] = {"perl": "0l", "ruby": "0"}
_LONG = ("--eval", "--print", "--rpc-eval", "-eval", "--execute", "-Command", "-command", "-EncodedCommand",
    "-enc", "--require", "--import",
         "--loader", "--expression", "--file", "--check-hash-based-pycs", "--project", "--conditions",
         "--input-type", "--env-file", "-pe")  # fmt: skip
_SQL_VALUES: Mapping[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "psql": ("cdfhpUvLoFPRT", ("-c", "--command"), ("-f", "--file")),
    "mysql": ("eDhuPS", ("-e", "--execute"), ()), "mariadb": ("eDhuPS", ("-e", "--execute"), ()),
    "clickhouse-client": ("qdhu", ("-q", "--query"), ("--queries-file",)), "clickhouse": ("qdhu", ("-q",
    "--query"), ()),
    "sqlcmd": ("QqSUPdi", ("-Q", "-q"), ("-i",)), "cqlsh": ("ekfu", ("-e", "--execute"), ("-f",)), "duckdb": ("cs",
    ("-c", "-s", "-cmd"), ()),
    "cockroach": ("eh", ("-e", "--execute"), ()), "snowsql": ("qf", ("-q",), ("-f",)), "trino": ("",
    ("--execute",), ("--file",)),
    "presto": ("", ("--execute",), ("--file",)), "hive": ("ef", ("-e",), ("-f",)), "beeline": ("ef", ("-e",),
    ("-f",)), "spark-sql": ("ef", ("-e",), ("-f",)),
    "usql": ("cf", ("-c", "--command"), ("-f",)), "pgcli": ("", (), ()), "mycli": ("e", ("-e", "--execute"), ()),
    "isql": ("", (), ()),
    "vsql": ("cf", ("-c",), ("-f",)), "sqlplus": ("", (), ()), "impala-shell": ("qf", ("-q",), ("-f",)),
    "influx": ("", ("-execute",), ()),
    "litecli": ("e", ("-e",), ()), "bq": ("", (), ()), "turso": ("", (), ()), "wrangler": ("", ("--command",),
    ("--file",)),
}  # fmt: skip
_SQL_LONG = ("--command", "--execute", "--query", "--file", "--dbname", "--host", "--port", "--username", "--user",
    "--database", "-cmd",
             "-execute", "--queries-file", "--password", "--server")  # fmt: skip
_SQL = re.compile(
    r"\s*(?:(?:drop|alter)\s+(?:table|database|schema|index|view|user|role|keyspace|collection|column"
    r"|type|function|trigger|sequence)\b"
    r"|truncate\s+(?:table\s+)?\w+\s*;?\s*$|delete\s+from\s|update\s+\S+\s+set\s|grant\s.+\son\s|/\*|--\s)",
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
    return _LANGUAGES.get(name)


def is_sql_client(program: str) -> bool:
    """Whether a program sends SQL to a database."""
    return program.casefold() in _SQL_VALUES or program in {"sqlite3", "sqlite"}


def scripts_of(call: Invocation) -> Iterator[Script]:
    """Every script that `call` gives to an interpreter in its text or through its standard input."""
    program = call.program.casefold()
    language = language_of(program)
    if language in {"awk", "sed"}:
        yield from _programs(language, call)
    elif language is not None:
        yield from _interpreted(language, call)
    elif program in {"sqlite3", "sqlite"}:
        yield from _sqlite(call)
    elif program in _SQL_VALUES:
        yield from _sql(program, call)
    elif program in {"make", "gmake"}:
        words = sort_words(call.arguments, "fCIojlW", ("--eval", "--file", "--makefile"))
        yield from (Script("make", one.text) for one in words.values("--eval"))
        if any(one.text in {"-", "/dev/stdin"} for one in words.values("-f", "--file", "--makefile")):
            yield from _fed("make", call)
    elif program in _DEBUGGERS:
        yield from (Script("python", text) for text in _debugged(call))
    elif program not in LOCAL and program not in _NO_CLIENTS:
        yield from (Script("sql", text) for text in _said(call) if _SQL.match(text))


def script_files(call: Invocation) -> Iterator[tuple[str, Argument]]:
    """The files whose text `call` is told to run by an option or in a script, each with its language."""
    program = call.program.casefold()
    language = language_of(program)
    if language == "awk":
        words = sort_words(call.arguments, "Fvfei", ("--file", "--source", "--field-separator", "--assign"))
        yield from (("awk", one) for one in words.values("-f", "--file"))
    elif language == "sed":
        words = sort_words(call.arguments, "efl", ("--expression", "--file", "--line-length"), "i")
        yield from (("sed", one) for one in words.values("-f", "--file"))
    elif is_sql_client(program):
        letters, _, files = _SQL_VALUES.get(program, ("", (), ("-init",)))
        words = sort_words(call.arguments, letters, (*_SQL_LONG, *files))
        yield from (("sql", one) for one in words.values(*files))
        yield from (("sql", one) for text in (*texts(call.arguments), call.input.text) for one in files_read(text))


def files_read(sql: str) -> Iterator[Argument]:
    """The files that SQL tells its client to run."""
    yield from (Argument(found[1]) for found in _SQL_READS.finditer(sql))


def _said(call: Invocation) -> Iterator[str]:
    """The arguments, but for what only describes something."""
    before = ""
    for text in texts(call.arguments):
        if not _DESCRIBES.fullmatch(before):
            yield text
        before = text


def _debugged(call: Invocation) -> Iterator[str]:
    for text in texts(call.arguments):
        if found := _DEBUGGED.fullmatch(text):
            yield found[1]


def module_run_by(call: Invocation) -> Invocation | None:
    """What `python -m NAME …` runs, as if it were a program of that name."""
    if language_of(call.program) != "python":
        return None
    given = call.arguments
    for place, argument in enumerate(given):
        text = argument.text
        if re.fullmatch(r"-[bBdEhiIOPqRsSuvVx]*m", text):
            rest = given[place + 1 :]
        elif glued := re.fullmatch(r"-[bBdEhiIOPqRsSuvVx]*m([\w.]+)", text):
            rest = (Argument(glued[1]), *given[place + 1 :])
        elif not text.startswith("-") or re.fullmatch(r"-[bBdEhiIOPqRsSuvVx]*c.*", text, re.DOTALL):
            return None
        else:
            continue
        return replace(call, program=rest[0].text, arguments=rest[1:]) if rest else None
    return None


def _interpreted(language: str, call: Invocation) -> Iterator[Script]:
    arguments = call.arguments
    if (
        language == "javascript"
        and arguments
        and arguments[0].text in {"eval", "run", "repl", "test", "x", "install", "build"}
    ):
        if arguments[0].text == "eval":
            yield Script(language, " ".join(texts(arguments[1:])))
        return
    if language == "python":
        arguments = _until_script(arguments)
    elif language in {"javascript", "perl", "ruby"}:
        arguments = _until_operand(language, arguments)
    words = sort_words(
        arguments, _LETTERS.get(language, ""), _LONG, _OPTIONAL.get(language, ""), _NUMBERS.get(language, "")
    )
    names = _GIVES.get(language, ())
    found = words.values(*names)
    if found:
        yield Script(language, "\n".join(texts(found)))
        return
    if any(_VERSIONS.fullmatch(text) for text in texts(call.arguments)):
        return
    module = module_run_by(call)
    if module is not None:
        if module.program == "timeit":
            timed = sort_words(module.arguments, "nrsu", ("--number", "--repeat", "--setup", "--unit"))
            yield Script(language, "\n".join(texts((*timed.values("-s", "--setup"), *timed.operands))))
        return
    if words.operands and re.match(r"/dev/fd/[1-9]|/proc/self/fd/[1-9]", words.plain[0]):
        yield Script(language, is_fed=True)
        return
    is_stdin = not words.operands or words.plain[0] in {"-", "/dev/stdin", "/dev/fd/0"} or words.plain[0] == UNKNOWN
    if is_stdin and not (words.has("--test", "-f", "--file", "--check") and language != "powershell"):
        yield from _fed(language, call)


def _until_script(arguments: tuple[Argument, ...]) -> tuple[Argument, ...]:
    """Python's own arguments: what follows `-c TEXT` or the file belongs to the script."""
    place = 0
    while place < len(arguments):
        text = arguments[place].text
        if re.fullmatch(r"-[bBdEhiIOPqRsSuvVx]*c", text):
            return (Argument("-c"), *arguments[place + 1 : place + 2])
        if glued := re.fullmatch(r"-[bBdEhiIOPqRsSuvVx]*c(.+)", text, re.DOTALL):
            return (Argument("-c"), Argument(glued[1]))
        if re.fullmatch(r"-[bBdEhiIOPqRsSuvVx]*[XW]|--check-hash-based-pycs", text):
            place += 1
        elif not text.startswith("-") or text == "-":
            return arguments[place : place + 1]
        place += 1
    return ()


def _until_operand(language: str, arguments: tuple[Argument, ...]) -> tuple[Argument, ...]:
    """The arguments up to the script's file, if there is no inline script before it."""
    takes = _GIVES[language]
    if language == "javascript":
        arguments = tuple(Argument("-e") if re.fullmatch(r"-[pei]{2,3}", one.text) else one for one in arguments)
    place = 0
    while place < len(arguments):
        text = arguments[place].text
        if text.startswith("-") and text != "-":
            is_script = text in takes or (
                not text.startswith("--") and re.fullmatch(r"-[A-Za-z0-9]*[eE]", text) is not None
            )
            place += 2 if is_script or text in {"-r", "--require", "--import", "-I", "-C", "--env-file"} else 1
            continue
        return arguments[: place + 1]
    return arguments


def _fed(language: str, call: Invocation) -> Iterator[Script]:
    match call.input.kind:
        case "text":
            yield Script(language, call.input.text)
        case "command" | "unknown" | "file":
            yield Script(language, is_fed=True)
        case "inherited" if not call.arguments:
            yield Script(language, is_fed=True)
        case _:
            return


def _programs(language: str, call: Invocation) -> Iterator[Script]:
    if language == "awk":
        words = sort_words(
            call.arguments, "Fvfei", ("--file", "--source", "--field-separator", "--assign", "--include")
        )
        named, files = words.values("-e", "--source"), words.has("-f", "--file")
    else:
        words = sort_words(call.arguments, "efl", ("--expression", "--file", "--line-length"), "i")
        named, files = words.values("-e", "--expression"), words.has("-f", "--file")
    if words.has("--version", "--help"):
        return
    first = () if named or files else words.operands[:1]
    for one in (*named, *first):
        yield Script(language, one.text)


def _sqlite(call: Invocation) -> Iterator[Script]:
    words = sort_words(call.arguments, "", ("-cmd", "-init", "-separator", "-newline", "-nullvalue", "--cmd"))
    sources = (*words.values("-cmd", "--cmd"), *words.operands[1:])
    yield from (Script("sqlite", one.text) for one in sources)
    if len(words.operands) < 2 and call.input.kind != "file":  # noqa: PLR2004 - the database, and what is asked of it
        yield from _fed("sqlite", call) if call.input.kind != "inherited" else ()


def _sql(program: str, call: Invocation) -> Iterator[Script]:
    letters, names, files = _SQL_VALUES[program]
    words: Words = sort_words(call.arguments, letters, _SQL_LONG)
    found = words.values(*names)
    language = {"mariadb": "mysql", "psql": "psql", "mysql": "mysql"}.get(program, "sql")
    yield from (Script(language, one.text) for one in found)
    if program in {"duckdb", "bq", "turso"}:
        yield from (Script("sql", one.text) for one in words.operands[1:] if " " in one.text)
    if any(_TELLING_FILE.search(one.text) for one in words.values(*files)):
        yield Script(language, is_fed=True)
    if not found and not words.has(*files, "-l", "--list", "--version", "--help") and call.input.kind != "inherited":
        yield from _fed(language, call)


def is_unknown(source: str) -> bool:
    """Whether nothing of a script is known."""
    return not source.replace(UNKNOWN, "").strip() and UNKNOWN in source
