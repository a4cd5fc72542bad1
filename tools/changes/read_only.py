"""Tells the commands that surely change no file, from their text.

Whoever is not known to be harmless is not: a wrong "yes" would leave a change without a way back, a wrong "no" costs
a few milliseconds. What may only be shown, never told, is refused too: options made by globs, by braces or by
variables, for programs that have an option to write.
"""

from __future__ import annotations

import re

from tools.bash.peeling import wrapped_by
from tools.bash.wrappers import XARGS
from tools.changes.harmless_programs import ANY_ARGUMENTS, CHECKED, OWN_NAMES, SHELL_WORDS, UNTOLD, VERSIONS
from tools.changes.options import Arguments
from tools.changes.shell_syntax import Redirect, Script, Simple, Word

_KEYWORDS = frozenset({"if", "then", "elif", "else", "do", "while", "until", "!", "{", "time", "fi", "done", "}"})
_NOT_WRITTEN = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"})
_READING = frozenset({"<", "<<", "<<-", "<<<", "<&"})
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=", re.ASCII)
_HARMLESS_NAMES = re.compile(r"[a-z_][a-z0-9_]*|LC_[A-Z]+|LANG|LANGUAGE|TZ|NO_COLOR|COLUMNS|LINES|TERM|FORCE_COLOR")
_SYSTEM_FOLDER = re.compile(r"/(?:usr/)?s?bin/")
_SHELL_MADE = re.compile(r"[*?]|\[.*\]|\{.*(?:,|\.\.)", re.DOTALL)
_XARGS_OPTION = re.compile(r"-[0rtx]+|-[InPLd].+|--null|--no-run-if-empty", re.DOTALL)
_XARGS_WITH_VALUE = frozenset({"-I", "-n", "-P", "-L", "-d"})
_WRAPPERS = frozenset({"command", "env", "timeout", "nice", "builtin"})


def is_read_only(script: Script) -> bool:
    """True when the script is sure to change no file, whatever it meets."""
    return script.is_certain and all(not isinstance(item, Simple) or _is_harmless(item) for item in script.items)


def is_harmless(arguments: Arguments) -> bool:
    """True when the command changes no file, whatever arguments are added to it."""
    return bool(arguments) and arguments[0] in ANY_ARGUMENTS


def _is_harmless(command: Simple) -> bool:
    if not all(_runs_harmless(word) for word in command.words):
        return False
    if not all(_reads(redirect) for redirect in command.redirects):
        return False
    words = command.words
    while words and words[0].bare in _KEYWORDS:
        words = words[1:]
    while words and (name := _assigned_name(words[0])):
        if not _HARMLESS_NAMES.fullmatch(name):
            return False
        words = words[1:]
    return not words or _is_harmless_program(tuple(_known(word) for word in words))


def _runs_harmless(word: Word) -> bool:
    return all(is_read_only(script) for script in word.scripts)


def _reads(redirect: Redirect) -> bool:
    if not _runs_harmless(redirect.target):
        return False
    if redirect.operator in _READING:
        return True
    target = redirect.target.literal
    if redirect.operator == ">&" and target is not None and re.fullmatch(r"\d+-?|-", target, re.ASCII):
        return True
    return redirect.operator != "<>" and target in _NOT_WRITTEN


def _assigned_name(word: Word) -> str | None:
    first = word.parts[0] if word.parts else None
    if first is None or first.kind != "text" or first.quoted:
        return None
    name = _ASSIGNMENT.match(first.text)
    return name[1] if name else None


def _known(word: Word) -> str | None:
    """The argument, as far as it tells whether it is an option; None where it may be any, or several.

    A word that begins with known text and is unquoted nowhere else is one argument, and no option.
    """
    # What is quoted may stand within braces that are not: `{"-delete",x}` is two words.
    unquoted = "".join("" if part.quoted else part.text for part in word.parts)
    if word.literal is not None and not _SHELL_MADE.search(unquoted):
        return word.literal
    if any(part.kind != "text" and not part.quoted for part in word.parts):
        return None
    first = next((part for part in word.parts if part.text or part.kind != "text"), None)
    if (
        first is None
        or first.kind != "text"
        or first.text[0] == "-"
        or (first.text[0] in "*?[{" and not first.quoted)
    ):
        return None
    if "{" in "".join(part.text for part in word.parts if not part.quoted):
        return None
    return "".join(part.text if part.kind == "text" else UNTOLD for part in word.parts)


def _is_harmless_program(arguments: Arguments) -> bool:
    first, rest = arguments[0], arguments[1:]
    if first is None:
        return False
    if first == "for":
        return bool(rest) and rest[0] is not None and OWN_NAMES.fullmatch(rest[0]) is not None
    name = _SYSTEM_FOLDER.sub("", first, count=1) if _SYSTEM_FOLDER.match(first) else first
    if name in ANY_ARGUMENTS or name in SHELL_WORDS:
        return True
    if name in VERSIONS and len(rest) == 1 and rest[0] in VERSIONS[name]:
        return True
    if name in _WRAPPERS:
        return _is_harmless_wrapped(name, rest)
    if name == "xargs":
        command = wrapped_by(XARGS, rest)
        return is_harmless(command) and _is_plain_xargs(rest[: len(rest) - len(command)])
    check = CHECKED.get(name)
    return check is not None and check(rest)


def _is_harmless_wrapped(name: str, rest: Arguments) -> bool:
    if name == "command" and rest and rest[0] in {"-v", "-V"}:
        return True
    if name == "env" and not rest:
        return True
    while rest and rest[0] is not None and rest[0].startswith("-"):
        if name not in {"nice", "timeout"} or not re.fullmatch(r"-n?\d+|-[ks]\w+|--\w+=\w+", rest[0], re.ASCII):
            return False
        rest = rest[1:]
    if name == "timeout":
        if not rest or rest[0] is None:
            return False
        rest = rest[1:]
    while name == "env" and rest and rest[0] is not None and (pair := _ASSIGNMENT.match(rest[0])):
        if not _HARMLESS_NAMES.fullmatch(pair[1]):
            return False
        rest = rest[1:]
    return bool(rest) and _is_harmless_program(rest)


def _is_plain_xargs(options: Arguments) -> bool:
    """True when none of the options takes what looks like the command."""
    rest = iter(options)
    for option in rest:
        if option in _XARGS_WITH_VALUE:
            if next(rest, None) is None:
                return False
        elif option is None or not _XARGS_OPTION.fullmatch(option):
            return False
    return True
