"""Which search is asked: the one that the settings name, else the first that is set up, else that without a key."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping

from tools.errors import ToolError
from tools.web.search.service import Service
from tools.web.search.services import configured
from tools.web.settings import SearchKeys, WebSettings

KEYLESS = "ddgs"
_VARIABLES = {"brave": "BRAVE_API_KEY", "tavily": "TAVILY_API_KEY", "exa": "EXA_API_KEY", "searxng": "SEARXNG_URL"}


def chosen(settings: WebSettings) -> Service | None:
    """The service; None for the search without a key.

    Raises:
        ToolError: the settings name one that is not set up, or that there is not.
    """
    services = configured(settings.keys)
    wanted = settings.search_backend.strip().lower()
    if not wanted:
        return services[0] if services else None
    if wanted in {KEYLESS, "duckduckgo"}:
        return None
    found = next((service for service in services if service.name == wanted), None)
    if found is not None:
        return found
    if wanted in _VARIABLES:
        raise ToolError(
            f"web.search_backend is {wanted}, and {_VARIABLES[wanted]} is not set: the user has to set one of them "
            "right."
        )
    known = ", ".join((*_VARIABLES, KEYLESS))
    raise ToolError(f"web.search_backend is {wanted!r}; the user has to set it to one of {known}, or leave it out.")


def can_search(environ: Mapping[str, str] | None = None) -> bool:
    """Whether any search is set up: a key in the environment, or the library for the one without."""
    if configured(SearchKeys.from_environment(os.environ if environ is None else environ)):
        return True
    return importlib.util.find_spec(KEYLESS) is not None
