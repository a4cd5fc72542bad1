"""Tools as a model calls them, through dispatch and gates, each beside what the bare work takes."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.figures import HERMES, RAW, Quantity, Samples, Section
from benchmarks.in_turns import Pair
from benchmarks.stage import FULL, Stage
from benchmarks.tool_calls import mapping, patch, programs, read, sandbox, search, terminal, web

_QUICK = (
    ("read_file, 1,000 lines", read.read_a_thousand_lines),
    ("read_file, 100 lines of 100,000", read.read_a_page_of_many_lines),
    ("write_file, 1,000 lines", read.write_a_thousand_lines),
    ("patch (replace) in 10,000 lines", patch.replace_in_ten_thousand_lines),
    ("patch (V4A) in 10,000 lines", patch.patch_ten_thousand_lines),
    ("patch, a miss in 30,000 lines", patch.miss_in_thirty_thousand_lines),
    ("terminal true (floor: bash -c true)", terminal.a_command),
    ("terminal true at a pseudo-terminal", terminal.a_command_at_a_terminal),
    ("terminal, 10 MB of output", terminal.ten_megabytes),
    ("a confined command (floor: free)", sandbox.a_confined_command),
    ("a command in bubblewrap (floor: free)", sandbox.a_command_in_bubblewrap),
    ("200 modes changed, judged (floor: free)", sandbox.many_modes),
    ("read_file in a program (floor: the same call)", programs.a_call_of_a_program),
    ("web_extract, a page of 50 kB (floor: GET)", web.extract_a_page),
    ("repo_map, 400 files, new (floor: parsing)", mapping.map_a_new_tree),
    ("repo_map, 400 files, known (floor: stat)", mapping.map_a_known_tree),
)
_LONG = (
    ("search without ripgrep: a word (floor: ripgrep)", search.search_content),
    ("search without ripgrep: an expression", search.search_by_expression),
    ("search without ripgrep: any case", search.search_in_any_case),
    ("search without ripgrep: names", search.search_names),
)


def measure(stage: Stage) -> Section:
    samples = Samples()
    chosen = (*_QUICK, *_LONG) if stage.repetitions is FULL else _QUICK
    taken: list[Quantity] = []
    with tempfile.TemporaryDirectory(prefix="hermes-bench-tools-") as place:
        for number, (title, measured) in enumerate(chosen):
            # The long ones share their tree.
            folder = Path(place, "long" if (title, measured) in _LONG else str(number))
            folder.mkdir(exist_ok=True)
            pair = measured(folder)
            if pair.ours:  # not where this machine has no such sandbox
                _add(samples, title, pair)
                taken.append(Quantity(title))
    return samples.section("Tools", tuple(taken))


def _add(samples: Samples, title: str, pair: Pair) -> None:
    for contender, taken in ((HERMES, pair.ours), (RAW, pair.floor)):
        for seconds in taken:
            samples.add(Quantity(title), contender, seconds * 1000)
