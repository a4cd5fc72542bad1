"""What goes wrong with language servers.

LspFailure        the server could not be started or understood, or is gone
└── LspRefused    it answered one request with an error, and goes on
"""

from __future__ import annotations


class LspFailure(Exception):
    """A language server cannot be used; `str(failure)` says why."""


class LspRefused(LspFailure):
    """A language server answered a request with an error; `code` is its number."""

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.code = code
