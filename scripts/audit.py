"""`make audit`: whether a known hole is in one of the packages that `requirements.lock` names.

`pip-audit` asks osv.dev, and where that cannot be asked the index of packages (PyPI), which knows of holes too; it
has an environment of its own, as nothing else needs it. A package that neither has told about was not looked at: that
is no success, so the exit code tells the three apart: 0 none, 1 a hole, 2 not everything could be asked.
"""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_PLACE = Path(".cache/audit")
_PACKAGE = "pip-audit>=2.10,<3"
_SERVICES = {"osv": "osv.dev", "pypi": "PyPI"}
_ASKED = ("--require-hashes", "--disable-pip", "--progress-spinner", "off", "--format", "json")
_NONE, _HOLE, _NOT_ASKED = 0, 1, 2
_LONGEST, _MOST_NAMED = 300, 8


@dataclass(frozen=True, slots=True)
class Answer:
    """What one service has told.

    Attributes:
        holes: a line each.
        told: the packages that it knows about.
        silent: those that it does not.
        problem: why it has told nothing; '' where it has.
    """

    holes: tuple[str, ...] = ()
    told: frozenset[str] = frozenset()
    silent: frozenset[str] = field(default=frozenset())
    problem: str = ""


def main(lock: str) -> int:
    """Look `lock` up."""
    program = _PLACE / "bin" / "pip-audit"
    if problem := _made(program):
        sys.stderr.write(f"make audit: nothing was looked at: pip-audit could not be installed: {problem}\n")
        return _NOT_ASKED

    def ask(service: str) -> Answer:
        command = [str(program), "-r", lock, "--vulnerability-service", service, *_ASKED]
        looked = subprocess.run(command, check=False, capture_output=True, text=True)
        return answer_of(looked.stdout, looked.stderr)

    return verdict(ask)


def verdict(ask: Callable[[str], Answer]) -> int:
    """Ask one service after the other until all packages were told about; says what came out. The exit code."""
    told: set[str] = set()
    left: frozenset[str] | None = None
    holes: dict[str, None] = {}
    why: list[str] = []
    for service, name in _SERVICES.items():
        answer = ask(service)
        holes |= dict.fromkeys(answer.holes)
        told |= answer.told
        if answer.problem:
            why.append(f"{name} could not be asked: {answer.problem}")
            continue
        left = answer.silent if left is None else left - answer.told
        if not left:
            break
        why.append(f"{name} knows nothing of {_named(left)}")
    for hole in holes:
        sys.stdout.write(f"{hole}\n")
    if holes:
        return _HOLE
    if left is None or left:
        sys.stderr.write(f"make audit: {'not everything' if told else 'nothing'} was looked at.\n")
        sys.stderr.write("".join(f"  {line}\n" for line in why))
        return _NOT_ASKED
    sys.stdout.write("make audit: no known hole.\n")
    return _NONE


def answer_of(output: str, complaint: str) -> Answer:
    """What `pip-audit` has written, as an answer."""
    try:
        packages = json.loads(output)["dependencies"]
    except (ValueError, KeyError, TypeError):
        # Of a traceback the last line says what happened.
        return Answer(problem=_last_line(complaint))
    silent = frozenset(package["name"] for package in packages if "skip_reason" in package)
    told = frozenset(package["name"] for package in packages) - silent
    return Answer(tuple(_holes(packages)), told, silent)


def _holes(packages: Sequence[dict[str, object]]) -> Iterator[str]:
    for package in packages:
        found = package.get("vulns", [])
        assert isinstance(found, list)  # noqa: S101 - its format says so
        for hole in found:
            mended = ", ".join(hole.get("fix_versions", [])) or "nothing yet"
            yield f"{package['name']} {package['version']}: {hole['id']}, mended in {mended}"


def _made(program: Path) -> str:
    """Install it, unless it is there; what went wrong."""
    if program.exists():
        return ""
    venv.create(_PLACE, with_pip=True)
    installing = [str(_PLACE / "bin" / "pip"), "install", "-q", "--disable-pip-version-check", _PACKAGE]
    made = subprocess.run(installing, check=False, capture_output=True, text=True)
    return _last_line(made.stderr) if made.returncode else ""


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["it said nothing"])[-1][:_LONGEST]


def _named(names: frozenset[str]) -> str:
    shown = sorted(names)[:_MOST_NAMED]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
