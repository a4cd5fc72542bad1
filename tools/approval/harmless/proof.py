"""Whether one invocation is proven harmless: it changes nothing, reaches nobody and reveals no secret.

Whoever is not known to be harmless is not. A wrong «yes» would run something nobody was asked about; after a wrong
«no» the sandbox contains it, or the person is asked.

Taken for harmless all the same: what the disk makes of a name (a link that leads to a secret), searches below an
ordinary directory (`grep -r`), variables of the child's environment, which holds no keys, and programs on `PATH`.
"""

from __future__ import annotations

import re

from tools.approval.harmless.arguments import Call, call_of
from tools.approval.harmless.programs import Program, program_named
from tools.approval.harmless.secrets import is_open
from tools.approval.harmless.shell_words import is_harmless_name
from tools.bash.reading import Argument, Invocation, Redirection

_SYSTEM_FOLDER = re.compile(r"(?:/usr)?(?:/local)?/s?bin/")
_NOT_WRITTEN = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd/1", "/dev/fd/2"})
_DESCRIPTOR = re.compile(r"\d+-?|-", re.ASCII)
# Wrappers that only run the other, whatever their options. Not `time`, which may write a file, nor a shell.
_WRAPPERS = frozenset(
    {"command", "builtin", "env", "timeout", "gtimeout", "nice", "ionice", "stdbuf", "xargs", "find"}
)
_GIVES_NAMES = frozenset({"xargs", "find", "fd", "fdfind"})
_LISTS_NAMES = frozenset({"find", "fd", "fdfind", "ls", "git", "rg", "grep", "head", "tail", "sort", "uniq"})


def is_harmless(invocation: Invocation) -> bool:
    """True when the invocation is proven to change nothing, to reach nobody and to reveal no secret."""
    if not surroundings_are_harmless(invocation):
        return False
    if not invocation.program:
        return not invocation.written and not invocation.arguments
    if not _is_of_the_system(invocation):
        return False
    call = call_of(invocation)
    program = program_named(invocation.program, call)
    return program is not None and _shows_no_secret(program, call) and program.check(call)


def surroundings_are_harmless(invocation: Invocation) -> bool:
    """True when only the program and its arguments can do harm: not redirections, assignments, wrappers,
    or a place.
    """
    return (
        not invocation.elsewhere
        and all(wrapper in _WRAPPERS or wrapper.endswith("()") for wrapper in invocation.via)
        and all(is_harmless_name(name) for name, _ in invocation.assignments)
        and all(_only_reads(redirection, invocation.cwd) for redirection in invocation.redirections)
    )


def _only_reads(redirection: Redirection, cwd: str | None) -> bool:
    target = redirection.target
    if not target.is_known:
        return False
    if redirection.operator in {">&", "<&"} and _DESCRIPTOR.fullmatch(target.text):
        return True
    if redirection.operator == "<":
        return is_open(target, cwd, shows_contents=True)
    return target.text in _NOT_WRITTEN


def _is_of_the_system(invocation: Invocation) -> bool:
    """Whether it is the program of that name, as far as `PATH` can be trusted."""
    written, name = invocation.written, invocation.program
    folder = _SYSTEM_FOLDER.match(written)
    return written in {name, f"\\{name}"} or (folder is not None and written[folder.end() :] == name)


def _shows_no_secret(program: Program, call: Call) -> bool:
    if program.shows == "text":
        return True
    invocation = call.invocation
    arguments = invocation.arguments
    shows_contents = program.shows == "contents"
    if not all(is_open(argument, invocation.cwd, shows_contents=shows_contents) for argument in arguments):
        return False
    if program.shows == "names":
        return True
    if program.shows == "matches" and invocation.adds_unknown:
        return None not in call.texts and _comes_from_a_listing(invocation)
    named = (_is_named(argument, text) for argument, text in zip(arguments, call.texts, strict=True))
    return not invocation.adds_unknown and all(named)


def _is_named(argument: Argument, text: str | None) -> bool:
    """Whether it is known which paths the argument means, or that it means none."""
    return argument.is_known or (argument.expands and text is not None) or _is_plain_glob(argument)


def _is_plain_glob(argument: Argument) -> bool:
    # `*.py` may also become an option: harmless for the programs that have none which does harm.
    return argument.expands and not argument.splits and argument.text[:1] == "*"


def _comes_from_a_listing(invocation: Invocation) -> bool:
    """Whether the names that `xargs` or `find` add come from a search, as those of `grep -r` do."""
    if "xargs" not in invocation.via:
        return any(wrapper in _GIVES_NAMES for wrapper in invocation.via)
    source = invocation.input.source
    return source is not None and source.program in _LISTS_NAMES and "xargs" not in source.via and is_harmless(source)
