"""Python and the packages that this program needs."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from typing import Any

from acp_adapter.cli.doctor.finding import Finding, failing, warning, well

_OWN = "hermes-editor-agent"
_OLDEST = (3, 11)
_NEEDED = re.compile(r"(?P<name>[A-Za-z0-9._-]+)\s*(?P<bounds>[^;]*)(?:;(?P<marker>.*))?")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([^'\"]+)['\"]")
_BOUND = re.compile(r"(>=|<)\s*([0-9][0-9.]*)")
_NUMBERS = re.compile(r"\d+")
_TOLD = ("agent-client-protocol", "mcp", "pydantic")
_STEP = (
    "Install it again: «uv tool install --force» or «pip install --force-reinstall» with the wheel or the checkout."
)


def check_python(_: object) -> Iterator[Finding]:
    """Whether this Python is new enough."""
    version = ".".join(map(str, sys.version_info[:3]))
    text = f"{version}, {sys.executable}"
    facts: dict[str, Any] = {"version": version, "executable": sys.executable}
    if sys.version_info[:2] < _OLDEST:
        step = f"Use Python {'.'.join(map(str, _OLDEST))} or newer."
        yield failing("python", f"{text}: too old", step, **facts)
    else:
        yield well("python", text, **facts)


def check_packages(_: object) -> Iterator[Finding]:
    """Whether what this program is made with is there, in versions that it knows."""
    try:
        needed = metadata.requires(_OWN) or []
    except metadata.PackageNotFoundError:
        step = "Nothing is wrong if you run it from a checkout. Else install it with uv, pipx or pip."
        yield warning("packages", f"{_OWN} is not installed: which versions it needs is not known", step)
        return
    wrong = False
    versions: dict[str, str] = {}
    for need in filter(None, map(_need, needed)):
        version = _version(need.name)
        problem = _problem(need, version)
        if problem is not None:
            wrong = True
            yield problem
        elif version:
            versions[need.name] = version
    if not wrong:
        told = ", ".join(f"{name} {versions[name]}" for name in _TOLD if name in versions)
        yield well("packages", f"{len(versions)} are as they should be: {told}", versions=versions)


@dataclass(frozen=True, slots=True)
class _Need:
    """A package that is needed, or used where it is there. `extra` is the one that brings it."""

    name: str
    bounds: str
    optional: bool
    extra: str


def _need(line: str) -> _Need | None:
    found = _NEEDED.match(line)
    if found is None:
        return None
    extra = _EXTRA.search(found["marker"] or "")
    name = extra[1] if extra is not None else ""
    # What those who work on the program need is no concern of its users.
    return None if name == "dev" else _Need(found["name"], found["bounds"].strip(), bool(found["marker"]), name)


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _problem(need: _Need, version: str) -> Finding | None:
    if not version and not need.optional:
        return failing(
            "packages", f"{need.name} is not installed ({need.bounds} is needed)", _STEP, package=need.name
        )
    if not version or is_within(version, need.bounds):
        return None
    text = f"{need.name} {version} is installed, {need.bounds} is needed"
    step = f"Install it with the extra: «{_OWN}[{need.extra}]»." if need.extra else _STEP
    return warning("packages", text, step, package=need.name, version=version)


def is_within(version: str, bounds: str) -> bool:
    """Whether a version is within bounds as we write them: `>=A,<B`."""
    mine = _numbers(version)
    return all((mine >= _numbers(bound)) == (kind == ">=") for kind, bound in _BOUND.findall(bounds))


def _numbers(version: str) -> tuple[int, ...]:
    numbers = [int(part[0]) for text in version.split(".") if (part := _NUMBERS.match(text))]
    while numbers and numbers[-1] == 0:  # 2.0 is 2
        numbers.pop()
    return tuple(numbers)
