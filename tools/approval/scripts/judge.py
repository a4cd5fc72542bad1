"""What a script inside a command would do."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from tools.approval.dangers.finding import Finding
from tools.approval.scripts.effects import HIDDEN, TOO_MUCH, Effects
from tools.approval.scripts.verdict import INLINE, ORDINARY, SAFE, ScriptVerdict, dangerous
from tools.bash.reading import UNKNOWN

_Judge = Callable[[str, Effects], ScriptVerdict]
_UNTOLD = Finding("dangerous", "inline script", INLINE)
_VERSION = re.compile(r"[\d.]+$")
_ONLY_UNKNOWN = re.compile(rf"[\s;{UNKNOWN}]*{UNKNOWN}[\s;{UNKNOWN}]*")

_SAME_LANGUAGE = {
    "py": "python", "pypy": "python", "ipython": "python", "pythonw": "python", "nodejs": "javascript",
    "node": "javascript",
    "deno": "javascript", "bun": "javascript", "js": "javascript", "ts": "javascript", "typescript": "javascript",
    "tsx": "javascript", "ts-node": "javascript", "mongo": "javascript", "mongosh": "javascript", "qjs": "javascript",
    "gawk": "awk", "mawk": "awk", "nawk": "awk", "original-awk": "awk", "gsed": "sed", "rb": "ruby", "jruby": "ruby",
    "luajit": "lua", "rscript": "r", "psql": "sql", "mysql": "sql", "mariadb": "sql", "sqlite": "sql",
    "sqlite3": "sql",
    "clickhouse": "sql", "clickhouse-client": "sql", "duckdb": "sql", "pgcli": "sql", "mycli": "sql", "sqlcmd": "sql",
    "cockroach": "sql", "usql": "sql", "postgresql": "sql", "postgres": "sql", "bq": "sql", "snowsql": "sql",
    "cqlsh": "sql",
    "trino": "sql", "presto": "sql", "hive": "sql", "beeline": "sql", "isql": "sql", "sqlplus": "sql",
    "impala-shell": "sql",
}  # fmt: skip


def judge_script(
    language: str, source: str, cwd: Path | None = None, roots: tuple[Path, ...] = (), *, isolated: bool = False
) -> ScriptVerdict:
    """How far a script reaches. Never raises.

    Args:
        language: its name, or that of the program that runs it: `python`, `python3.12`, `node`, `awk`, `psql` …
        source: the script, `UNKNOWN` in it where only the shell knows what stands there.
        cwd: where it runs; None: unknown.
        roots: what the session may change.
        isolated: a script of Python that looks for no module in its directory (`python -I`).

    Returns:
        safe: proven to compute, print and read ordinary files; ordinary: nothing dangerous shows, so that the sandbox
        contains it; dangerous, forbidden: what was found, and languages that nobody here can read.
    """
    from tools.approval.classifying import classify  # noqa: PLC0415 - a circle otherwise

    name = language.rpartition("/")[2].lower()
    name = _VERSION.sub("", name) or name
    judge = _judge_of(_SAME_LANGUAGE.get(name, name), isolated=isolated)
    if not source.strip():
        return SAFE
    if _ONLY_UNKNOWN.fullmatch(source):
        return dangerous(HIDDEN)
    if judge is None:
        return dangerous(_UNTOLD)
    try:
        verdict = judge(source, Effects(classify, cwd, roots))
    except RecursionError:
        return dangerous(TOO_MUCH)
    # These talk to a server whatever they are told.
    return ORDINARY if verdict.level == "safe" and name in {"mongo", "mongosh"} else verdict


def _judge_of(name: str, *, isolated: bool) -> _Judge | None:
    """Who reads the language; loaded when it is first needed."""
    # One import each: most commands hold no script.
    match name:
        case "python":
            from tools.approval.scripts.python.judge import judge_python  # noqa: PLC0415

            return lambda source, effects: judge_python(source, effects, isolated=isolated)
        case "awk":
            from tools.approval.scripts.awk import judge_awk  # noqa: PLC0415

            return judge_awk
        case "sed":
            from tools.approval.scripts.sed import judge_sed  # noqa: PLC0415

            return judge_sed
        case "sql":
            from tools.approval.scripts.sql import judge_sql  # noqa: PLC0415

            return judge_sql
        case "javascript" | "perl" | "ruby" | "php" | "lua" | "r":
            from tools.approval.scripts.code.languages import LANGUAGES  # noqa: PLC0415
            from tools.approval.scripts.code.reader import judge_code  # noqa: PLC0415

            return lambda source, effects: judge_code(LANGUAGES[name], source, effects)
    return None
