"""The command hooks that a project brings, from the copy of them that the user has trusted."""

from __future__ import annotations

from pathlib import Path

import yaml
from pydantic import ValidationError

from agent_core.hooks.hook import HookFailed
from agent_core.settings.hooks import HooksPart

FILE_NAME = "hooks.yaml"


def read_hooks(folder: Path) -> HooksPart:
    """The hooks in `folder`. They may allow nothing: what they say of that is passed over.

    Raises:
        HookFailed: they cannot be read.
    """
    try:
        value = yaml.safe_load((folder / FILE_NAME).read_text(encoding="utf-8"))
        return HooksPart.model_validate(value or {})
    except (OSError, UnicodeDecodeError, yaml.YAMLError, ValidationError) as problem:
        raise HookFailed(f"{FILE_NAME} cannot be used: {' '.join(str(problem).split())[:300]}") from problem
