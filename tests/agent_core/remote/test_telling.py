"""How amounts of a workspace are told."""

from agent_core.remote.select import much
from tests.support.each import each


@each(
    "files, size, told",
    [
        (1, 0, "1 file of 0 kB"),
        (2, 6, "2 files of 1 kB"),
        (2_483, 12_600_000, "2,483 files of 12 MB"),
    ],
)
def test_a_few_bytes_are_no_megabyte(files: int, size: int, told: str) -> None:
    assert much(files, size) == told
