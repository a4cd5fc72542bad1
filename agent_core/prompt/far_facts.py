"""What the prompt says of another machine that a session works on: looked at there, in one go."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from pathlib import Path

from agent_core.prompt.facts import ALWAYS, PROGRAMS, PromptFacts
from tools.environments.backends import Elsewhere
from tools.environments.far.wrapping import quoted
from tools.environments.git_state import GitState
from tools.errors import CommandError

# Neither looks at the work tree: what looks at it may run the repository's own programs.
_LOOK = """cd {cwd} 2>/dev/null || exit 0
for f in {files}; do [ -e "$f" ] && echo "has $f"; done
git() {{ command git --no-pager -c core.fsmonitor=false -c core.hooksPath=/dev/null "$@"; }}
top=$(git rev-parse --show-toplevel 2>/dev/null) || exit 0
echo "top $top"
echo "branch $(git symbolic-ref --short -q HEAD)"
echo "commit $(git -c log.showSignature=false log -1 --no-decorate --no-color '--format=%h %cs' 2>/dev/null)"
exit 0
"""


def far_facts(elsewhere: Elsewhere) -> PromptFacts:
    """The facts. Connects, where nothing has yet; where that fails, little is known, and that is said."""
    today = dt.datetime.now(tz=dt.UTC).astimezone().date().isoformat()
    files = sorted({file for wanted in PROGRAMS.values() for file in wanted})
    script = _LOOK.format(cwd=quoted(str(elsewhere.cwd)), files=" ".join(map(quoted, files)))
    try:
        machine = elsewhere.facts()
        lines = elsewhere.command(script).decode(errors="replace").splitlines()
    except CommandError as problem:
        return PromptFacts(
            elsewhere.cwd, elsewhere.roots, today, "not known", "sh", machine=f"{elsewhere.where} ({problem})"
        )
    there = {line.removeprefix("has ") for line in lines if line.startswith("has ")}
    wanted = [name for name, names in PROGRAMS.items() if not there.isdisjoint(names)]
    return PromptFacts(
        elsewhere.cwd,
        elsewhere.roots,
        today,
        machine.system,
        machine.shell,
        git=_git(lines),
        programs=tuple(name for name in (*ALWAYS, *wanted) if name in machine.programs),
        missing=tuple(name for name in wanted if name not in machine.programs),
        machine=elsewhere.where,
    )


def _git(lines: Sequence[str]) -> GitState | None:
    told = dict(line.split(" ", 1) for line in lines if line.startswith(("top ", "branch ", "commit ")))
    top = told.get("top", "")
    return GitState(Path(top), told.get("branch", ""), None, told.get("commit", "").strip()) if top else None
