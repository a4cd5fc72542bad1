"""The port through which tools reach the web: requests and answers as plain values, under limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Literal, Protocol

from tools.errors import ToolError
from tools.light_dataclass import dataclass
from tools.ports import Interrupt

Trouble = Literal["url", "address", "redirect", "connection", "tls", "timeout", "size", "answer"]
"""What kind of failure it was: the URL itself; where it leads; the way there; what came back."""


class WebError(ToolError):
    """A request that came to nothing; the message says what to do. `kind` is for programs."""

    def __init__(self, message: str, kind: Trouble) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class WebRequest:
    """One request.

    Attributes:
        url: absolute, http or https, without a user name or password.
        headers: beside our own; they are not sent on to another origin.
        body: bytes to POST.
        max_redirects: how many are followed; a POST follows none.
        max_bytes: of the body, as sent and once unpacked; None leaves it to the settings.
        timeout: seconds for all of it, without the time that the person takes to answer; None as above.
        service: the search service that is asked, for the person to read; '' for a page.
        query: what the service is asked.
    """

    url: str
    method: Literal["GET", "POST"] = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    max_redirects: int = 5
    max_bytes: int | None = None
    timeout: float | None = None
    service: str = ""
    query: str = ""


@dataclass(frozen=True, slots=True)
class WebResponse:
    """What came back, whatever its status.

    Attributes:
        url: where it came from in the end, redirects followed.
        headers: names in lower case.
        body: unpacked, complete.
    """

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One result of a search."""

    title: str
    url: str
    snippet: str = ""


class Web(Protocol):
    """HTTP, and the search that needs no key."""

    def fetch(self, request: WebRequest, interrupt: Interrupt) -> WebResponse:
        """Send the request and take the whole answer; any status is one.

        Raises:
            WebError: no answer, or one that is not taken.
            Denied: the policy or the person said no. ToolInterrupted: the turn is over.
        """
        ...

    def search(self, query: str, limit: int, interrupt: Interrupt) -> Sequence[SearchHit]:
        """Ask public search engines without a key, at most `limit` results.

        Raises:
            WebError, Denied, ToolInterrupted: as above.
        """
        ...
