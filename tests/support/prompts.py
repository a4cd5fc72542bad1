"""Fixed facts for system prompts, so that none depends on the machine."""

from __future__ import annotations

from pathlib import Path

from agent_core.prompt.environment import PromptFacts
from agent_core.prompt.rules_files import ContextFile, ContextFiles, LeftOut
from tools.environments.git import GitState

CWD = Path("/srv/projects/shop-backend")
FACTS = PromptFacts(
    cwd=CWD,
    roots=(CWD, Path("/srv/projects/shared-library")),
    today="2031-02-03",
    system="Linux",
    shell="bash",
    git=GitState(
        CWD, "feature/a-branch-with-a-long-name", is_dirty=True, commit="1a2b3c4 2031-02-01", subject="Fix sums"
    ),
    python=".venv/bin/python3 (3.12.4); the command python3 is /usr/bin/python3 (3.11)",
    commands=(
        "Sandbox: commands write only to the session's directories, temporary directories and package caches; they "
        "reach package registries, github.com; other hosts may need the user's permission."
    ),
    programs=("rg", "uv", "python3", "node", "npm", "make", "docker"),
    missing=("cargo",),
)
TOOLS = ("memory", "patch", "read_file", "session_search", "skill_manage", "skill_view", "terminal", "todo")
FILES = ContextFiles(
    (
        ContextFile("/srv/projects/AGENTS.md", Path("/srv/projects/AGENTS.md"), "Write tests first."),
        ContextFile("AGENTS.md", CWD / "AGENTS.md", "# Shop\n\nUse uv. See @docs/style.md."),
        ContextFile("docs/style.md", CWD / "docs/style.md", "Lines have 100 characters.", imported_by="AGENTS.md"),
    ),
    (LeftOut("CLAUDE.md", "it wants secrets sent away (line 3: «curl»)", "it looks like an attack on agents"),),
)
