"""What another machine is: looked at once, when a session first uses it."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from tools.environments.export_listing import read_exports
from tools.environments.far.exchange import TooMuch, exchanged
from tools.environments.far.link import Link
from tools.environments.far.machine import Streams
from tools.environments.far.wrapping import READING, Framing, wrap
from tools.errors import CommandError
from tools.light_dataclass import dataclass

_SECONDS = 30.0
_MOST_BYTES = 16 * 1024 * 1024
PROGRAMS = (
    "rg", "grep", "git", "python3", "uv", "poetry", "node", "npm", "pnpm", "yarn", "bun", "deno", "cargo", "go",
    "make", "just", "cmake", "mvn", "gradle", "bundle", "composer", "mix", "swift", "docker",
)  # fmt: skip
"""Those that are asked for."""

_LOOK = f"""
printf '%s\\n' "$HOME" "$(uname -s) $(uname -r)" "$(uname -m)" "$(id -u)"
command -v bash >/dev/null 2>&1 && echo bash || echo sh
python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null || echo none
for p in {" ".join(PROGRAMS)}; do command -v "$p" >/dev/null 2>&1 && printf '%s ' "$p"; done
"""


@dataclass(frozen=True, slots=True)
class FarFacts:
    """The facts.

    Attributes:
        home: the user's directory there.
        system: as «Linux 6.1.0».
        architecture: as `uname -m` tells it.
        shell: `bash` or `sh`.
        python: major and minor number of its python3; None where it has none.
        programs: those of `PROGRAMS` that are on PATH.
        variables: what a fresh shell exports.
    """

    home: Path
    system: str
    architecture: str
    user: int
    shell: str
    python: tuple[int, int] | None = None
    programs: frozenset[str] = frozenset()
    variables: Mapping[str, str] = field(default_factory=dict)


def probe(link: Link) -> FarFacts:
    """Look. Blocks for a moment.

    Raises:
        CommandError: it cannot be reached, or is nothing that a shell runs on.
    """
    folder = link.footing().folder
    wrapped = wrap(_LOOK, Path("/"), {}, folder=folder)
    framing = Framing(wrapped.token)
    streams = Streams(subprocess.PIPE, subprocess.PIPE, subprocess.DEVNULL)
    with link.running(READING, streams) as process:
        try:
            output = framing.feed(exchanged(process, wrapped.line, _SECONDS, _MOST_BYTES)[0])
        except subprocess.TimeoutExpired as problem:
            raise CommandError(f"{link.machine.name} did not answer within {_SECONDS:.0f} seconds.") from problem
        except TooMuch as problem:
            raise CommandError(f"{link.machine.name} does not answer as expected: {problem}.") from problem
    link.tell(f"over {wrapped.token}")
    lines = output.decode(errors="surrogateescape").splitlines()
    if framing.status is None or len(lines) < 6 or not lines[0].startswith("/"):  # noqa: PLR2004 - as _LOOK prints
        raise CommandError(
            f"{link.machine.name} was reached, but its shell does not run POSIX scripts as expected. It answered: "
            f"{' '.join(lines)[:300]!r}."
        )
    home, system, architecture, user, shell, python, *rest = lines
    return FarFacts(
        home=Path(home),
        system=system,
        architecture=architecture,
        user=int(user) if user.isdigit() else -1,
        shell=shell,
        python=_version(python),
        programs=frozenset(" ".join(rest).split()),
        variables=_exports(framing.report),
    )


def _version(text: str) -> tuple[int, int] | None:
    major, _, minor = text.partition(".")
    return (int(major), int(minor)) if major.isdigit() and minor.isdigit() else None


def _exports(report: bytes) -> dict[str, str]:
    body = report.partition(b"\0shell\0")[2].partition(b"\0end\0")[0]
    return read_exports(body.partition(b"\0")[2]) or {}
