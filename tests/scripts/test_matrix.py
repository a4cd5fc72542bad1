"""The table of Pythons and packages says what became of each run."""

from scripts.matrix import PACKAGES, PYTHONS, Outcome, log_of, place_of, summary_of, table


def test_each_outcome_is_a_row():
    told = table(
        [
            Outcome("3.11", "lowest", 0, "2 passed in 1.00s"),
            Outcome("3.14", "locked", None, "not here"),
            Outcome("3.12", "newest", 1, "1 failed in 2.00s"),
        ]
    )
    assert told.splitlines()[2:] == [
        "| 3.11 | lowest | passed: 2 passed in 1.00s |",
        "| 3.14 | locked | —: not here |",
        "| 3.12 | newest | FAILED (1): 1 failed in 2.00s |",
    ]


def test_the_summary_is_pytests_last_line():
    assert summary_of("....\n2 failed, 3 passed in 4.20s\nnoise\n") == "2 failed, 3 passed in 4.20s"
    assert summary_of("1 failed, 2 errors in 683.79s (0:11:23)") == "1 failed, 2 errors in 683.79s (0:11:23)"
    assert summary_of("killed") == "ended without a summary"


def test_each_run_has_an_environment_and_a_log_of_its_own():
    runs = [(version, packages) for version in PYTHONS for packages in PACKAGES]
    kept = {place_of(*each) for each in runs} | {log_of(*each) for each in runs}
    assert len(kept) == 2 * len(runs)
