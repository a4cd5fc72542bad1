"""Mutants that the type checker refuses: `make lint` would, so no test has to."""

from __future__ import annotations

import json
import subprocess
import sys

from mutmut.mutation.data import MutantLineSpans, SourceFileMutationData
from mutmut.utils.format_utils import get_mutant_name

from scripts.mutation.mutants import PLACE


def refused(files: list[SourceFileMutationData]) -> set[str]:
    """The names of the mutants that have an error of types which the code as it is has not."""
    command = (sys.executable, "-m", "mypy", "--output", "json", "--no-warn-unused-ignores")
    done = subprocess.run(command, cwd=PLACE, capture_output=True, text=True, check=False)
    lines: dict[str, set[int]] = {}
    for report in map(json.loads, filter(str.strip, done.stdout.splitlines())):
        if report["severity"] == "error":
            lines.setdefault(report["file"], set()).add(report["line"])
    names: set[str] = set()
    for each in files:
        spans = MutantLineSpans.load(each.path)
        wrong = lines.get(str(each.path), set())
        for name, span in spans.span_by_function_name.items() if spans else ():
            if any(span.start <= line <= span.end for line in wrong):
                names.add(get_mutant_name(each.path, name))
    return names & {name for each in files for name in each.exit_code_by_key}
