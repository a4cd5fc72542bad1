"""Settings for tests that read no files but the home's own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agent_core.config import Configuration, Overrides, load
from agent_core.home import Home
from tests.support.settings_files import configure


def configuration(
    home: Path, settings: Mapping[str, Any], environ: Mapping[str, str] | None = None, **overrides: Any
) -> Configuration:
    """These settings, written into `home`, under nothing but `environ`; `overrides` are the command line's."""
    configure(home, settings)
    return load(Home(home), Overrides(**overrides), environ or {})
