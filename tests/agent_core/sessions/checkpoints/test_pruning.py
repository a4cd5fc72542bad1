"""Earlier versions stay within bounds; the oldest turns lose theirs first."""

from __future__ import annotations

import os
import random
import time

import pytest

from agent_core.errors import StoreError
from agent_core.sessions.checkpoints.blobs import BlobStore
from agent_core.sessions.checkpoints.file_states import sha256
from agent_core.sessions.checkpoints.versions import FileVersions, VersionLimits
from tests.support.file_bench import SESSION

DAY = 86_400


def age(bench, seconds=2 * 3600):
    """As if every content had been kept that long ago."""
    then = time.time() - seconds
    for path in bench.blobs.root.glob("??/*"):
        os.utime(path, (then, then))


def edit(bench, number, size=1000):
    """A turn that changes a file of `size` bytes that cannot be packed; its content before."""
    content = random.Random(number).randbytes(size)
    bench.path(f"f{number}").write_bytes(content)
    bench.begin()
    bench.write(f"f{number}", b"after")
    return content


def lost(bench):
    return [row[0] for row in bench.rows("SELECT lost FROM file_versions ORDER BY id")]


def prune(bench, **limits):
    return FileVersions(bench.database, bench.blobs, bench.store.note, VersionLimits(**limits)).prune()


def test_within_the_limits_nothing_is_dropped(bench):
    contents = [edit(bench, number) for number in range(3)]
    age(bench)
    assert prune(bench) == 0
    assert [bench.blobs.get(sha256(content)) for content in contents] == contents


def test_the_oldest_turns_lose_their_content_first(bench):
    contents = [edit(bench, number) for number in range(5)]
    age(bench)
    assert prune(bench, max_total_bytes=3100) == 2
    assert lost(bench) == ["pruned", "pruned", "", "", ""]
    assert [bench.blobs.has(sha256(content)) for content in contents] == [False, False, True, True, True]
    assert bench.undo(3).failed == ()
    assert len(bench.undo(2).failed) == 2


def test_content_that_a_newer_turn_needs_as_well_stays(bench):
    content = edit(bench, 1)
    edit(bench, 2)
    bench.path("again").write_bytes(content)
    bench.begin()
    bench.write("again", b"after")
    age(bench)
    prune(bench, max_total_bytes=1500)
    assert lost(bench) == ["pruned", "pruned", ""]
    assert bench.blobs.has(sha256(content))


def test_a_turn_loses_all_of_its_content_or_none(bench):
    for number in (1, 2):
        bench.path(f"f{number}").write_bytes(random.Random(number).randbytes(1000))
    bench.begin()
    bench.write("f1", b"after")
    bench.write("f2", b"after")
    edit(bench, 3)
    age(bench)
    prune(bench, max_total_bytes=2500)
    assert lost(bench) == ["pruned", "pruned", ""]


def test_content_that_is_too_old_is_dropped(bench):
    edit(bench, 1)
    bench.now += 20 * DAY
    edit(bench, 2)
    bench.now += 80 * DAY
    age(bench)
    assert prune(bench) == 1
    assert lost(bench) == ["pruned", ""]


def test_content_that_nothing_refers_to_is_dropped_once_it_is_an_hour_old(bench):
    name = bench.blobs.put(b"of a deleted session")
    assert prune(bench) == 0
    age(bench, 3500)
    assert prune(bench) == 0
    age(bench, 3700)
    assert prune(bench) == 1
    assert not bench.blobs.has(name)


def test_content_that_was_just_used_again_is_not_dropped(bench):
    edit(bench, 1)
    age(bench)
    with bench.database.write() as connection:
        connection.execute("DELETE FROM file_versions")
    bench.blobs.put(random.Random(1).randbytes(1000))
    assert prune(bench) == 0


class Unlucky(BlobStore):
    """Another process drops what was put, once, right after it was found to be there."""

    dropped = False

    def put(self, content):
        name = super().put(content)
        if not self.dropped:
            self.dropped = True
            self.drop(name)
        return name


def test_content_dropped_between_keeping_and_noting_is_kept_again(bench):
    blobs = Unlucky(bench.blobs.root)
    bench.begin()
    history = FileVersions(bench.database, blobs, bench.store.note).for_call(SESSION, "t1", "c", ())
    history.writing(bench.path("file"), b"before", b"after")
    assert blobs.dropped
    assert blobs.get(sha256(b"before")) == b"before"


def test_many_contents_are_dropped_in_small_transactions(bench):
    for number in range(250):
        bench.blobs.put(b"%d" % number)
    age(bench)
    assert prune(bench) == 250


def test_a_home_without_contents_has_nothing_to_drop(bench):
    assert prune(bench) == 0


def test_a_directory_that_cannot_be_read_is_told(bench):
    bench.home.mkdir(exist_ok=True)
    bench.blobs.root.write_bytes(b"")
    with pytest.raises(StoreError, match="could not be cleaned up"):
        prune(bench)


def test_what_an_undo_kept_counts_as_well(bench):
    edit(bench, 1)
    bench.undo()
    bench.begin()
    age(bench)
    prune(bench, max_total_bytes=0)
    assert bench.rows("SELECT DISTINCT lost FROM file_versions WHERE session_id = ?", SESSION) == [("pruned",)]
    assert list(bench.blobs.files()) == []
