"""What backends have in common: a session in a place that shares its directories, or in one with files of its own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from tools.environments.backends import Elsewhere, Wanted
from tools.environments.containment import Containment
from tools.environments.far.machine import Machine
from tools.environments.far.side import FarSide
from tools.environments.far.surroundings import FarSecrets, SharedSecrets, git_there, places_there
from tools.environments.kept_places import KeptPlaces
from tools.environments.local_processes import LocalProcesses
from tools.settings import ToolSettings
from tools.shell.session import ShellMemory

Wall = Literal["none", "container", "machine"]


def side_of(machine: Machine, wanted: Wanted, passed: tuple[str, ...] = ()) -> FarSide:
    """What a session has there.

    Args:
        passed: variables that are named for it: its commands have them, whatever they look like.
    """
    known = wanted.limits.terminal.passthrough
    terminal = replace(wanted.limits.terminal, passthrough=replace(known, names=(*known.names, *passed)))
    limits: ToolSettings = replace(wanted.limits, terminal=terminal)
    return FarSide(machine, wanted.guardian, limits, files_by=wanted.options.get("files_by") or "auto")


def shared_places(wanted: Wanted) -> tuple[Path, ...]:
    """The session's directories, under all the names that they have on this machine."""
    named = (wanted.cwd, *wanted.extra_roots)
    return tuple(dict.fromkeys((*(Path(os.path.realpath(root)) for root in named), *named)))


def with_shared_places(backend: str, side: FarSide, wanted: Wanted, why_not: str, note: str = "") -> Elsewhere:
    """A session whose directories are this machine's, under the same names. Asks nothing of the place.

    Args:
        why_not: why its commands are not contained, as `Elsewhere.why_not`.
    """
    named = (wanted.cwd, *wanted.extra_roots)
    real = tuple(Path(os.path.realpath(root)) for root in named)
    return Elsewhere(
        backend=backend,
        where=side.link.machine.name,
        cwd=wanted.cwd,
        roots=named,
        real_roots=real,
        files=side.files,
        terminal=side.environment,
        processes=LocalProcesses(side.environment, ShellMemory(wanted.cwd)),
        facts=side.facts,
        command=side.link.output_of,
        close=side.close,
        shared=tuple(dict.fromkeys((*named, *real))),
        containment=Containment(
            why_not=lambda: why_not,
            places=KeptPlaces(real),
            secrets=SharedSecrets(side, real),
            git_place=git_there(side.link),
        ),
        wall="container",
        note=note,
    )


def with_places_there(
    backend: str,
    side: FarSide,
    wanted: Wanted,
    why_not: str,
    *,
    extra: Sequence[Path] = (),
    start: str = "",
    wall: Wall = "container",
    note: str = "",
    outlives: bool = False,
) -> Elsewhere:
    """A session in directories of the place's own. Connects, to know them; where that fails, its tools say why.

    Args:
        extra: further directories of this machine that may be there under the same name.
        start: where it works; '': in the directory of the same name, or else in the home there.
        wall: a `machine` is somebody's own, with files of its own; the others begin empty.
        outlives: what is in it stays when the session ends.
    """
    begins_empty = wall == "container"
    is_copied = begins_empty and wanted.options.get("sync", "off") != "off"
    places = places_there(
        side, Path(os.path.realpath(wanted.cwd)) if is_copied else wanted.cwd, extra, start, is_copied
    )
    return Elsewhere(
        backend=backend,
        where=side.link.machine.name,
        cwd=places.cwd,
        roots=places.roots,
        real_roots=places.real,
        files=side.files,
        terminal=side.environment,
        processes=LocalProcesses(side.environment, ShellMemory(places.cwd)),
        facts=side.facts,
        command=side.link.output_of,
        close=side.close,
        containment=Containment(
            why_not=lambda: why_not,
            secrets=FarSecrets(side, lambda: places.real),
            git_place=git_there(side.link),
        ),
        problem=places.problem,
        wall=wall,
        note=note,
        begin=side.begin if begins_empty else None,
        outlives=outlives,
    )


def experimental(backend: str, against: str) -> str:
    """What the person is told of a backend that only a stand-in has tried, as `Elsewhere.note`."""
    return (
        f"The backend {backend} is experimental: not yet run against {against}, only against a stand-in for it. "
        "Tell us what you see of it that is wrong."
    )
