"""A database on a disk without space."""

import json
import shutil
import subprocess
import sys

import pytest

from agent_core.errors import StoreError
from agent_core.sessions.database import Database

WRITE = """
def put(database, name, body):
    with database.write() as connection:
        connection.execute("INSERT INTO texts VALUES (?, ?)", (name, body))

def stored(database):
    with database.read() as connection:
        return [row[0] for row in connection.execute("SELECT hash FROM texts ORDER BY hash")]
"""
ON_A_TINY_DISK = """
import json, sys
from pathlib import Path
from agent_core.errors import StoreError
from agent_core.sessions.database import Database
{write}
home = Path(sys.argv[1])
database = Database(home / "hermes-acp.db")
put(database, "a", "x")
said = {{}}
try:
    (home / "ballast").write_bytes(b"x" * 3_000_000)
except OSError:
    pass
try:
    put(database, "big", "x" * 400_000)
except StoreError as problem:
    said = {{"kind": problem.kind, "text": str(problem), "stored": stored(database)}}
(home / "ballast").unlink()
put(database, "big", "x" * 400_000)
said["after"] = stored(database)
print(json.dumps(said))
"""
AN_EARLIER_FORMAT = """
import contextlib, json, sqlite3, sys
from pathlib import Path
from agent_core.errors import StoreError
from agent_core.sessions.database import Database
from agent_core.sessions.schema import known_migrations, migrate
{write}
path = Path(sys.argv[1]) / "hermes-acp.db"
with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
    migrate(connection, known_migrations()[:-1], 0)
    connection.execute("INSERT INTO texts VALUES ('a', ?)", ("x" * 1_200_000,))
before = path.read_bytes()
database, said = Database(path), {{}}
for use in (lambda: stored(database), lambda: put(database, "b", "x")):
    try:
        use()
    except StoreError as problem:
        said = {{"kind": problem.kind, "text": str(problem), "same": path.read_bytes() == before}}
said["files"] = sorted(entry.name for entry in path.parent.iterdir())
print(json.dumps(said))
"""
WITH_A_FILE_SIZE_LIMIT = """
import json, resource, signal, sys
from pathlib import Path
from agent_core.errors import StoreError
from agent_core.sessions.database import Database
{write}
database = Database(Path(sys.argv[1]) / "hermes-acp.db")
put(database, "a", "x")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, resource.RLIM_INFINITY))
said = {{}}
try:
    put(database, "big", "x" * 900_000)
except StoreError as problem:
    said = {{"kind": problem.kind, "text": str(problem), "stored": stored(database)}}
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
put(database, "big", "x" * 900_000)
said["after"] = stored(database)
print(json.dumps(said))
"""


def said_by(*command):
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def test_a_full_database_is_told_and_goes_on_when_there_is_space(tmp_path):
    database = Database(tmp_path / "hermes-acp.db")

    def put(name, pages):
        with database.write() as connection:
            connection.execute(f"PRAGMA max_page_count = {pages}")
            connection.execute("INSERT INTO texts VALUES (?, ?)", (name, "x" * 100_000))

    with pytest.raises(StoreError, match="Free some space") as caught:
        put("a", 1)
    assert caught.value.kind == "full"
    put("b", 100_000)
    with database.read() as connection:
        assert connection.execute("SELECT hash FROM texts").fetchall() == [("b",)]
    database.close()


def test_a_write_beyond_the_systems_limit_is_told_and_what_was_saved_stays(tmp_path):
    said = said_by(sys.executable, "-c", WITH_A_FILE_SIZE_LIMIT.format(write=WRITE), tmp_path)
    assert said["kind"] in {"unavailable", "full"}
    assert "quota" in said["text"] or "space" in said["text"]
    assert said["stored"] == ["a"]
    assert said["after"] == ["a", "big"]


def said_on_a_tiny_disk(script, tmp_path):
    unshare = shutil.which("unshare")
    mounting = f'mount -t tmpfs -o size=2m none "{tmp_path}" && '
    if unshare is None or subprocess.run([unshare, "-rm", "sh", "-c", mounting + "true"], check=False).returncode:
        pytest.skip("a small disk can be mounted on Linux only, and not in every container")
    script = script.format(write=WRITE)
    return said_by(unshare, "-rm", "sh", "-c", mounting + 'exec "$0" "$@"', sys.executable, "-c", script, tmp_path)


def test_a_file_that_there_is_no_room_to_copy_is_not_brought_forward(tmp_path):
    said = said_on_a_tiny_disk(AN_EARLIER_FORMAT, tmp_path)
    assert (said["kind"], said["same"], said["files"]) == ("full", True, ["hermes-acp.db"])
    assert "Free some space" in said["text"]
    assert "Nothing was changed" in said["text"]


def test_on_a_disk_that_is_full_it_is_told_and_what_was_saved_stays(tmp_path):
    said = said_on_a_tiny_disk(ON_A_TINY_DISK, tmp_path)
    assert said["kind"] == "full"
    assert said["stored"] == ["a"]
    assert said["after"] == ["a", "big"]
