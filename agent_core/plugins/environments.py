"""Where plugins' environments go: the one line that joins them to the backends."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

_BACKENDS = "tools.environments.backends"


class NoEnvironments(Exception):
    """This program takes no environments from plugins."""


def register_environment(name: str, factory: Callable[..., Any]) -> None:
    """Have `factory` make the environments that settings call `name`.

    Raises:
        NoEnvironments: this program has no other environments than its own. Whatever the backends raise.
    """
    try:
        backends = importlib.import_module(_BACKENDS)
    except ModuleNotFoundError as problem:
        raise NoEnvironments("this program takes no environments from plugins yet") from problem
    backends.register_backend(name, factory)
