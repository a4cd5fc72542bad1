"""The rules files of a session on another machine: fetched in one go, and read as if they were here.

Files that they mention are not fetched, and neither are those of folders that work gets into later.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from agent_core.prompt.context_files.cursor_rules import FOLDER
from agent_core.prompt.context_files.loaded import ContextFiles
from agent_core.prompt.context_files.loading import load_context_files
from agent_core.prompt.context_files.names import CURSOR, variants
from agent_core.prompt.context_files.reading import MOST_BYTES, Region
from agent_core.prompt.context_files.settings import ContextFileSettings
from tools.environments.backends import Elsewhere
from tools.environments.remote.scripts import quoted
from tools.environments.temp_directories import own_directory
from tools.errors import CommandError
from tools.light_dataclass import dataclass

_MOST_FILES = 40
_FETCH = """cd {cwd} 2>/dev/null && here=$(pwd -P) || exit 0
top=$(git rev-parse --show-toplevel 2>/dev/null) || top=$here
echo "top $top"
echo "here $here"
n=0
one() {{
  [ -f "$1" ] && [ "$n" -lt {most} ] || return 0
  size=$(wc -c <"$1") && [ "$size" -le {bytes} ] || return 0
  n=$((n + 1))
  printf 'file %d %s\\n' "$size" "$1"; printf '%s\\n' "$(readlink -f "$1" || echo "$1")"; cat "$1"
}}
place() {{
  for name in {names}; do one "$1/$name"; done
  {cursor}
}}
d=$here
while :; do place "$d"; [ "$d" = "$top" ] || [ "$d" = / ] && break; d=${{d%/*}}; d=${{d:-/}}; done
for d in {further}; do place "$d"; done
exit 0
"""
_CURSOR = 'for f in "$1"/{folder}/*.mdc; do one "$f"; done'


@dataclass(frozen=True, slots=True)
class _Fetched:
    """A file there. `real` is where it really is."""

    path: Path
    real: Path
    data: bytes


def far_context_files(
    elsewhere: Elsewhere, region: Region, settings: ContextFileSettings, max_chars: int
) -> ContextFiles:
    """As `load_context_files`, of the machine's files; none where it cannot be reached.

    Args:
        region: the session's directories there.
    """
    if not settings.enabled:
        return ContextFiles()
    names = [variant for name in settings.names for variant in variants(name)]
    script = _FETCH.format(
        cwd=quoted(str(elsewhere.cwd)),
        most=_MOST_FILES,
        bytes=MOST_BYTES,
        names=" ".join(map(quoted, names)),
        cursor=_CURSOR.format(folder=quoted(str(FOLDER))) if CURSOR in settings.names else ":",
        further=" ".join(quoted(str(root)) for root in elsewhere.roots[1:]) or "",
    )
    try:
        output = elsewhere.command(script)
    except CommandError:
        return ContextFiles()
    head, _, rest = output.partition(b"\nhere ")
    here, _, body = rest.partition(b"\n")
    if not head.startswith(b"top ") or not here:
        return ContextFiles()
    top, cwd = Path(head[4:].decode(errors="surrogateescape")), Path(here.decode(errors="surrogateescape"))
    wider = replace(region, roots=(*region.roots, top))
    with own_directory("hermes-rules-") as mirror:
        _below(mirror, top).joinpath(".git").mkdir(parents=True)
        _below(mirror, cwd).mkdir(parents=True, exist_ok=True)
        for file in _files(body):
            # What may be read is a matter of where it really is there.
            if wider.holds(file.real) and not wider.refusal(file.real):
                copy = _below(mirror, file.path)
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(file.data)
        roots = tuple(_below(mirror, root) for root in elsewhere.roots)
        found = load_context_files(_below(mirror, cwd), roots, Region((mirror,)), settings, max_chars)
    files = tuple(
        replace(file, path=Path("/", file.path.relative_to(mirror)), text=file.text.replace(str(mirror), ""))
        for file in found.files
    )
    return replace(found, files=files)


def _files(body: bytes) -> Iterator[_Fetched]:
    while body.startswith(b"file "):
        line, _, rest = body.partition(b"\n")
        real, _, rest = rest.partition(b"\n")
        _, size, path = line.split(b" ", 2)
        data, body = rest[: int(size)], rest[int(size) :]
        yield _Fetched(_named(path), _named(real), data)


def _named(path: bytes) -> Path:
    return Path(path.decode(errors="surrogateescape"))


def _below(mirror: Path, path: Path) -> Path:
    return mirror.joinpath(*(part for part in path.parts[1:] if part != ".."))
