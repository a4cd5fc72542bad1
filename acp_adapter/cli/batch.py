"""`hermes-acp batch`: many prompts in parallel processes, each a session of its own."""

from __future__ import annotations

import argparse
import contextlib
import functools
import multiprocessing
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import get_args

from acp_adapter.cli.main import (
    FAILED,
    INTERRUPTED,
    add_model_options,
    add_profile,
    command_parser,
    home_of,
    say_failed,
    seconds,
    standard_input,
    whole_number,
)
from acp_adapter.format import one_line
from agent_core.batch.batch import FINAL, RESULTS, Batch, BatchError, Item, Outcome, Results, read_items
from agent_core.batch.running import Plan, run_item
from agent_core.config import ConfigSource, Overrides
from agent_core.errors import AuthRequired, HermesError
from agent_core.providers.resolve import resolve_model
from tools.approval.policy import Mode
from tools.os_compat import SIGKILL

# The command line.

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
        "--workers",
        type=whole_number,
        default=min(4, os.cpu_count() or 1),
        metavar="N",
        help="processes (4)",
    )
    parser.add_argument("--cwd", type=Path, metavar="DIR", help="where prompts work that name no directory")
    parser.add_argument("--mode", choices=get_args(Mode), default="default", help="the permission mode")
    parser.add_argument("--timeout", type=seconds, metavar="S", help="cancel a prompt after S seconds")
    parser.add_argument("--limit", type=whole_number, metavar="N", help="begin so many at most")
    parser.add_argument("--retry-failed", action="store_true", help="run again what was not completed")
    add_model_options(parser)
    add_profile(parser, "whose settings count")
    found = parser.parse_args(argv)
    if found.cwd is not None and not found.cwd.is_dir():
        parser.error(f"--cwd: there is no directory {str(found.cwd)!r}")
    return found


_WRONG = 2


def main(argv: list[str]) -> int:
    """Run `hermes-acp batch` with the arguments `argv`; the result is the exit code."""
    options = parse_batch_arguments(argv)
    try:
        items = read_items(*_lines(options.prompts), options.cwd and options.cwd.resolve())
        plan = _plan(options, items)
        results = Results(options.out.resolve())
    except HermesError as problem:
        say_failed("batch", problem.public)
        return _WRONG
    with contextlib.closing(results):
        return _run(options, items, plan, results)


def _lines(name: str) -> tuple[list[str], str]:
    if name == "-":
        return standard_input().split("\n"), "standard input"
    try:
        # Not `splitlines`: signs that it takes for the end of a line may stand in a text of JSON.
        return Path(name).read_text(encoding="utf-8-sig").split("\n"), name
    except (OSError, UnicodeDecodeError) as problem:
        raise BatchError(f"{name} cannot be read: {problem}.") from problem


def _plan(options: argparse.Namespace, items: list[Item]) -> Plan:
    home = home_of(options)
    overrides = Overrides(options.model, options.provider, options.base_url)
    config = ConfigSource(home, overrides).load()
    if not all(item.model for item in items):
        try:
            resolve_model(config)
        except AuthRequired as problem:
            raise AuthRequired(f"{problem.public} No prompt was run.", problem.cause) from problem
    return Plan(home.root, options.out.resolve(), overrides, options.mode, options.timeout)


def _run(options: argparse.Namespace, items: list[Item], plan: Plan, results: Results) -> int:
    left, before = _left(items, results, again=options.retry_failed)
    todo = left[: options.limit]
    if before:
        print(f"{before} of {len(items)} were done before.")
    count = Counter[str]()
    show = functools.partial(_show, count=count, total=len(todo))
    context = multiprocessing.get_context("spawn")
    batch = Batch(
        results,
        functools.partial(run_item, plan=plan),
        lambda: ProcessPoolExecutor(options.workers, context, _in_worker),
        options.workers,
        on_done=show,
    )
    with _interruptible(batch) as interrupted:
        undone = batch.go(todo) + len(left) - len(todo)
    print(f"{_told(count)}; {results.directory / RESULTS} has all of them.")
    if interrupted():
        print("Interrupted. The same command goes on with what is left.")
        return INTERRUPTED
    if undone:
        print(f"{undone} are left; the same command goes on with them.")
    everything = [results.status(item.id, item.digest) for item in items]
    return 0 if all(status in {"completed", ""} for status in everything) else FAILED


def _left(items: list[Item], results: Results, *, again: bool) -> tuple[list[Item], int]:
    """What is to run, and how many are not."""
    done = {"completed"} if again else FINAL
    left = [item for item in items if results.status(item.id, item.digest) not in done]
    return left, len(items) - len(left)


def _show(outcome: Outcome, count: Counter[str], total: int) -> None:
    count[outcome.status] += 1
    width = len(str(total))
    parts = [f"[{count.total():>{width}}/{total}] {outcome.id}: {outcome.status.replace('_', ' ')}"]
    if outcome.stop_reason not in {"", "end_turn", "cancelled"}:
        parts.append(outcome.stop_reason)
    parts.append(f"{outcome.seconds:.1f} s")
    if outcome.cost is not None:
        parts.append(f"${outcome.cost:.4f}")
    print(", ".join(parts), flush=True)
    if outcome.error:
        print(f"    {one_line(outcome.error)}", flush=True)


def _told(count: Counter[str]) -> str:
    if not count:
        return "Nothing was left to do"
    return ", ".join(f"{number} {status.replace('_', ' ')}" for status, number in count.most_common())


def _in_worker() -> None:
    """A worker waits for its next item: Ctrl-C is its parent's, and that of the item that runs.

    It does not outlive its parent: nobody would take what it does, and the next batch does the same items again.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), name="end of the batch", daemon=True).start()


def _end_with(parent: BaseProcess) -> None:
    parent.join()
    # As if it had been killed, too: its commands end with it (the guardian sees to that).
    os._exit(INTERRUPTED)


@contextlib.contextmanager
def _interruptible(batch: Batch) -> Iterator[Callable[[], bool]]:
    """Ctrl-C once cancels what runs and begins nothing more, twice kills it."""
    times = 0

    def interrupt(_number: int, _frame: object) -> None:
        nonlocal times
        times += 1
        batch.stop()
        for child in multiprocessing.active_children():
            if child.pid is not None:
                os.kill(child.pid, signal.SIGINT if times == 1 else SIGKILL)

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield lambda: times > 0
    finally:
        signal.signal(signal.SIGINT, before)
