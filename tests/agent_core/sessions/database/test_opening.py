"""What is done with what is found in the database's place."""

import contextlib
import json
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from agent_core.errors import StoreError
from agent_core.sessions.database import Database
from agent_core.sessions.schema import (
    APPLICATION_ID,
    OpenOptions,
    is_networked,
    known_migrations,
    may_be_shared,
    read_header,
)

NEWEST = known_migrations()[-1].number
OPEN_AT_ONCE = """
import sys
from pathlib import Path
from agent_core.sessions.database import Database
print("ready", flush=True)
sys.stdin.readline()
database = Database(Path(sys.argv[1]))
with database.write() as connection:
    connection.execute("INSERT INTO texts VALUES (?, 'x')", (sys.argv[2],))
database.close()
"""
IN_READ_ONLY_HOME = """
import json, os, sys
from pathlib import Path
from agent_core.errors import StoreError
from agent_core.sessions.database import Database
from agent_core.sessions.schema import known_migrations
known_migrations()
if os.geteuid() == 0:  # root may write everywhere
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
database = Database(Path(sys.argv[1]))
said = {}
try:
    with database.write() as connection:
        connection.execute("INSERT INTO texts VALUES ('new', 'x')")
except StoreError as problem:
    said["write"] = [problem.kind, str(problem)]
try:
    with database.read() as connection:
        said["read"] = connection.execute("SELECT count(*) FROM texts").fetchone()[0]
except StoreError as problem:
    said["read"] = problem.kind
print(json.dumps(said))
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "home" / "hermes-acp.db"


@contextlib.contextmanager
def opened(path, **options):
    database = Database(path, patience=1, options=OpenOptions(**options))
    try:
        yield database
    finally:
        database.close()


def put(database, name):
    with database.write() as connection:
        connection.execute("INSERT INTO texts VALUES (?, 'x')", (name,))


def stored(database):
    with database.read() as connection:
        return {row[0] for row in connection.execute("SELECT hash FROM texts")}


def refused(path):
    """What using the database raises, both ways; the files there stay byte for byte what they were."""
    before = {entry.name: (entry.read_bytes(), entry.stat().st_mtime_ns) for entry in path.parent.iterdir()}
    kinds = set()
    with opened(path) as database:
        for use in (put, lambda database, _: stored(database)):
            with pytest.raises(StoreError) as caught:
                use(database, "x")
            kinds.add(caught.value.kind)
            assert str(path) in str(caught.value)
    assert {entry.name: (entry.read_bytes(), entry.stat().st_mtime_ns) for entry in path.parent.iterdir()} == before
    (kind,) = kinds
    return kind


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_the_file_and_its_directory_are_made_for_the_user_alone(path):
    before = os.umask(0)
    try:
        with opened(path) as database:
            put(database, "a")
            found = {entry.name: mode(entry) for entry in path.parent.iterdir()}
    finally:
        os.umask(before)
    assert found == {"hermes-acp.db": 0o600, "hermes-acp.db-wal": 0o600, "hermes-acp.db-shm": 0o600}
    assert mode(path.parent) == 0o700


def test_nothing_is_made_before_the_first_use(path):
    with opened(path) as database:
        assert database.journal_mode == ""
        assert not path.parent.exists()


def test_a_new_file_says_what_it_is_without_its_log(path):
    with opened(path) as database:
        put(database, "a")
        path.with_name("hermes-acp.db-wal").unlink()
        header = read_header(path)
    assert (header.application_id, header.version, header.is_wal) == (APPLICATION_ID, NEWEST, True)


def test_opening_a_file_in_order_does_not_write_it(path):
    with opened(path) as database:
        put(database, "a")
    before = path.read_bytes()
    with opened(path) as database:
        assert stored(database) == {"a"}
    assert path.read_bytes() == before


def test_an_empty_file_is_filled(path):
    path.parent.mkdir()
    path.touch(mode=0o644)
    with opened(path) as database:
        put(database, "a")
        assert mode(path) == 0o600


def test_a_name_with_every_odd_character_works(tmp_path):
    path = tmp_path / "a b?#%41&ü\udcff" / "x?mode=memory.db"
    with opened(path) as database:
        put(database, "a")
    assert path.is_file()


def test_a_link_leads_to_the_file(tmp_path, path):
    with opened(path) as database:
        put(database, "a")
        link = tmp_path / "link.db"
        link.symlink_to(path)
        with opened(link) as other:
            put(other, "b")
        assert stored(database) == {"a", "b"}


@pytest.mark.parametrize(
    "content", [b"hello", b"# notes of somebody\n" * 500, os.urandom(8192)], ids=["short", "text", "random"]
)
def test_a_file_that_is_no_database_is_left_alone(path, content):
    path.parent.mkdir()
    path.write_bytes(content)
    assert refused(path) == "foreign"


def test_a_file_of_zeros_is_damaged(path):
    path.parent.mkdir()
    path.write_bytes(bytes(8192))
    assert refused(path) == "corrupt"


@pytest.mark.parametrize("pragma", ["user_version = 7", "application_id = 42", "journal_mode = wal"])
def test_another_programs_database_is_left_alone(path, pragma):
    path.parent.mkdir()
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute(f"PRAGMA {pragma}")
        other.execute("CREATE TABLE sessions (id)")
        other.commit()
    assert refused(path) == "foreign"


@pytest.mark.parametrize("is_in_log", [False, True])
def test_a_newer_file_is_left_alone(path, is_in_log, tmp_path):
    with opened(path) as database:
        put(database, "a")
        if is_in_log:
            with database.write() as connection:
                connection.execute(f"PRAGMA user_version = {NEWEST + 1}")
            # As a killed program leaves them: the version is in the log alone.
            other = tmp_path / "copy"
            shutil.copytree(path.parent, other)
    if is_in_log:
        path = other / path.name
        path.with_name(f"{path.name}-shm").unlink()
    else:
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.execute(f"PRAGMA user_version = {NEWEST + 1}")
    assert refused(path) == "newer"


def test_a_file_that_a_newer_program_brings_forward_meanwhile_is_not_written_any_more(path):
    with opened(path) as old:
        put(old, "a")
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as newer:
            newer.execute(f"PRAGMA user_version = {NEWEST + 1}")
        with pytest.raises(StoreError) as caught:
            put(old, "b")
        assert caught.value.kind == "newer"
        with pytest.raises(StoreError) as caught:
            stored(old)
        assert caught.value.kind == "newer"


def test_a_directory_in_its_place_is_told(path):
    path.mkdir(parents=True)
    with opened(path) as database, pytest.raises(StoreError, match="directory") as caught:
        put(database, "a")
    assert caught.value.kind == "unavailable"


def test_a_home_that_is_a_file_is_told(tmp_path):
    home = tmp_path / "home"
    home.write_text("no directory")
    with opened(home / "hermes-acp.db") as database, pytest.raises(StoreError, match="home"):
        put(database, "a")


def test_a_deleted_database_is_made_again(path):
    with opened(path) as database, opened(path) as other:
        put(database, "a")
        assert stored(other) == {"a"}
        path.unlink()  # its log and index stay, and are in use
        put(database, "b")
        assert stored(database) == {"b"}
        assert stored(other) == {"b"}
        put(other, "c")
        assert stored(database) == {"b", "c"}
    with opened(path) as database:
        assert stored(database) == {"b", "c"}


def test_a_deleted_home_is_made_again(path):
    with opened(path) as database:
        put(database, "a")
        shutil.rmtree(path.parent)
        put(database, "b")
        assert stored(database) == {"b"}


def test_a_replaced_database_is_noticed(path, tmp_path):
    with opened(tmp_path / "other.db") as other:
        put(other, "of the other")
    with opened(path) as database:
        put(database, "a")
        (tmp_path / "other.db").replace(path)
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink()
        put(database, "b")
        assert stored(database) == {"of the other", "b"}


@pytest.mark.parametrize("use", [lambda database: put(database, "b"), stored])
def test_a_file_that_is_locked_for_a_moment_is_opened_once_it_is_free(path, monkeypatch, use):
    with opened(path) as database:
        put(database, "a")
    holder = sqlite3.connect(path, isolation_level=None)
    # As a last connection that closes: nobody may look into the file.
    holder.execute("PRAGMA locking_mode = EXCLUSIVE")
    holder.execute("BEGIN IMMEDIATE")
    holder.execute("COMMIT")
    waits = []
    monkeypatch.setattr(time, "sleep", lambda seconds: (waits.append(seconds), holder.close()))
    with opened(path) as database:
        use(database)
    assert waits


def test_processes_that_start_at_once_make_one_database(path):
    command = [sys.executable, "-c", OPEN_AT_ONCE, str(path)]
    children = [
        subprocess.Popen([*command, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for name in "abcd"
    ]
    for child in children:
        assert child.stdout.readline() == "ready\n"
    for child in children:
        child.stdin.write("\n")
        child.stdin.flush()
    for child in children:
        child.communicate(timeout=30)
    assert [child.returncode for child in children] == [0, 0, 0, 0]
    with opened(path) as database:
        assert stored(database) == set("abcd")
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_where_sqlite_refuses_a_log_a_rollback_journal_is_kept_and_each_commit_is_synced(path):
    # This way to the disk has no shared memory, as some network file systems.
    with opened(path, wal=True, vfs="unix-dotfile") as database:
        put(database, "a")
        assert database.journal_mode == "delete"
        with database.write() as connection:
            assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
        assert stored(database) == {"a"}


def test_a_file_with_a_log_that_was_moved_to_a_network_disk_gives_it_up(path):
    with opened(path) as database:
        put(database, "a")
        assert database.journal_mode == "wal"
    with opened(path, wal=False) as database:
        put(database, "b")
        assert database.journal_mode == "delete"
        assert not read_header(path).is_wal
    with opened(path) as database:
        assert stored(database) == {"a", "b"}
        assert database.journal_mode == "wal"


def test_network_file_systems_are_known_by_the_mount_that_is_nearest(tmp_path):
    far = f"40 1 0:9 / {tmp_path}/with\\040space rw,relatime shared:5 - nfs4 server:/x rw\n"
    near = f"41 40 0:9 / {tmp_path}/with\\040space/near rw - ext4 /dev/x rw\n"
    mounts = f"22 1 8:1 / / rw - ext4 /dev/vda rw\nnonsense\n{far}{near}"
    assert not is_networked(tmp_path, mounts)
    assert is_networked(tmp_path / "with space", mounts)
    assert is_networked(tmp_path / "with space" / "deeper", mounts)
    assert not is_networked(tmp_path / "with spaces", mounts)
    assert not is_networked(tmp_path / "with space" / "near" / "home", mounts)
    assert not is_networked(tmp_path, "")
    assert may_be_shared(tmp_path / "with space", mounts)
    assert not may_be_shared(tmp_path, mounts)


@pytest.mark.parametrize(
    ("kind", "shared"),
    [("nfs4", True), ("cifs", True), ("9p", True), ("fuse", True), ("fuse.sshfs", True), ("fuse.unheard-of", True),
     ("fuseblk", False), ("ext4", False), ("overlay", False), ("tmpfs", False)],
)  # fmt: skip
def test_what_a_network_or_a_program_serves_may_be_used_by_other_machines(tmp_path, kind, shared):
    assert may_be_shared(tmp_path, f"22 1 8:1 / / rw - {kind} /dev/vda rw\n") is shared


def test_in_a_home_that_may_not_be_written_reading_works_and_writing_says_why():
    with tempfile.TemporaryDirectory() as directory:  # one that others may look into, too
        path = Path(directory) / "hermes-acp.db"
        with opened(path) as database:
            put(database, "a")
        path.parent.chmod(0o555)
        path.chmod(0o444)
        command = [sys.executable, "-c", IN_READ_ONLY_HOME, path]
        said = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
        path.parent.chmod(0o700)
    assert said["read"] == 1
    assert said["write"][0] == "read-only"
    assert str(path) in said["write"][1]
