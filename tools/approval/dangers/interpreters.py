"""How interpreters, stream editors and clients of SQL are told what to run: by which of their options."""

from __future__ import annotations

from collections.abc import Mapping

from tools.light_dataclass import dataclass


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
