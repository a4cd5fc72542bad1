"""The person at the terminal, or nobody, who then agrees to nothing that was not agreed to on the command line."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from acp_adapter.cli.terminal.style import style_for

if TYPE_CHECKING:
    from tools.redaction import Redact


class AtTerminal:
    """Shows each change, and asks where somebody can answer.

    Args:
        out: where changes are shown.
        redact: takes secrets out of what is shown.
        says_yes: `--yes` was given: what is shown is done.
    """

    def __init__(self, out: TextIO, redact: Redact, *, says_yes: bool) -> None:
        self._out = out
        self._redact = redact
        self._says_yes = says_yes

    def agrees(self, title: str, change: Sequence[str]) -> bool:
        """Show a change and ask. What may be a key is not shown: the output may be kept."""
        print(self._redact("\n".join(("", title, "", *change, ""))), file=self._out, flush=True)
        if self._says_yes:
            return True
        if not (sys.stdin is not None and sys.stdin.isatty() and self._out.isatty()):
            print("Nobody can be asked here: with --yes it is done.", file=self._out, flush=True)
            return False
        from acp_adapter.cli.setup.terminal import InputEnded, Terminal  # noqa: PLC0415 - only where one is there

        try:
            return Terminal().agrees("Make this change?", default=False)
        except InputEnded:
            return False

    def paints(self) -> bool:
        """Whether there are colours."""
        return style_for(self._out).colour
