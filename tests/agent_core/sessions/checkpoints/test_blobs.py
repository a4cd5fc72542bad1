"""Contents of files, by their hash."""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import sys
import threading
import time

import pytest

from agent_core.errors import StoreError
from agent_core.sessions.checkpoints.blobs import BlobStore

TEXT = b"the same line\n" * 1000
NOISE = random.Random(1).randbytes(100_000)


@pytest.fixture
def blobs(tmp_path):
    return BlobStore(tmp_path / "home" / "blobs")


def place(blobs, name):
    return blobs.root / name[:2] / name[2:]


@pytest.mark.parametrize("content", [b"", b"\0", TEXT, NOISE, TEXT + NOISE, b"\1\2\3"])
def test_content_comes_back_by_its_hash(blobs, content):
    name = blobs.put(content)
    assert name == hashlib.sha256(content).hexdigest()
    assert blobs.get(name) == content
    assert blobs.has(name)


def test_nobody_else_can_read_them(blobs):
    path = place(blobs, blobs.put(TEXT))
    assert [path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777] == [0o600, 0o700]
    assert blobs.root.stat().st_mode & 0o777 == 0o700


def test_known_content_that_is_old_becomes_young_again(blobs):
    path = place(blobs, blobs.put(TEXT))
    os.utime(path, (1.0, 1.0))
    blobs.put(TEXT)
    assert path.stat().st_mtime > time.time() - 60


@pytest.mark.parametrize("damage", [b"", b"\1rubbish", b"\0other", b"\7x"])
def test_damaged_content_is_told_and_never_given_out(blobs, damage):
    name = blobs.put(TEXT)
    place(blobs, name).write_bytes(damage)
    with pytest.raises(StoreError, match="damaged") as caught:
        blobs.get(name)
    assert caught.value.kind == "corrupt"


def test_an_empty_file_left_by_a_power_cut_is_written_again(blobs):
    name = blobs.put(TEXT)
    place(blobs, name).write_bytes(b"")
    blobs.put(TEXT)
    assert blobs.get(name) == TEXT


def test_missing_content_is_an_error_that_says_so(blobs):
    with pytest.raises(StoreError, match="missing"):
        blobs.get("0" * 64)
    assert not blobs.has("0" * 64)


@pytest.mark.parametrize("name", ["", "?", "../../etc/passwd", "0" * 63, "0" * 63 + "G"])
def test_what_is_no_hash_reaches_no_file(blobs, name):
    with pytest.raises(StoreError, match="not the hash"):
        blobs.get(name)


def test_leftovers_are_dropped_once_they_are_old(blobs):
    leftover = place(blobs, blobs.put(b"a")).with_name("x.tmp")
    leftover.write_bytes(b"half")
    blobs.drop_leftovers(before=time.time() - 60)
    assert leftover.exists()
    blobs.drop_leftovers(before=time.time() + 60)
    assert not leftover.exists()


def test_a_store_without_a_directory_is_empty(blobs):
    assert list(blobs.files()) == []


def test_threads_that_keep_the_same_content_do_not_get_in_each_others_way(blobs):
    contents = [bytes([number]) * 50_000 for number in range(20)]
    problems = []

    def keep():
        try:
            for content in contents:
                assert blobs.get(blobs.put(content)) == content
        except (StoreError, AssertionError, OSError) as problem:
            problems.append(problem)

    threads = [threading.Thread(target=keep) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
    assert len(list(blobs.files())) == 20
    assert not list(blobs.root.rglob("*.tmp"))


def test_a_disk_that_takes_no_more_is_told_and_leaves_nothing_half_written(blobs, tmp_path):
    program = f"""
import sys; sys.path[:0] = {sys.path!r}
import pathlib, random, resource, signal
from agent_core.errors import StoreError
from agent_core.sessions.checkpoints.blobs import BlobStore
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
try:
    BlobStore(pathlib.Path({str(blobs.root)!r})).put(random.Random(1).randbytes(100_000))
except StoreError as problem:
    print(problem.kind, problem)
"""
    done = subprocess.run([sys.executable, "-B", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("full Could not keep what a file was in ")
    assert [path for path in blobs.root.rglob("*") if path.is_file()] == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_home_that_may_not_be_written_is_told(blobs):
    blobs.root.mkdir(parents=True)
    blobs.root.chmod(0o500)
    with pytest.raises(StoreError) as caught:
        blobs.put(TEXT)
    assert caught.value.kind == "read-only"
