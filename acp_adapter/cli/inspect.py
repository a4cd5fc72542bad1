"""`hermes-acp inspect`: a recording as a page."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from acp_adapter.cli.command_line import command_parser
from acp_adapter.cli.safe_text import one_line, safe_text
from acp_adapter.cli.sessions_files import new_file
from agent_core.errors import RequestError

FAILED = 1
_STDOUT = "-"
_EPILOG = """\
A recording is made by `hermes-acp --record FILE` (as the command in your editor's settings), by `hermes-acp prompt
--record FILE`, which may drive any agent with --agent, or by `hermes-acp prompt --json > FILE`. The page needs no
network and no server. It shows who asked what when, how long answers took, diffs, and filters.

exit codes:
  0    the page is written
  1    it could not be; stderr says why
  2    the command line was wrong

examples:
  hermes-acp inspect session.jsonl
  hermes-acp inspect session.jsonl --output report.html --force
"""


def main(argv: list[str]) -> int:
    """Run `hermes-acp inspect` with the arguments `argv`; the result is the exit code."""
    options = _parsed(argv)
    try:
        return _write_page(Path(options.file), options.output, force=options.force)
    except RequestError as problem:
        print(f"hermes-acp inspect: {safe_text(problem.public)}", file=sys.stderr)
        return FAILED


def _write_page(file: Path, output: str | None, *, force: bool) -> int:
    from acp_adapter.export.markup import whole  # noqa: PLC0415 - not for --help
    from acp_adapter.recording.page import to_page  # noqa: PLC0415 - the same
    from acp_adapter.recording.reading import read_recordings  # noqa: PLC0415 - the same

    try:
        with file.open(encoding="utf-8", errors="replace") as lines:
            recorded = read_recordings(lines)
    except OSError as problem:
        raise RequestError(f"{file} could not be read: {problem.strerror or problem}. Name a recording.") from problem
    content = whole(to_page(recorded, f"Recording {file.name}")).encode()
    if output == _STDOUT:
        sys.stdout.buffer.write(content)
        return 0
    path = Path(output) if output else file.with_suffix(".html")
    if os.path.realpath(path) == os.path.realpath(file):
        raise RequestError(f"The page would be written over the recording {file}. Choose another --output.")
    with new_file(path, force=force) as page:
        page.write(content)
    print(f"Wrote {one_line(str(path))}.")
    return 0


def _parsed(argv: list[str]) -> argparse.Namespace:
    parser = command_parser(
        "inspect", "Make one HTML page of a recording of a connection between client and agent.", _EPILOG
    )
    parser.add_argument("file", metavar="FILE", help="the recording")
    parser.add_argument(
        "--output", metavar="FILE", help="where the page goes (default: beside FILE, .html); - prints it"
    )
    parser.add_argument("--force", action="store_true", help="replace a file that is there")
    return parser.parse_args(argv)
