"""Grammars are an extra: tests that need one say so."""

from __future__ import annotations

import pytest

from tools.outline.languages import TONGUES, Grammar, grammar, is_installed


def needs(ending: str) -> Grammar:
    """The grammar for files with this ending; the test is skipped where it is not installed."""
    tongue = TONGUES[ending]
    if not is_installed(tongue):
        pytest.skip(f"{tongue.module} is not installed: pip install 'hermes-editor-agent[map]'")
    return grammar(tongue)
