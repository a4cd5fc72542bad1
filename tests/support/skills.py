"""Skills on disk, for tests."""

from __future__ import annotations

from pathlib import Path

from agent_core.home import Home
from agent_core.settings.model import Settings
from agent_core.skills import SessionSkills
from agent_core.workspace_factory import session_skills
from tools.approval.rules import PermissionRule


def skill_text(name: str, description: str = "Does a thing. Use it when asked.", body: str = "Do it well.") -> str:
    """A SKILL.md."""
    return f"---\nname: {name}\ndescription: {description}\n---\n\n{body}\n"


def put_skill(folder: Path, name: str, description: str = "Does a thing.", body: str = "Do it well.") -> Path:
    """Make a skill below `folder`; its own folder."""
    own = folder / name
    own.mkdir(parents=True)
    (own / "SKILL.md").write_text(skill_text(name, description, body), encoding="utf-8")
    return own


def skills_of(home: Path, cwd: Path, *, deny: tuple[PermissionRule, ...] = (), **settings: object) -> SessionSkills:
    """The skills of a session; `settings` is what `skills:` says."""
    made = session_skills(Settings.model_validate({"skills": settings}), Home(home), cwd, deny, (cwd,))
    assert made is not None
    return made
