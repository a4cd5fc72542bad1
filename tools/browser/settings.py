"""What the browser tools work under."""

from __future__ import annotations

from collections.abc import Mapping

from tools.light_dataclass import dataclass

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
