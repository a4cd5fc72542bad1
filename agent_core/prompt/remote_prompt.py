"""The rules files and the surroundings of a session on another machine, looked at there in one go each."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from agent_core.prompt.environment import ALWAYS, PROJECT_PROGRAMS, PromptFacts
from agent_core.prompt.rules_files import ContextFiles, load_context_files
from agent_core.prompt.rules_reader import FOLDER, MOST_BYTES, Region
from agent_core.settings.project import ContextFileSettings
from agent_core.settings.sections import CURSOR, variants
from tools.environments.backends import Elsewhere
from tools.environments.git import GitState, commit_of
from tools.environments.remote.scripts import quoted
from tools.environments.temp_directories import own_directory
from tools.errors import CommandError
from tools.light_dataclass import dataclass

# Rules files are read as if they were here. Files that they mention are not fetched, and neither are those of folders
# that work gets into later.

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


# The commit is looked at in a repository with settings of ours that borrows the objects, as `tools.environments.git`
# does: a missing one would be fetched from wherever the settings say. What is asked before that reads none.
_LOOK = """cd {cwd} 2>/dev/null || exit 0
for f in {files}; do [ -e "$f" ] && echo "has $f"; done
top=$(git rev-parse --show-toplevel 2>/dev/null) || exit 0
echo "top $top"
echo "branch $(git symbolic-ref --short -q HEAD)"
head=$(git rev-parse --verify -q HEAD) && objects=$(cd "$(git rev-parse --git-path objects)" && pwd) || exit 0
own=$(mktemp -d) || exit 0
trap 'rm -rf "$own"' EXIT
mkdir "$own/refs" && ln -s "$objects" "$own/objects" && echo 'ref: refs/heads/none' >"$own/HEAD" || exit 0
export GIT_DIR="$own" GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null HOME=/dev/null XDG_CONFIG_HOME=/dev/null
export GIT_ALLOW_PROTOCOL=none GIT_NO_LAZY_FETCH=1
echo "commit $(git --no-pager log -1 --no-decorate --no-color '--format=%h %cs %s' "$head" 2>/dev/null)"
exit 0
"""


def far_facts(elsewhere: Elsewhere) -> PromptFacts:
    """The facts. Connects, where nothing has yet; where that fails, little is known, and that is said."""
    today = dt.datetime.now(tz=dt.UTC).astimezone().date().isoformat()
    files = sorted({file for wanted in PROJECT_PROGRAMS.values() for file in wanted})
    script = _LOOK.format(cwd=quoted(str(elsewhere.cwd)), files=" ".join(map(quoted, files)))
    try:
        machine = elsewhere.facts()
        lines = elsewhere.command(script).decode(errors="replace").splitlines()
    except CommandError as problem:
        return PromptFacts(
            elsewhere.cwd, elsewhere.roots, today, "not known", "sh", machine=f"{elsewhere.where} ({problem})"
        )
    there = {line.removeprefix("has ") for line in lines if line.startswith("has ")}
    wanted = [name for name, names in PROJECT_PROGRAMS.items() if not there.isdisjoint(names)]
    return PromptFacts(
        elsewhere.cwd,
        elsewhere.roots,
        today,
        machine.system,
        machine.shell,
        git=_git(lines),
        programs=tuple(name for name in (*ALWAYS, *wanted) if name in machine.programs),
        missing=tuple(name for name in wanted if name not in machine.programs),
        python="" if machine.python is None else f"python3 {machine.python[0]}.{machine.python[1]}",
        machine=elsewhere.where,
    )


def _git(lines: Sequence[str]) -> GitState | None:
    told = dict(line.split(" ", 1) for line in lines if line.startswith(("top ", "branch ", "commit ")))
    top = told.get("top", "")
    return GitState(Path(top), told.get("branch", ""), None, *commit_of(told.get("commit", ""))) if top else None
