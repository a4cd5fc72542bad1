"""The mutants that mutmut makes, in the directory `mutants/`, and the tests that reach each."""

from __future__ import annotations

from pathlib import Path

from mutmut.__main__ import (
    collect_or_load_stats,
    copy_also_copy_files,
    copy_src_dir,
    create_mutants,
    get_mutant_runner,
    setup_source_paths,
)
from mutmut.mutation.data import SourceFileMutationData
from mutmut.mutation.trampoline import set_mutant_under_test
from mutmut.state import state
from mutmut.utils.file_utils import walk_mutatable_files
from mutmut.utils.format_utils import mangled_name_from_mutant_name

PLACE = Path("mutants")


def make() -> None:
    """Write the mutated files, and run the tests once to see which functions each reaches."""
    PLACE.mkdir(exist_ok=True)
    set_mutant_under_test("mutant_generation")
    copy_src_dir()
    copy_also_copy_files()
    _forget_plain_copies()
    setup_source_paths()
    create_mutants(1)
    collect_or_load_stats(get_mutant_runner(1), apply_config_invalidation=True)


def _forget_plain_copies() -> None:
    """What was only copied, since it was not mutated then, would pass for mutated, and as reached by no test."""
    new = [path for path in walk_mutatable_files() if not SourceFileMutationData(path=path).meta_path.exists()]
    for path in new:
        (PLACE / path).unlink(missing_ok=True)
    if new:
        (PLACE / "mutmut-stats.json").unlink(missing_ok=True)


def all_files() -> list[SourceFileMutationData]:
    """What is known of each mutated file, with the verdicts so far."""
    found = []
    for path in walk_mutatable_files():
        data = SourceFileMutationData(path=path)
        data.load()
        if data.exit_code_by_key:
            found.append(data)
    return sorted(found, key=lambda each: str(each.path))


def tests_of(mutant: str) -> list[str]:
    """The tests that reach a mutant's function, the quickest first."""
    reached = state().tests_by_mangled_function_name.get(mangled_name_from_mutant_name(mutant), set())
    return sorted(reached, key=lambda test: state().duration_by_test[test])


def seconds(tests: list[str]) -> float:
    """How long these tests took."""
    return sum(state().duration_by_test[test] for test in tests)
