"""The table in docs/models.md of how model servers differ from their protocols, and what is done about it.

Each row is said by a test that shows it, with the mark `quirk(server, what it does, what is done)`.
`python -m scripts.server_quirks docs/models.md` renews the table.
"""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

BEGIN = "<!-- quirks: written by `make docs` from the tests that are marked `quirk` -->"
END = "<!-- end of quirks -->"

_TESTS = Path(__file__).parent.parent / "tests"
_HEAD = ("| server | what it does | what is done |", "|---|---|---|")

Row = tuple[str, str, str]


class _Marks:
    """A pytest plugin that collects the marks of tests and runs nothing."""

    def __init__(self) -> None:
        self.rows: set[Row] = set()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Take the marks of all tests that were found."""
        for item in session.items:
            for mark in item.iter_markers("quirk"):
                server, does, done = mark.args
                self.rows.add((server, does, done))


def rows() -> list[Row]:
    """What the tests say, in order of servers.

    Raises:
        RuntimeError: a test file cannot be imported.
    """
    files = [str(path) for path in _TESTS.rglob("test_*.py") if "quirk(" in path.read_text(encoding="utf-8")]
    if not files:
        return []
    marks, printed = _Marks(), io.StringIO()
    with contextlib.redirect_stdout(printed):
        code = pytest.main(["--collect-only", "-qq", "-m", "quirk", "-p", "no:xdist", *files], plugins=[marks])
    if code != pytest.ExitCode.OK:
        raise RuntimeError(f"The tests with the mark quirk cannot be collected:\n{printed.getvalue()}")
    return sorted(marks.rows, key=lambda row: (row[0].casefold(), row[1:]))


def quirks_table() -> str:
    """One row for each quirk, in Markdown."""
    return "\n".join((*_HEAD, *(f"| {' | '.join(row)} |" for row in rows())))


def with_quirks(page: str, table: str) -> str:
    """The page with the table between its two marks.

    Raises:
        ValueError: a mark is missing.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"the page needs the lines {BEGIN} and {END} around its table")
    return f"{before}{BEGIN}\n{table}\n{END}{after}"


def main(arguments: Sequence[str]) -> int:
    """Renew the table on the page that the arguments name."""
    if len(arguments) != 1:
        sys.stderr.write("Usage: python -m scripts.server_quirks docs/models.md\n")
        return 2
    page = Path(arguments[0])
    page.write_text(with_quirks(page.read_text(encoding="utf-8"), quirks_table()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
