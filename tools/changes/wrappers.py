"""Programs that only run another one: what they run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

Arguments = tuple[str | None, ...]

# The letters of those options whose value is the next argument.
_WITH_VALUE = {
    "sudo": "ughpCTRD", "doas": "uC", "env": "uC", "nohup": "", "time": "fo", "timeout": "ks", "gtimeout": "ks",
    "nice": "n", "ionice": "cn", "stdbuf": "ioe", "setsid": "", "exec": "a", "command": "", "builtin": "",
    "busybox": "", "chronic": "", "unbuffer": "", "caffeinate": "", "strace": "eopsuE", "npx": "p", "bunx": "",
    "pnpx": "", "uvx": "p", "chrt": "",
}  # fmt: skip
_OWN_OPERANDS = {"timeout": 1, "gtimeout": 1, "chrt": 1}
_RUNNERS = {
    ("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("pdm", "run"), ("rye", "run"), ("hatch", "run"),
    ("bundle", "exec"), ("npm", "exec"), ("pnpm", "exec"), ("pnpm", "dlx"), ("yarn", "exec"), ("yarn", "dlx"),
    ("bun", "x"), ("mise", "exec"), ("direnv", "exec"), ("conda", "run"),
}  # fmt: skip
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=", re.ASCII)
_MAX_WRAPPERS = 10
_XARGS_WITH_VALUE = frozenset({"-I", "-n", "-P", "-L", "-s", "-d", "-E", "-a", "--max-args", "--max-procs"})


def bare_name(program: str | None) -> str:
    """The program's name without its directory."""
    return PurePosixPath(program).name if program else ""


def unwrapped(arguments: Sequence[str | None]) -> Arguments:
    """The command that runs in the end: `sudo env A=1 rm x` is `rm x`."""
    rest = tuple(arguments)
    for _ in range(_MAX_WRAPPERS):
        inner = _inner(rest)
        if inner is None:
            return rest
        rest = inner
    return rest


def run_by_xargs(arguments: Arguments) -> Arguments:
    """The command that `xargs` with these arguments runs; more arguments follow it."""
    place = 0
    while place < len(arguments):
        argument = arguments[place]
        if argument is None or not argument.startswith("-"):
            break
        place += 2 if argument in _XARGS_WITH_VALUE else 1
    return arguments[place:]


def _inner(arguments: Arguments) -> Arguments | None:
    if len(arguments) < 2 or arguments[0] is None:  # noqa: PLR2004 - a wrapper and what it wraps
        return None
    name = bare_name(arguments[0])
    second = arguments[1]
    if second is not None and (name, second) in _RUNNERS:
        return _after_options(arguments[2:], "pdm")
    if _PYTHON.fullmatch(name):
        return arguments[2:] if second == "-m" and len(arguments) > 2 else None  # noqa: PLR2004
    if name not in _WITH_VALUE:
        return None
    rest = _after_options(arguments[1:], _WITH_VALUE[name])
    while rest and name in {"env", "sudo", "doas"} and rest[0] is not None and _ASSIGNMENT.match(rest[0]):
        rest = rest[1:]
    return rest[_OWN_OPERANDS.get(name, 0) :] or None


def _after_options(arguments: Arguments, with_value: str) -> Arguments:
    place = 0
    while place < len(arguments):
        argument = arguments[place]
        if argument is None or not argument.startswith("-") or argument == "-":
            break
        place += 1
        if argument == "--":
            break
        if len(argument) == 2 and argument[1] in with_value:  # noqa: PLR2004 - a dash and a letter
            place += 1
    return arguments[place:]
