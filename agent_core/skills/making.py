"""A session's skills, from the user's settings and the places that skills may be in."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from agent_core.home import Home
from agent_core.plugins.finding import PLUGINS
from agent_core.settings.model import PluginSettings, Settings
from agent_core.skills.finding import Source, project_sources
from agent_core.skills.library import SkillLibrary
from agent_core.skills.session_skills import SessionSkills
from tools.approval.actions import ReadPath
from tools.approval.policy import denied_by
from tools.approval.rules import PermissionRule

SKILLS = "skills"
_MOST_PLUGINS = 200


def session_skills(
    settings: Settings,
    home: Home,
    cwd: Path,
    deny: tuple[PermissionRule, ...],
    roots: tuple[Path, ...],
    *,
    offered: Callable[[], Sequence[Path]] = tuple,
) -> SessionSkills | None:
    """The skills of a session in `cwd`, not looked at yet; None where the settings turn them off.

    Args:
        deny: the user's rules that deny; they hold for skills too.
        roots: the session's directories.
        offered: folders that plugins offer now.
    """
    wanted = settings.skills
    if not wanted.enabled:
        return None
    real_roots = tuple(Path(os.path.realpath(root)) for root in roots)

    def refusal(path: Path) -> str:
        hit = denied_by(ReadPath(path), deny, real_roots) if deny else None
        return f"is denied by the user's rule {hit.rule.shown}" if hit is not None else ""

    def sources() -> Sequence[Source]:
        named = (os.path.expanduser(os.path.expandvars(text)) for text in wanted.external_dirs)  # noqa: PTH111 - never raises
        return (
            Source(home.root / SKILLS, "yours"),
            *(Source(home.root / path, "external") for path in named),
            *_of_plugins(home.root / PLUGINS, settings.plugins),
            *(Source(path, "plugin", within=path) for path in offered()),
            *project_sources(cwd),
        )

    library = SkillLibrary(sources, frozenset(wanted.disabled), refusal)
    return SessionSkills(library, home.root / SKILLS, wanted.index_chars)


def _of_plugins(plugins: Path, settings: PluginSettings) -> Iterator[Source]:
    """The folders `skills` of plugins that are wanted, by the plugins' folder names."""
    try:
        names = sorted(os.listdir(plugins))[:_MOST_PLUGINS]  # noqa: PTH208 - names alone
    except OSError:
        return
    for name in names:
        if settings.allows(name) and not name.startswith("."):
            yield Source(plugins / name / SKILLS, "plugin", within=Path(os.path.realpath(plugins / name)))
