"""Whether one invocation is proven harmless: it changes nothing, reaches nobody and reveals no secret.

Whoever is not known to be harmless is not. A wrong "yes" would run something nobody was asked about; after a wrong
"no" the sandbox contains it, or the person is asked.

Taken for harmless all the same: searches below an ordinary directory (`grep -r`) and links that lead to a secret,
which are looked at when the command runs where no sandbox hides secrets; variables of the child's environment, which
holds no keys; and programs on `PATH`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise

from tools.approval.commands import harmless_table as table
from tools.approval.commands.bash.reading import UNKNOWN, Invocation, Redirection
from tools.approval.commands.classes import Classify
from tools.approval.commands.dangers.scene import full_path, is_below, listed
from tools.approval.commands.harmless_forms import (
    Call,
    Check,
    FormReading,
    always,
    bare,
    call_of,
    may_be_given,
)
from tools.approval.commands.harmless_table import GIT, LANGUAGES, NAME
from tools.approval.commands.scripts.awk_sed import judge_awk, judge_sed
from tools.approval.commands.scripts.effects import Effects, ScriptVerdict

# Programs whose words are a language.


def sed(call: Call) -> bool:
    """`sed` with a script that neither writes, nor runs, nor reads other files, and not in place."""
    return _only_prints(call, "sed", judge_sed)


def awk(call: Call) -> bool:
    """`awk` with a program that neither writes, nor runs, nor reads other files."""
    return _only_prints(call, "awk", judge_awk)


def _only_prints(call: Call, language: str, judge: Callable[[str, Effects], ScriptVerdict]) -> bool:
    script = _script(LANGUAGES[language].read(call), "-e", "--expression")
    return (
        call.are_known
        and LANGUAGES[language](call)
        and script is not None
        and judge(script, Effects(call.classify)).level == "safe"
    )


def _script(reading: FormReading, *gives: str) -> str | None:
    """The script among the arguments, if it is surely all of it; None where it is not."""
    given = [value for name, value in reading.values if name in gives]
    found = given or [one for one, kind in reading.operands[:1] if kind == ":"]
    if not found or not all(one.is_known for one in found):
        return None
    return "\n".join(one.text for one in found)


# Words of the shell itself that change only what nobody looks at.

_STORES = re.compile(r"%[-+ #'0-9.*hljztL]*n")


def is_harmless_name(name: str) -> bool:
    """True when a variable of this name changes nothing about what programs do later,
    but for language and colours.
    """
    return re.fullmatch(NAME, name) is not None


def tests(call: Call) -> bool:
    """`test` and `[`, but with `-v` an index (`name[$(…)]`) is run; what `[[` and `((` compare is not told."""
    arguments = call.invocation.arguments
    texts = [argument.text for argument in arguments]
    if call.invocation.program in {"[[", "(("} or call.invocation.adds_unknown or "-v" in texts or "-R" in texts:
        return False
    # Two that nobody knows may be `-v` and a name.
    return not any(one.splits for one in arguments) and all(
        one.is_known or other.is_known for one, other in pairwise(arguments)
    )


def printf(call: Call) -> bool:
    """`-v` sets a variable whose name may be an index that is run, and `%n` one that programs are looked for in."""
    first = call.texts[0] if call.texts else None
    if first is None or first.startswith("-v") or any(map(_STORES.search, filter(None, call.texts))):
        return False
    # What is not known of the format may be `%n` as well.
    return UNKNOWN not in (call.texts[1] or UNKNOWN if first == "--" and call.texts[1:] else first)


# git.

# A signature is checked by a program that the settings name.
_SIGNATURES = re.compile(r"%G|%[-+ ]?\(\*?(?:signature|raw)|%\(trailers:[^)]*key_value_separator")
_SETTING = re.compile(r"(?:user\.(?:name|email)|core\.\w+|init\.\w+|branch\.[\w./-]+|pull\.\w+|push\.\w+|merge\.\w+)")
_BEFORE_NAMES = frozenset({"--global", "--local", "--system", "--get"})
_BEFORE = frozenset({
    "--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects", "--no-lazy-fetch",
})  # fmt: skip


def is_harmless_git(call: Call) -> bool:
    """True when git only looks, in the session's directories, and what it shows is not its settings."""
    if not call.invocation.adds_unknown and call.texts in {("--version",), ("-v",)}:
        return True
    rest = _after_own_options(call)
    if not call.are_known or rest is None or not rest.texts:
        return False
    subcommand, rest = rest.texts[0] or "", _without_first(rest, 1)
    if any(_SIGNATURES.search(text or "") for text in rest.texts):
        return False
    if subcommand == "config":
        return _shows_setting(rest)
    action = rest.texts[0] if rest.texts else None
    if (check := GIT.get(f"{subcommand}:{action}")) is not None:
        takes_value = action in {"--contains", "--no-contains", "--points-at"}
        return check(rest if takes_value else _without_first(rest, 1))
    check = GIT.get(subcommand)
    return check is not None and check(rest)


def _after_own_options(call: Call) -> Call | None:
    """The call from the subcommand on, where it runs; None where that may be outside of the session's directories."""
    cwd = call.invocation.cwd
    rest = call
    while rest.texts and (rest.texts[0] in _BEFORE or rest.texts[0] == "-C"):
        if rest.texts[0] != "-C":
            rest = _without_first(rest, 1)
            continue
        folder = rest.texts[1] if rest.texts[1:] else None
        if folder is None or UNKNOWN in folder or cwd is None:
            return None
        cwd = full_path(folder, cwd)
        rest = _without_first(rest, 2)
    if cwd is None or (call.roots and not any(is_below(cwd, root) for root in call.roots)):
        return None
    return replace(rest, invocation=replace(rest.invocation, cwd=cwd))


def _without_first(call: Call, count: int) -> Call:
    arguments = call.invocation.arguments[count:]
    return replace(call, texts=call.texts[count:], invocation=replace(call.invocation, arguments=arguments))


def _shows_setting(call: Call) -> bool:
    """One setting by name: those of remotes and credentials hold passwords."""
    options = ("--get", *call.texts[1:]) if call.texts[:1] == ("get",) else call.texts
    *before, name = options or ("",)
    is_known = all(text in _BEFORE_NAMES for text in before)
    return bool(before) and is_known and bool(_SETTING.fullmatch(name or ""))


# All of them, and whether one invocation is harmless.


def _all(names: str, check: Check) -> dict[str, Check]:
    return dict.fromkeys(names.split(), check)


PROGRAMS: Mapping[str, Check] = {
    **table.PROGRAMS,
    **table.LINES,
    # They print what they are given, or what everybody may know of the machine.
    **_all("echo true false expr : exit return break continue shift times", always),
    **_all("users whoami logname hostid jobs clear arch", bare),
    # Words of the shell. They change what follows in the shell, never a file.
    **_all("test [ [[ ((", tests),
    "printf": printf,
    **_all("sed gsed", sed),
    **_all("awk gawk mawk nawk", awk),
    "git": is_harmless_git,
}
"""Those whose forms were proved."""

# Of those with None only the command is known; `find` and `fd` are programs of their own as well.
WRAPPERS: Mapping[str, Check | None] = {
    **table.WRAPPERS,
    **dict.fromkeys(("find", "fd", "fdfind")),
    "builtin": bare,
}
"""Programs that only run another one."""


# That they print before they read anything else. Not those whose version the workspace may choose, and that would
# then run something of it (rustup, go, yarn); nor those that read a project first: pytest runs its conftest.py, npm
# writes a log where a .npmrc says.
_SAY_THEIR_VERSION = frozenset(
    listed("""
    python python3 node deno bun uv ruff gcc g++ clang clang++ make cmake bash zsh perl ruby php psql curl wget jq
    tar gzip openssl vim tmux sed awk gawk grep rg fd find sort git docker
""")
)
_VERSIONS = frozenset({("--version",), ("-V",)})
_SHORT_VERSIONS: Mapping[str, tuple[str | None, ...]] = {
    "node": ("-v",), "perl": ("-v",), "ruby": ("-v",), "php": ("-v",), "openssl": ("version",),
}  # fmt: skip


def check_of(name: str, call: Call) -> Check | None:
    """The check of the program; of some only that they say their version is known."""
    if not call.invocation.adds_unknown and (
        (name in _SAY_THEIR_VERSION and call.texts in _VERSIONS) or _SHORT_VERSIONS.get(name) == call.texts
    ):
        return always
    return PROGRAMS.get(name)


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
