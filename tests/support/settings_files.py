"""A home's config.yaml, as tests need it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.model_server import ModelServer


def configure(home: Path, settings: Mapping[str, Any]) -> None:
    """Write config.yaml (JSON is YAML)."""
    (home / "config.yaml").write_text(json.dumps(settings, indent=2), encoding="utf-8")


def use_model(home: Path, server: ModelServer, *, model: Mapping[str, Any] | None = None, **settings: Any) -> None:
    """Make `server` the home's model; `model` adds to that part of the settings, `settings` adds other parts."""
    chosen = {
        "provider": "custom",
        "base_url": server.base_url,
        "default": "test-model",
        "api_key": "test-key",
        **(model or {}),
    }
    configure(home, {"model": chosen, **settings})
