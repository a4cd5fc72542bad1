"""Paths inside a skill's folder, as models and people write them."""

from __future__ import annotations

import unicodedata
from pathlib import PurePosixPath

from tools.errors import ToolError

DEEPEST = 5
"""Parts that such a path may have."""


def inner_path(file_path: str) -> str:
    """A path inside a skill's folder, made plain.

    Raises:
        ToolError: it is none.
    """
    path = PurePosixPath(file_path.strip().replace("\\", "/"))
    parts = [part for part in path.parts if part != "."]
    strange = any(unicodedata.category(sign) in {"Cc", "Cf", "Cs", "Zl", "Zp"} for sign in file_path.strip())
    if path.is_absolute() or not parts or ".." in parts or strange or len(parts) > DEEPEST:
        raise ToolError(f"{file_path[:120]!r} is no path inside a skill's folder. Write it as references/guide.md.")
    return "/".join(parts)
