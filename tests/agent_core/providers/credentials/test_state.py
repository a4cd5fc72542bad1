"""What pools remember, in one file for all processes."""

from __future__ import annotations

import json
import stat
import time
from collections import Counter
from dataclasses import replace

import pytest

from agent_core.providers.credentials import (
    FILE_NAME,
    KEPT,
    CredentialPool,
    KeyRecord,
    PoolState,
    ProviderRecord,
    credential_for,
)
from tests.agent_core.providers.credentials.conftest import NOW

A, B = credential_for("key-a"), credential_for("key-b")
REQUESTS = """
import sys
from pathlib import Path
from agent_core.providers.credentials import CredentialPool
from agent_core.providers.credentials import PoolState

path, strategy, times = sys.argv[1:]
state = PoolState(Path(path), lock_timeout=30)
pool = CredentialPool("openai", ["key-a", "key-b", "key-c"], strategy, state)
for _ in range(int(times)):
    credential = pool.take()
    print(credential.key)
"""
HOLD = """
import sys
from pathlib import Path
from agent_core.providers.shared_file import SharedFile

with SharedFile(Path(sys.argv[1]), durable=False).locked(30):
    print("held", flush=True)
    sys.stdin.readline()
"""
FAIL = """
import sys
from pathlib import Path
from agent_core.providers.credentials import credential_for
from agent_core.providers.credentials import CredentialPool
from agent_core.providers.credentials import PoolState

pool = CredentialPool("openai", ["key-a", "key-b"], "fill_first", PoolState(Path(sys.argv[1])))
pool.failed(credential_for("key-a"), "rate_limit")
"""


@pytest.fixture
def path(home):
    return home / FILE_NAME


def state_in(path) -> PoolState:
    return PoolState(path, lambda: NOW)


def rests(until: float = NOW + 60, touched: float = NOW):
    def change(record: ProviderRecord) -> ProviderRecord:
        key = KeyRecord(until=until, failed_at=NOW, reason="rate_limit", touched=touched)
        return record.with_key(A.id, replace(key, uses=record.key(A.id).uses + 1))

    return change


def stored(path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


def test_what_one_state_writes_another_one_reads(path):
    first, second = state_in(path), state_in(path)
    assert second.read("openai") == ProviderRecord()
    first.update("openai", rests())
    assert second.read("openai").key(A.id).until == NOW + 60
    assert second.read("groq") == ProviderRecord()
    second.update("openai", rests())
    assert first.read("openai").key(A.id).uses == 2


def test_a_key_that_failed_in_one_process_rests_in_another(path, other):
    pool = CredentialPool("openai", [A.key, B.key], "fill_first", PoolState(path))
    assert pool.take() == A
    other(FAIL, path).result()
    assert pool.take() == B


def test_processes_that_count_at_once_lose_no_count(path, other):
    processes = [other(REQUESTS, path, "least_used", 20) for _ in range(2)]
    for process in processes:
        process.result()
    assert sum(key["uses"] for key in stored(path)["providers"]["openai"]["keys"].values()) == 40


def test_processes_that_take_in_turn_get_every_key_equally_often(path, other):
    processes = [other(REQUESTS, path, "round_robin", 15) for _ in range(2)]
    taken = [key for process in processes for key in process.result().split()]
    assert Counter(taken) == {"key-a": 10, "key-b": 10, "key-c": 10}


def test_the_file_is_for_its_owner_alone_and_so_is_its_lock(path):
    state_in(path).update("openai", rests())
    for file in (path, path.with_name(f"{FILE_NAME}.lock")):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_lock_that_is_not_to_be_had_leaves_the_pool_to_memory_with_one_line_in_the_log(path, other, caplog):
    seconds = [0.0]
    state = PoolState(path, lambda: NOW, lambda: seconds[0], lock_timeout=0.05)
    holder = other(HOLD, path)
    assert holder.line() == "held"

    state.update("openai", rests())
    state.update("groq", rests())
    assert state.read("openai").key(A.id).until == NOW + 60
    assert not path.exists()
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "another process holds" in caplog.text

    seconds[0] = 61
    state.update("openai", rests())
    assert len(caplog.records) == 1

    holder.go_on()
    holder.result()
    state.update("openai", rests())
    assert not path.exists()  # a lock that was stuck is not waited for again at once

    seconds[0] = 122
    state.update("openai", rests())
    providers = stored(path)["providers"]
    assert providers["openai"]["keys"][A.id]["uses"] == 4
    assert providers["groq"]["keys"][A.id]["uses"] == 1
    state_in(path).update("openai", rests())
    assert state.read("openai").key(A.id).uses == 5


def test_what_others_wrote_meanwhile_and_what_memory_holds_become_one(path):
    blocked = path.parent / "blocked"
    blocked.write_text("a file where a directory should be")
    seconds = [0.0]
    state = PoolState(blocked / FILE_NAME, lambda: NOW, lambda: seconds[0])
    ours = KeyRecord(uses=1, touched=NOW)
    state.update("openai", lambda record: record.with_key(A.id, ours).with_key(B.id, ours))
    assert state.read("openai").key(A.id).uses == 1

    blocked.unlink()
    older, newer = KeyRecord(uses=7, touched=NOW - 5), KeyRecord(uses=7, touched=NOW + 5)
    state_in(blocked / FILE_NAME).update("openai", lambda record: record.with_key(A.id, older).with_key(B.id, newer))
    assert state.read("openai").key(A.id).uses == 1
    assert state.read("openai").key(B.id).uses == 7
    seconds[0] = 120
    state.update("groq", rests())
    keys = stored(blocked / FILE_NAME)["providers"]["openai"]["keys"]
    assert (keys[A.id]["uses"], keys[B.id]["uses"]) == (1, 7)


def test_without_a_file_everything_is_in_memory():
    state = PoolState()
    state.update("openai", rests())
    assert state.read("openai").key(A.id).until == NOW + 60


def test_the_state_of_a_home_is_in_its_file(home, path):
    PoolState(home / FILE_NAME).update("openai", lambda record: record.with_key(A.id, KeyRecord(touched=time.time())))
    assert state_in(path).read("openai").keys


def test_a_change_that_changes_nothing_is_not_written(path):
    state_in(path).update("openai", lambda record: record)
    assert not path.exists()


def test_keys_that_nobody_used_for_a_week_are_forgotten(path):
    week_ago = NOW - KEPT - 1
    state = PoolState(path, lambda: NOW)
    state.update("old", rests(until=week_ago, touched=week_ago))
    state.update("resting", rests(until=NOW + 9, touched=week_ago))
    state.update("new", rests(until=0, touched=NOW))
    assert set(stored(path)["providers"]) == {"resting", "new"}


def test_fields_that_this_version_does_not_know_are_kept(path):
    state = state_in(path)
    state.update("openai", rests())
    content = stored(path)
    content["colour"] = "blue"
    content["providers"]["openai"]["shape"] = "round"
    content["providers"]["openai"]["keys"][A.id]["size"] = 3
    content["providers"]["later"] = ["something else"]
    path.write_text(json.dumps(content), encoding="utf-8")
    state.update("openai", rests())
    after = stored(path)
    assert after["colour"] == "blue"
    assert after["providers"]["openai"]["shape"] == "round"
    assert after["providers"]["openai"]["keys"][A.id]["size"] == 3
    assert after["providers"]["openai"]["keys"][A.id]["uses"] == 2
    assert after["providers"]["later"] == ["something else"]


def test_a_file_of_a_newer_version_is_neither_read_nor_written(path):
    newer = json.dumps({"version": 2, "providers": {"openai": {"last": A.id, "keys": {}}}})
    path.write_text(newer, encoding="utf-8")
    state = state_in(path)
    state.update("openai", rests())
    assert state.read("openai").last == ""
    assert state.read("openai").key(A.id).until == NOW + 60
    assert path.read_text(encoding="utf-8") == newer


@pytest.mark.parametrize(
    "entry",
    [
        None,
        7,
        {"keys": []},
        {"last": 3, "keys": {A.id: None}},
        {"keys": {A.id: {"uses": "many", "until": 1e999, "failed_at": None, "touched": 10**400}}},
        {"keys": {A.id: {"uses": -3, "until": True}}},
    ],
)
def test_values_of_the_wrong_kind_count_as_not_there(path, entry):
    path.write_text(json.dumps({"version": 1, "providers": {"openai": entry}}), encoding="utf-8")
    state = state_in(path)
    assert state.read("openai").key(A.id) == KeyRecord()
    assert state.read("openai").last == ""
    state.update("openai", rests())
    assert state_in(path).read("openai").key(A.id).uses == 1
