"""The command line of `hermes-acp batch`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from acp_adapter.cli.command_line import add_model_options, add_profile, command_parser, seconds
from tools.approval.policy import Mode

_EPILOG = """\
PROMPTS.jsonl has a JSON object a line: {"id": "a", "prompt": "…", "cwd": "…", "model": "provider:model"}; only the
prompt is needed, and whatever else stands there comes back with the result. - reads standard input.

DIR gets results.jsonl (a line for each prompt that is done), completed.jsonl and failed.jsonl (the runs, to train
with), and work/ID/ for prompts without a directory. The same command again goes on where it was left.

Nobody is asked anything: what the mode would ask about is refused.

exit codes:
  0    every prompt was completed
  1    some were not; results.jsonl says why
  2    the command line, the prompts or DIR cannot be used; nothing was begun
  130  Ctrl-C: what ran was cancelled, and is run again the next time; twice kills it

examples:
  hermes-acp batch prompts.jsonl --out runs --workers 4
  hermes-acp batch prompts.jsonl --out runs --retry-failed
"""


def parse_batch_arguments(argv: Sequence[str]) -> argparse.Namespace:
    """Read the command line; wrong usage exits with 2."""
    parser = command_parser("batch", "Run many prompts, each in a session of its own, side by side.", _EPILOG)
    parser.add_argument("prompts", metavar="PROMPTS.jsonl", help="the prompts; - is standard input")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="where the results go")
    parser.add_argument(
        "--workers", type=_count, default=min(4, os.cpu_count() or 1), metavar="N", help="processes (default: 4)"
    )
    parser.add_argument("--cwd", type=Path, metavar="DIR", help="where prompts work that name no directory")
    parser.add_argument("--mode", choices=get_args(Mode), default="default", help="the permission mode")
    parser.add_argument("--timeout", type=seconds, metavar="S", help="cancel a prompt after S seconds")
    parser.add_argument("--limit", type=_count, metavar="N", help="begin so many at most")
    parser.add_argument("--retry-failed", action="store_true", help="run again what was not completed")
    add_model_options(parser)
    add_profile(parser, "whose settings count")
    found = parser.parse_args(argv)
    if found.cwd is not None and not found.cwd.is_dir():
        parser.error(f"--cwd: there is no directory {str(found.cwd)!r}")
    return found


def _count(value: str) -> int:
    count = int(value) if value.isdecimal() and len(value) < 10 else 0  # noqa: PLR2004 - longer is no count
    if count < 1:
        raise argparse.ArgumentTypeError(f"not a count of one or more: {value!r}")
    return count
