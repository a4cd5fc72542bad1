"""Statements of SQL, and what the clients of databases do besides: what they delete, grant, write and run."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tools.approval.commands.bash.reading import UNKNOWN
from tools.approval.commands.classes import Finding
from tools.approval.commands.scripts.effects import HIDDEN, TOO_MUCH, Effects, ScriptVerdict, names

_MAX_CHARS = 64_000
_MAX_DEPTH = 8

_DROPS = Finding("dangerous", "sql", "deletes database content", outside=True)
_UNBOUNDED = Finding("dangerous", "sql", "deletes or changes every row of a table", outside=True)
_GRANTS = Finding("dangerous", "sql", "changes who may do what in a database", outside=True)
_RUNS = Finding("dangerous", "sql", "runs a program through a database", outside=True)
_FILES = Finding("dangerous", "sql", "reads or writes files through a database", outside=True)
_STOPS = Finding("dangerous", "sql", "stops a database or its connections", outside=True)
_SHOWS = Finding("dangerous", "credentials", "reads credentials from a database", outside=True)


def _token_pattern(*, backslashes: bool, hashes: bool) -> re.Pattern[str]:
    """The tokens where a backslash escapes in texts, and where `#` begins a comment: MySQL does both."""
    text = r"'(?:[^'\\]|\\.|'')*+(?:'|\Z)" if backslashes else r"'(?:[^']|'')*+(?:'|\Z)"
    comments = r"|\#[^\n]*" if hashes else ""
    return re.compile(
        rf"""
          (?P<code>/\*!\d*|/\*\+)
        | (?P<comment>--[^\n]*|/\*(?s:.*?)(?:\*/|\Z){comments})
        | (?P<dollar>\$(?P<tag>\w*)\$(?P<body>(?s:.*?))(?:\$(?P=tag)\$|\Z))
        | (?P<escaped>[eE]'(?:[^'\\]|\\.|'')*+(?:'|\Z))
        | (?P<text>{text})
        | (?P<name>"(?:[^"]|"")*+(?:"|\Z)|`[^`]*+(?:`|\Z)|\[\w[\w ]*\])
        | (?P<word>[^\W\d]\w*)
        | (?P<number>\d[\w.]*)
        | (?P<meta>\\[^\s'";]*)
        | (?P<mark>[<>=!]=|<>|::|\|\||\S)
        """,
        re.VERBOSE,
    )


_TOKENS = {
    (backslashes, hashes): _token_pattern(backslashes=backslashes, hashes=hashes)
    for backslashes in (False, True)
    for hashes in (False, True)
}
_NESTED_COMMENT = re.compile(r"/\*(?!!)(?:(?!\*/)[\s\S])*?/\*")
_DOT_LINE = re.compile(r"^[ \t]*\.([a-zA-Z]+)\b[ \t]*([^\n]*)", re.MULTILINE)
_META_LINE = re.compile(
    r"\\(!|copy\b|o\b|out\b|w\b|write\b|i\b|ir\b|include\b|gexec\b|g\b|gx\b|T\b|system\b|\.|s\b)[ \t]*([^\n]*)"
)
_COPIED_TO = re.compile(r"\bto\s+'?([^\s']+)", re.IGNORECASE)
_RUNS_TEXT = frozenset({"execute", "exec", "prepare", "sp_executesql", "dblink", "query_to_xml"})
_MADE_UP = frozenset({"||", "concat", "chr", "char", "unhex", "replace", "reverse", "decode", "convert", "+"})
_DOT_RUNS = ("shell", "system")
_DOT_WRITES = names("output once backup save log clone excel dump_to archive restore trace import read load open")
_DANGEROUS_WORDS: dict[str, Finding] = {
    "truncate": _DROPS, "grant": _GRANTS, "revoke": _GRANTS, "shutdown": _STOPS,
    "xp_cmdshell": _RUNS, "sp_oacreate": _RUNS, "sys_exec": _RUNS, "sys_eval": _RUNS, "dbms_scheduler": _RUNS,
    "load_extension": _RUNS, "pg_terminate_backend": _STOPS, "pg_cancel_backend": _STOPS,
    "outfile": _FILES, "dumpfile": _FILES, "load_file": _FILES, "infile": _FILES, "pg_read_file": _FILES,
    "pg_read_binary_file": _FILES, "pg_ls_dir": _FILES, "lo_export": _FILES, "lo_import": _FILES, "writefile": _FILES,
    "readfile": _FILES, "pg_write_file": _FILES, "utl_file": _FILES, "openrowset": _FILES, "dblink_exec": _RUNS,
    "pg_shadow": _SHOWS, "pg_authid": _SHOWS, "flushall": _DROPS, "flushdb": _DROPS, "drop_table": _DROPS,
    "pg_reload_conf": _STOPS, "sp_configure": _GRANTS, "edit": _RUNS,
}  # fmt: skip
# Those are names as well: they count as a function, or at the start of a statement.
_ONLY_CALLED = frozenset({"edit", "readfile", "writefile"})
_ONLY_FIRST = frozenset({"truncate", "grant", "revoke", "shutdown", "flushall", "flushdb"})
_ACCOUNTS = frozenset({"user", "role", "login", "policy"})
_NOTHING_LOST = frozenset({"temporary", "temp"})
_ALWAYS_TRUE = re.compile(
    rf"(?P<one>\w+|'[^']*') =+ (?P=one)|true|1|not false|not 0|{UNKNOWN}+|(?P<name>\w+) is not null"
)


def judge_sql(source: str, effects: Effects) -> ScriptVerdict:
    """How far statements of SQL reach. None is proven: to open a database may already change its files."""
    effects.doubt()
    if len(source) > _MAX_CHARS:
        effects.add(TOO_MUCH)
        return effects.verdict
    if _NESTED_COMMENT.search(source):
        effects.add(HIDDEN)
    # Which server reads it is not known here: each reading counts.
    for (backslashes, hashes), pattern in _TOKENS.items():
        if (backslashes and "\\" not in source) or (hashes and "#" not in source):
            continue
        _look_at_client(source, pattern, effects)
        _look_at_statements(source, pattern, effects, 0)
    return effects.verdict


def _look_at_client(source: str, pattern: re.Pattern[str], effects: Effects) -> None:
    """The commands of the clients themselves: the shell of psql, `.shell` of sqlite3, `system` of mysql."""
    for found in _DOT_LINE.finditer(source):
        name, rest = found[1].lower(), found[2].strip()
        if any(runs.startswith(name) for runs in _DOT_RUNS) and len(name) > 1 and name != "sh":
            effects.runs(rest or UNKNOWN, _RUNS)
        elif any(writes.startswith(name) for writes in _DOT_WRITES) and len(name) > 1:
            _look_at_dot(name, rest, effects)
    for found in _META_LINE.finditer(_without_texts(source, pattern)):
        if found[1] in {"!", "system"}:
            effects.runs(found[2].strip() or UNKNOWN, _RUNS)
        elif found[1] == "gexec":
            effects.add(HIDDEN)
        elif found[1] in {"i", "ir", "include", "."}:
            continue
        elif found[2].strip().startswith("|") or "program" in found[2].lower():
            effects.runs(found[2].partition("|")[2].strip() or UNKNOWN, _RUNS)
        elif copied := _COPIED_TO.search(found[2]):
            _write(copied[1], effects)
        elif found[1] in {"o", "out", "w", "write", "s"} and found[2].strip():
            _write(found[2].split()[-1], effects)
    for found in re.finditer(r"(?im)(?:^|;)[ \t]*system[ \t]+([^\n;]+)", source):
        effects.runs(found[1].strip(), _RUNS)


def _look_at_dot(name: str, rest: str, effects: Effects) -> None:
    words = rest.split()
    if rest.startswith("|") or '"|' in rest or "'|" in rest:
        effects.runs(rest.strip("\"'|"), _RUNS)
    elif words and name[:2] in {"ou", "on", "ba", "sa", "lo", "cl", "ar", "tr"}:
        _write(words[-1].strip("\"'"), effects)
    elif "load".startswith(name):
        effects.add(_RUNS)


def _write(path: str, effects: Effects) -> None:
    if path not in {"stdout", "stdin", "off", "pstdout", "pstdin"}:
        effects.writes(path)


def _without_texts(source: str, pattern: re.Pattern[str]) -> str:
    """The source without comments, texts blanked: a backslash in them is no command."""
    blanked = list(source)
    for found in pattern.finditer(source):
        if found.lastgroup in {"comment", "dollar"} or (found.lastgroup in {"text", "escaped"} and "\\" in found[0]):
            blanked[found.start() : found.end()] = " " * len(found[0])
    return "".join(blanked)


def _look_at_statements(source: str, pattern: re.Pattern[str], effects: Effects, depth: int) -> None:
    if depth > _MAX_DEPTH:
        effects.add(TOO_MUCH)
        return
    statement: list[str] = []
    words: set[str] = set()
    for kind, token in _tokens(source, pattern):
        if kind == "body":
            # A body of a function, or of DO, is code that runs now or later; elsewhere a text like others.
            if {"do", "function", "procedure"} & words:
                _look_at_statements(token, pattern, effects, depth + 1)
            statement.append("'…'")
        elif (kind, token) == ("mark", ";"):
            _look_at(statement, effects)
            statement, words = [], set()
        else:
            statement.append(token)
            if kind == "word":
                words.add(token)
            elif kind in {"text", "escaped"} and _RUNS_TEXT & words:
                _look_at_statements(token.strip("eE'").replace("''", "'"), pattern, effects, depth + 1)
    _look_at(statement, effects)


def _tokens(source: str, pattern: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """Words in lower case, texts with their quotes, marks; without comments."""
    for found in pattern.finditer(source):
        kind = found.lastgroup or ""
        if kind == "dollar":
            yield "body", found["body"]
        elif kind == "word":
            yield kind, found[0].lower()
        elif kind not in {"comment", "code"}:
            yield kind, found[0]


def _look_at(statement: list[str], effects: Effects) -> None:
    """Look at one statement and at those inside it (`WITH x AS (DELETE …)`, `BEGIN DELETE …`)."""
    if _RUNS_TEXT & set(statement) and _MADE_UP & set(statement):
        effects.add(HIDDEN)
    for place, word in enumerate(statement):
        if word.isidentifier():
            _look_at_word(statement, place, word, effects)
        elif word == UNKNOWN and (place == 0 or len(statement) == 1):
            effects.add(HIDDEN)


def _look_at_word(statement: list[str], place: int, word: str, effects: Effects) -> None:
    before = statement[place - 1] if place else ""
    after = statement[place + 1] if place + 1 < len(statement) else ""
    is_start = before in {"", "(", "begin", "then", "else", "as", "do", "loop", "declare", "analyze", ")"}
    if before in {".", "explain"} or (word in {"delete", "update"} and _UNBOUNDED in effects.found):
        return
    finding = _DANGEROUS_WORDS.get(word)
    if (
        finding is not None
        and (word not in _ONLY_CALLED or after == "(")
        and (word not in _ONLY_FIRST or (is_start and after not in {"(", "=", ","}))
    ):
        effects.add(finding)
    elif word == "drop" and (is_start or "alter" in statement[:place]) and after not in {",", "=", ")", "."}:
        _look_at_drop(after, effects)
    elif _takes_rows(statement, place, before, after, is_start=is_start) and _is_unbounded(statement[place:]):
        effects.add(_UNBOUNDED)
    elif word in {"alter", "create"} and is_start and _ACCOUNTS & set(statement[place + 1 : place + 4]):
        effects.add(_GRANTS)
    elif word == "copy" and is_start:
        _look_at_copy(statement[place:], effects)
    elif word in {"purge", "reset", "kill"} and is_start and after in {"binary", "master", "query", "connection"}:
        effects.add(_STOPS)
    elif word == "vacuum" and is_start and "into" in statement[place:]:
        effects.writes(statement[-1].strip("'"))


def _takes_rows(statement: list[str], place: int, before: str, after: str, *, is_start: bool) -> bool:
    """Whether the word deletes or changes rows of a table."""
    word = statement[place]
    if word in {"delete", "update"} and statement[:2] == ["alter", "table"] and before != "on":
        return True  # ClickHouse: ALTER TABLE x DELETE WHERE …
    if word == "delete":
        return after == "from" or (is_start and after not in {"(", ",", "=", ")"})
    return word == "update" and is_start and "set" in statement[place:]


def _look_at_drop(after: str, effects: Effects) -> None:
    if after in _ACCOUNTS:
        effects.add(_GRANTS)
    elif after not in _NOTHING_LOST:
        effects.add(_DROPS)


def _look_at_copy(rest: list[str], effects: Effects) -> None:
    if "program" in rest:
        command = next((word for word in rest[rest.index("program") :] if word[:1] == "'"), "")
        effects.runs(command.strip("'").replace("''", "'") or UNKNOWN, _RUNS)
    elif any(word[:1] == "'" for word in rest):
        effects.add(_FILES)


def _is_unbounded(statement: list[str]) -> bool:
    """Whether nothing says which rows: no WHERE on this level, or one that is always true."""
    depth = 0
    for place, word in enumerate(statement):
        depth += (word == "(") - (word == ")")
        if depth < 0:
            return True
        if depth == 0 and word == "limit":
            return False
        if depth == 0 and word == "where":
            return _is_always_true(" ".join(word for word in statement[place + 1 :] if word not in "()"))
    return True


def _is_always_true(condition: str) -> bool:
    return any(_ALWAYS_TRUE.fullmatch(part.strip()) for part in condition.split(" or "))
