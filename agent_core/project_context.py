"""What a project's own `.hermes/config.yaml` says about rules files: it can only want less of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agent_core.config import Configuration
from agent_core.project_policy import read_project_policy
from agent_core.prompt.context_files.settings import ContextFileSettings


def context_file_settings(config: Configuration, roots: Sequence[Path]) -> ContextFileSettings:
    """What holds for the rules files of a session in `roots`. Blocks for small files."""
    part = config.settings.context_files
    settings = ContextFileSettings(part.enabled, part.max_chars, part.names)
    for root in roots:
        settings = settings.narrowed(read_project_policy(root, config.home.root).context_files)
    return settings
