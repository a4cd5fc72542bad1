"""The limits that tools work under; `agent_core.config` fills them from the user's settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from fnmatch import fnmatchcase
from typing import Literal

from tools.light_dataclass import dataclass

# What the browser tools work under.

CDP_URL = "BROWSER_CDP_URL"
EXECUTABLE = "BROWSER_EXECUTABLE"


@dataclass(frozen=True, slots=True)
class BrowserSettings:
    """The `browser_*` tools.

    Attributes:
        executable: the browser's program; '' looks for one.
        cdp_url: the debugging address of a browser that runs already (http://127.0.0.1:9222); '' starts one.
        allow_private: addresses of this machine and of private networks are asked about like any other.
        timeout: seconds for a navigation, without the time that the person takes to answer.
        action_timeout: seconds that an element may take until it can be clicked or typed into.
        idle_seconds: the browser is closed when nobody has used it for so long.
        outline_chars: of a page's outline; `full_chars` where the model asks for all of it.
    """

    executable: str = ""
    cdp_url: str = ""
    allow_private: bool = False
    timeout: float = 30.0
    action_timeout: float = 5.0
    idle_seconds: float = 300.0
    outline_chars: int = 8_000
    full_chars: int = 60_000

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> BrowserSettings:
        """What BROWSER_CDP_URL and BROWSER_EXECUTABLE say."""
        return cls(executable=environ.get(EXECUTABLE, "").strip(), cdp_url=environ.get(CDP_URL, "").strip())


# What programs that call tools work under.

MIB = 1024 * 1024

ProgramMode = Literal["project", "strict"]
"""`project`: the project's interpreter, in the session's directory; `strict`: the system's, in an empty directory."""


@dataclass(frozen=True, slots=True)
class ProgramSettings:
    """`execute_code`: seconds that a program may take, calls that it may make, bytes of one call or its answer."""

    mode: ProgramMode = "project"
    timeout: float = 300.0
    max_calls: int = 50
    max_message_bytes: int = 8 * MIB


# What the web tools work under, and the search services that the user has a key for.

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


# Which variables commands get though they look like secrets: those that the user has named.

_SIGNS = frozenset("*?[")
_OWN_PREFIX = "HERMES_"


@dataclass(frozen=True, slots=True)
class Passthrough:
    """The names of the setting `terminal.env_passthrough`. Letter case counts, as it does for variables.

    Attributes:
        names: names of variables, or patterns in which `*` is any text, `?` one character and `[…]` one of several.
        guarded: keys of this program's own, as is every HERMES_… name: no pattern means them.
    """

    names: tuple[str, ...] = ()
    guarded: frozenset[str] = frozenset()

    @property
    def exact(self) -> frozenset[str]:
        """The names that are written out."""
        return frozenset(name for name in self.names if _SIGNS.isdisjoint(name))

    def has(self, name: str) -> bool:
        """Whether commands get the variable `name` in any case."""
        if name in self.exact:
            return True
        if name in self.guarded or name.upper().startswith(_OWN_PREFIX):
            return False
        return any(fnmatchcase(name, pattern) for pattern in self.names)


# The whole: the limits that tools work under.


@dataclass(frozen=True, slots=True)
class ReadSettings:
    """`read_file`: lines in a page when none are asked for and at most; characters in a line and in a page.

    With `whole`, who asks for no number of lines gets all of them or an error.
    """

    default_lines: int = 500
    max_lines: int = 2000
    max_line_chars: int = 2000
    max_chars: int = 100_000
    max_bytes: int = 64 * 1024 * 1024
    whole: bool = False


@dataclass(frozen=True, slots=True)
class TerminalSettings:
    """`terminal`: seconds a command may take when nothing is asked and at most; characters the model gets.

    `passthrough` are the variables that commands get though they look like secrets.
    """

    default_timeout: float = 180.0
    max_timeout: float = 600.0
    max_output_chars: int = 50_000
    head_share: float = 0.4
    passthrough: Passthrough = field(default_factory=Passthrough)


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """`search_files`: seconds, characters of one line, results of one page."""

    timeout: float = 60.0
    max_line_chars: int = 500
    max_results: int = 1000


_MOST_PROGRAM_LINES = 500_000


@dataclass(frozen=True, slots=True)
class ToolSettings:
    """All tools' settings, one part each.

    Attributes:
        max_result_chars: characters of one result for the model.
        max_answer_chars: of all results of one answer together.
        redact_results: take secrets out of what the model gets.
    """

    read: ReadSettings = field(default_factory=ReadSettings)
    terminal: TerminalSettings = field(default_factory=TerminalSettings)
    search: SearchSettings = field(default_factory=SearchSettings)
    web: WebSettings = field(default_factory=WebSettings)
    browser: BrowserSettings = field(default_factory=BrowserSettings)
    programs: ProgramSettings = field(default_factory=ProgramSettings)
    max_result_chars: int = 100_000
    max_answer_chars: int = 200_000
    redact_results: bool = False

    def for_programs(self) -> ToolSettings:
        """What programs get of their calls: a window has to be spared, a program works with what it gets.

        It writes files back that it has read, and filters what a command has printed: the part that a model is shown
        would be taken for all of it.
        """
        most = self.programs.max_message_bytes
        read = replace(
            self.read,
            default_lines=_MOST_PROGRAM_LINES,
            max_lines=_MOST_PROGRAM_LINES,
            max_line_chars=most,
            max_chars=most,
            whole=True,
        )
        return replace(self, read=read, terminal=replace(self.terminal, max_output_chars=most // 4))
