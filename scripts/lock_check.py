"""Part of `make lint`: whether `requirements.lock` pins what `pyproject.toml` wants, each package with its hashes.

It looks at these two files alone, so it needs no network.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

_HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")
_LOCKED_EXTRA = "dev"

Pins = Mapping[str, tuple[str, ...]]
"""The versions of each package: several where markers tell them apart."""


def main(lock: str, project: str) -> int:
    """Say what is wrong; the exit code."""
    pins: dict[str, tuple[str, ...]] = {}
    problems = list(read_lock(Path(lock).read_text("utf-8"), pins))
    problems += compared(pins, tomllib.loads(Path(project).read_text("utf-8"))["project"])
    for problem in problems:
        sys.stderr.write(f"{lock}: {problem}\n")
    return 1 if problems else 0


def read_lock(text: str, pins: dict[str, tuple[str, ...]]) -> Iterator[str]:
    """Put the lock's pins into `pins`; what is wrong with it."""
    for line in text.replace("\\\n", " ").splitlines():
        written = line.strip()
        if not written or written.startswith("#"):
            continue
        named, *hashes = re.split(r"\s(?=--hash)", written)
        try:
            requirement = Requirement(named)
        except InvalidRequirement:
            yield f"{named!r} is no pinned package"
            continue
        if requirement.url or not (version := _exact(requirement.specifier)):
            yield f"{requirement.name} is not pinned to one version (name==version)"
            continue
        if not hashes or not all(_HASH.fullmatch(each.strip()) for each in hashes):
            yield f"{requirement.name} {version} has no hashes, or others than sha256"
        name = canonicalize_name(requirement.name)
        pins[name] = (*pins.get(name, ()), version)


def compared(pins: Pins, project: Mapping[str, Any]) -> Iterator[str]:
    """What the project wants and the lock has not, or in a version that the project does not allow."""
    for wanted in _wanted(project, _LOCKED_EXTRA):
        versions = pins.get(canonicalize_name(wanted.name), ())
        if not versions:
            yield f"{wanted.name} is missing: run make lock"
        for version in versions:
            if not wanted.specifier.contains(version, prereleases=True):
                yield f"{wanted.name} {version} is not {wanted.specifier}, as pyproject.toml wants: run make lock"


def _wanted(project: Mapping[str, Any], extra: str) -> Iterator[Requirement]:
    """What the project needs itself, and with an extra, which may name others of its extras."""
    yield from map(Requirement, project["dependencies"])
    left, seen = [extra], {extra}
    while left:
        for requirement in map(Requirement, project["optional-dependencies"][left.pop()]):
            if canonicalize_name(requirement.name) != canonicalize_name(project["name"]):
                yield requirement
                continue
            left += sorted(requirement.extras - seen)
            seen |= requirement.extras


def _exact(specifier: SpecifierSet) -> str:
    """The one version that it means; '' where it means several."""
    parts = list(specifier)
    is_one = len(parts) == 1 and parts[0].operator == "==" and not parts[0].version.endswith("*")
    return parts[0].version if is_one else ""


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
