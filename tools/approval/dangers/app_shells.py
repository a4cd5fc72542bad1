"""Scripts that a program runs for itself: `rails runner`, `manage.py shell`, `gnuplot -e`, `rpm --eval`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from tools.approval.dangers.inline import Script, language_of
from tools.approval.dangers.verb_tables import LOCAL
from tools.approval.dangers.words import sort_words, texts
from tools.bash.reading import UNKNOWN, Argument, Invocation

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
_DELETING_CALL = re.compile(r"\b(?:delete|unlink|rmdir|remove|rmtree|rm)\s*\(\s*['\"]")
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
        yield from _fed(call, "sql")
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
        yield from _fed(call, language)


def _fed(call: Invocation, language: str) -> Iterator[Script]:
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
        yield from (
            Script("shell", found["line"] or found["bang"]) for found in _SYSTEM_CALL.finditer(one.text[:_MAX_CHARS])
        )
        if _DELETING_CALL.search(one.text[:_MAX_CHARS]):
            yield Script("shell", f"rm -- {UNKNOWN}")
