"""`hermes-acp inspect`: a recording as a page."""

from __future__ import annotations

import argparse
import math
import os
import sys
from pathlib import Path

from acp_adapter.cli.main import command_parser, say_failed
from acp_adapter.export.files import new_file
from acp_adapter.format import one_line, whole
from agent_core.errors import RequestError

FAILED = 1
_STDOUT = "-"
_EPILOG = """\
A recording is made by `hermes-acp --record FILE` (as the command in your editor's settings), by `hermes-acp prompt
--record FILE`, which may drive any agent with --agent, or by `hermes-acp prompt --json > FILE`. The page needs no
network and no server. It shows who asked what when, how long answers took, errors and diffs, and has a search. Of a
very long recording it holds the last 20,000 messages or the last 20 MB; --from and --to choose others.

exit codes:
  0    the page is written
  1    it could not be; stderr says why
  2    the command line was wrong

examples:
  hermes-acp inspect session.jsonl
  hermes-acp inspect session.jsonl --output report.html --force
  hermes-acp inspect long.jsonl --from 3600 --to 3660
"""


def main(argv: list[str]) -> int:
    """Run `hermes-acp inspect` with the arguments `argv`; the result is the exit code."""
    options = _parsed(argv)
    try:
        return _write_page(Path(options.file), options)
    except RequestError as problem:
        say_failed("inspect", problem.public)
        return FAILED


def _write_page(file: Path, options: argparse.Namespace) -> int:
    from acp_adapter.cli.inspect.page import to_page  # noqa: PLC0415 - not for --help
    from acp_adapter.cli.inspect.recordings import Span, read_recordings  # noqa: PLC0415 - the same

    try:
        with file.open(encoding="utf-8", errors="replace") as lines:
            recorded = read_recordings(lines)
    except OSError as problem:
        raise RequestError(f"{file} could not be read: {problem.strerror or problem}. Name a recording.") from problem
    span = Span(options.begin, options.end)
    content = whole(to_page(recorded, f"Recording {file.name}", span)).encode()
    if options.output == _STDOUT:
        sys.stdout.buffer.write(content)
        return 0
    path = Path(options.output) if options.output else file.with_suffix(".html")
    if os.path.realpath(path) == os.path.realpath(file):
        raise RequestError(f"The page would be written over the recording {file}. Choose another --output.")
    with new_file(path, force=options.force) as page:
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
    for name, where, default in (("from", "begin", -math.inf), ("to", "end", math.inf)):
        parser.add_argument(
            f"--{name}", dest=where, type=_seconds, default=default, metavar="SECONDS",
            help=f"only the messages {name} that second of a connection",
        )  # fmt: skip
    parser.add_argument("--force", action="store_true", help="replace a file that is there")
    return parser.parse_args(argv)


def _seconds(value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        seconds = math.nan
    if not math.isfinite(seconds):
        raise argparse.ArgumentTypeError(f"not a number of seconds: {value!r}")
    return seconds
