"""How well commands are told apart, by family of the corpus in `tests/data/commands`, and what that takes."""

from __future__ import annotations

import time
from collections.abc import Iterator

from benchmarks.figures import HERMES, PERCENT, Quantity, Samples, Section
from benchmarks.stage import Stage
from tests.support import command_corpus as corpus
from tools.approval.commands import classify_command

_DANGERS = {"dangerous", "forbidden"}


def measure(stage: Stage) -> Section:  # noqa: ARG001 - nothing is started
    entries = corpus.load()
    found = [*_times(entries), *_rates(corpus.judge(entries))]
    samples = Samples()
    for quantity, value in found:
        samples.add(quantity, HERMES, value)
    return samples.section("Commands", tuple(dict.fromkeys(quantity for quantity, _ in found)))


def _rates(verdicts: list[corpus.Verdict]) -> Iterator[tuple[Quantity, float]]:
    """How many of each family are judged wrong, and of all of them, in percent."""
    for rates in corpus.by_family(verdicts):
        title = "missed" if rates.label in _DANGERS else "would ask"
        name = f"{rates.family}, {len(rates.verdicts)} {rates.label}: {title}"
        yield Quantity(name, PERCENT), _percent([one in rates.wrong for one in rates.verdicts])
    dangers = [verdict for verdict in verdicts if verdict.entry.label in _DANGERS]
    everyday = [verdict for verdict in verdicts if verdict.entry.label not in _DANGERS]
    safe = [verdict for verdict in everyday if verdict.entry.label == "safe"]
    missed = [one.is_missed for one in dangers]
    yield Quantity(f"all {len(dangers)} dangerous and forbidden: missed", PERCENT), _percent(missed)
    asking = [one.is_false_alarm for one in everyday]
    yield Quantity(f"all {len(everyday)} everyday ones with a sandbox: would ask", PERCENT), _percent(asking)
    unproven = [one.level != "safe" for one in safe]
    yield Quantity(f"{len(safe)} that only read: not proven safe", PERCENT), _percent(unproven)


def _times(entries: tuple[corpus.Entry, ...]) -> Iterator[tuple[Quantity, float]]:
    """Milliseconds that each entry takes when it is seen for the first time."""
    classify_command("true", corpus.PROJECT, (corpus.PROJECT,))  # loads the grammar
    for entry in entries:
        begun = time.perf_counter()
        classify_command(f"{entry.command}\n", corpus.PROJECT, (corpus.PROJECT,))
        yield Quantity(f"to classify a {entry.label} command"), (time.perf_counter() - begun) * 1000


def _percent(wrong: list[bool]) -> float:
    return 100 * sum(wrong) / len(wrong)
