"""What the web tools work under, and the search services that the user has a key for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from tools.light_dataclass import dataclass

MIB = 1024 * 1024


KEY_VARIABLES = frozenset({"BRAVE_API_KEY", "BRAVE_SEARCH_API_KEY", "TAVILY_API_KEY", "EXA_API_KEY"})
"""The variables that hold the keys of search services."""


@dataclass(frozen=True, slots=True)
class SearchKeys:
    """Keys of search services, and where they answer; '' where there is none."""

    brave: str = field(default="", repr=False)
    tavily: str = field(default="", repr=False)
    exa: str = field(default="", repr=False)
    searxng_url: str = ""
    brave_url: str = "https://api.search.brave.com/res/v1/web/search"
    tavily_url: str = "https://api.tavily.com/search"
    exa_url: str = "https://api.exa.ai/search"

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> SearchKeys:
        """What BRAVE_API_KEY (or BRAVE_SEARCH_API_KEY), TAVILY_API_KEY, EXA_API_KEY and SEARXNG_URL say."""

        def value(*names: str) -> str:
            return next((found for name in names if (found := environ.get(name, "").strip())), "")

        return cls(
            brave=value("BRAVE_API_KEY", "BRAVE_SEARCH_API_KEY"),
            tavily=value("TAVILY_API_KEY"),
            exa=value("EXA_API_KEY"),
            searxng_url=value("SEARXNG_URL").rstrip("/"),
        )


@dataclass(frozen=True, slots=True)
class WebSettings:
    """`web_search` and `web_extract`.

    Attributes:
        search_backend: brave, tavily, exa, searxng or ddgs; '' takes the first that is set up, in this order.
        allow_private: addresses of this machine and of private networks are asked about like any other.
        max_bytes: of one answer, as sent and once unpacked.
        timeout: seconds for one request with its redirects; a search takes at most half of it.
        keys: of the search services.
    """

    search_backend: str = ""
    allow_private: bool = False
    max_bytes: int = 10 * MIB
    timeout: float = 30.0
    keys: SearchKeys = field(default_factory=SearchKeys)
