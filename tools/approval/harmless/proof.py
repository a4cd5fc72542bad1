"""Whether one invocation is proven harmless: it changes nothing, reaches nobody and reveals no secret.

Whoever is not known to be harmless is not. A wrong "yes" would run something nobody was asked about; after a wrong
"no" the sandbox contains it, or the person is asked.

Taken for harmless all the same: searches below an ordinary directory (`grep -r`) and links that lead to a secret,
which are looked at when the command runs where no sandbox hides secrets; variables of the child's environment, which
holds no keys; and programs on `PATH`.
"""

from __future__ import annotations

import re

from tools.approval.commands.classes import Classify
from tools.approval.harmless.forms import call_of, may_be_given
from tools.approval.harmless.programs import WRAPPERS, check_of
from tools.approval.harmless.shell_words import is_harmless_name
from tools.bash.reading import Invocation, Redirection

_SYSTEM_FOLDER = re.compile(r"(?:/usr)?(?:/local)?/s?bin/")
_NOT_WRITTEN = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd/1", "/dev/fd/2"})
_DESCRIPTOR = re.compile(r"\d+-?|-", re.ASCII)


def is_harmless(invocation: Invocation, classify: Classify, roots: tuple[str, ...] = ()) -> bool:
    """True when the invocation is proven to change nothing, to reach nobody and to reveal no secret.

    Args:
        classify: who judges the commands that a script may run: `classify_command`.
        roots: the session's directories, absolute; the one that it runs in where there are none.
    """
    if not _surroundings_are_harmless(invocation, classify):
        return False
    if not invocation.program:
        return not invocation.written and not invocation.arguments
    if not _is_of_the_system(invocation):
        return False
    call = call_of(invocation, classify, roots)
    check = check_of(invocation.program, call)
    return check is not None and check(call)


def _surroundings_are_harmless(invocation: Invocation, classify: Classify) -> bool:
    """True when only the program and its arguments can do harm: not redirections, assignments, wrappers,
    or a place.
    """
    return (
        not invocation.elsewhere
        and _wrappers_are_harmless(invocation, classify)
        and all(is_harmless_name(name) for name, _ in invocation.assignments)
        and all(_only_reads(redirection, invocation, classify) for redirection in invocation.redirections)
    )


def _wrappers_are_harmless(invocation: Invocation, classify: Classify) -> bool:
    """Whether each wrapper is a known one, and given nothing but proved forms besides the command."""
    if [name for name in invocation.via if not name.endswith("()")] != [name for name, _ in invocation.wrapped]:
        return False
    for name, own in invocation.wrapped:
        if name not in WRAPPERS:
            return False
        check = WRAPPERS[name]
        if check is not None and not check(call_of(Invocation(name, name, own, cwd=invocation.cwd), classify)):
            return False
    return True


def _only_reads(redirection: Redirection, invocation: Invocation, classify: Classify) -> bool:
    target = redirection.target
    if not target.is_known:
        return False
    if redirection.operator in {">&", "<&"} and _DESCRIPTOR.fullmatch(target.text):
        return True
    if redirection.operator == "<":
        return may_be_given(call_of(invocation, classify), target, "<")
    return target.text in _NOT_WRITTEN


def _is_of_the_system(invocation: Invocation) -> bool:
    """Whether it is the program of that name, as far as `PATH` can be trusted."""
    written, name = invocation.written, invocation.program
    folder = _SYSTEM_FOLDER.match(written)
    return written in {name, f"\\{name}"} or (folder is not None and written[folder.end() :] == name)
