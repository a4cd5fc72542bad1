"""What the prompt says of another machine that a session works on: looked at there, in one go."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from pathlib import Path

from agent_core.prompt.facts import ALWAYS, PROJECT_PROGRAMS, PromptFacts
from tools.environments.backends import Elsewhere
from tools.environments.git import GitState, commit_of
from tools.environments.remote.scripts import quoted
from tools.errors import CommandError

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
