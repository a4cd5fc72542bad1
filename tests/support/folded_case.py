"""A directory on a file system that does not tell case apart, nor composed letters: as far as `os.stat` tells."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import pytest


def fold_case(monkeypatch: pytest.MonkeyPatch, directory: Path) -> None:
    """Have every spelling of this directory, and of what is below it, be found."""
    stat, real = os.stat, str(directory)
    folded = _folded(real)

    def folding(path: str | os.PathLike[str], **given: bool) -> os.stat_result:
        text = os.fspath(path)
        if isinstance(text, str) and _folded(text[: len(real)]) == folded:
            path = real + text[len(real) :]
        return stat(path, **given)

    monkeypatch.setattr(os, "stat", folding)


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()
