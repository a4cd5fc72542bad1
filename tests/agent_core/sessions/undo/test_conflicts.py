"""What someone else has changed since is never overwritten unless the person says so."""

from __future__ import annotations

import hashlib
import os

import pytest

from agent_core.cancel import CancelToken
from agent_core.errors import StoreError
from agent_core.sessions.checkpoints.file_states import PRUNED
from agent_core.sessions.checkpoints.undo import Rewinder
from agent_core.sessions.checkpoints.versions import VersionLimits
from tests.support.file_bench import SESSION, FileBench
from tests.support.tool_context import ScriptedApprover
from tools.approval.gate import Approvals, Gate
from tools.approval.policy import Rules
from tools.environments.gated_ports import GatedFileSystem
from tools.environments.local_files import LocalFileSystem
from tools.errors import FileChanged


class Asked(list):
    """Answers each question, and remembers it."""

    def __init__(self, answer=True, then=lambda: None):
        super().__init__()
        self._answer, self._then = answer, then

    def __call__(self, step):
        self.append(step)
        self._then()
        return self._answer


def only_step(bench):
    (step,) = bench.rewinder.plan(SESSION).steps
    return step


def edited_by_the_person(bench):
    bench.path("file").write_bytes(b"mine")


def replaced_by_a_link(bench):
    bench.path("file").unlink()
    bench.path("file").symlink_to("elsewhere")


def made_executable(bench):
    bench.path("file").chmod(0o755)


def deleted(bench):
    bench.path("file").unlink()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (edited_by_the_person, "someone else has changed it since"),
        (replaced_by_a_link, "someone else has put a link in its place since"),
        (made_executable, "someone else has changed its permissions since"),
        (deleted, "someone else has deleted it since"),
    ],
)
def test_a_file_that_was_changed_since_is_asked_about_and_kept_or_overwritten(bench, change, reason):
    bench.path("file").write_bytes(b"before")
    bench.path("elsewhere").write_bytes(b"elsewhere")
    before = bench.snapshot()
    bench.begin()
    bench.write("file", b"after")
    change(bench)
    changed = bench.snapshot()
    step = only_step(bench)
    assert (step.state, step.reason) == ("conflict", reason)

    asked = Asked(False)
    report = bench.undo(overwrite=asked)
    assert [step.reason for step in asked] == [reason]
    assert bench.snapshot() == changed
    assert [(one.path.name, one.reason) for one in report.kept] == [("file", reason)]
    assert report.trouble == ""
    bench.redo()

    assert bench.undo(overwrite=Asked(True)).kept == ()
    assert bench.snapshot() == before
    bench.redo()
    assert bench.snapshot() == changed


def test_a_new_file_that_was_changed_since_is_not_deleted(bench):
    bench.begin()
    bench.write("file", b"1")
    bench.path("file").write_bytes(b"mine")
    bench.undo(overwrite=Asked(False))
    assert bench.path("file").read_bytes() == b"mine"


def test_a_deleted_file_that_was_made_again_is_not_overwritten(bench):
    bench.path("file").write_bytes(b"before")
    bench.begin()
    bench.remove("file")
    bench.path("file").write_bytes(b"mine")
    assert only_step(bench).reason == "someone else has made it again since"
    bench.undo(overwrite=Asked(False))
    assert bench.path("file").read_bytes() == b"mine"


def test_someone_elses_change_between_the_sessions_own_is_noticed(bench):
    bench.path("file").write_bytes(b"before")
    bench.begin()
    bench.write("file", b"1")
    bench.path("file").write_bytes(b"mine")
    bench.write("file", b"mine and 2")
    assert only_step(bench).reason == "someone else has changed it between the session's own changes"
    asked = Asked(False)
    bench.undo(overwrite=asked)
    assert len(asked) == 1
    assert bench.path("file").read_bytes() == b"mine and 2"


def test_a_change_that_was_noted_and_did_not_happen_is_no_conflict(bench):
    bench.path("file").write_bytes(b"before")
    bench.begin()
    bench.history().writing(bench.path("file"), b"before", b"refused by the disk")
    bench.write("file", b"between")
    bench.history().writing(bench.path("file"), b"between", b"refused again")
    bench.write("file", b"after")
    bench.undo()
    assert bench.path("file").read_bytes() == b"before"


@pytest.mark.parametrize(
    "change",
    [
        lambda files, path: files.write(path, b"new", expected=None),
        lambda files, path: files.write(path, b"after", expected=b"before"),
        lambda files, path: files.remove(path, expected=b"before"),
        lambda files, path: files.rename(path.with_name("other"), path),
    ],
    ids=["new", "write", "remove", "move"],
)
def test_what_was_not_changed_since_someone_else_had_changed_it_is_not_asked_about(bench, change):
    bench.path("other").write_bytes(b"other")
    bench.begin()
    approvals = Approvals(Rules(roots=(bench.work,)), "accept_edits", ScriptedApprover("reject_once"))
    gate = Gate(approvals, "c", CancelToken(), lambda _: None, history=bench.history)
    files = GatedFileSystem(LocalFileSystem(), gate)
    bench.path("file").write_bytes(b"mine")
    with pytest.raises(FileChanged):
        change(files, bench.path("file"))
    assert bench.rows("SELECT path FROM file_versions") == []
    bench.undo()
    assert (bench.path("file").read_bytes(), bench.path("other").read_bytes()) == (b"mine", b"other")


def test_a_change_that_the_person_took_back_themselves_is_no_conflict(bench):
    bench.path("file").write_bytes(b"before")
    bench.begin()
    for content in (b"1", b"2"):
        bench.write("file", content)
    bench.path("file").write_bytes(b"before")
    bench.write("file", b"3")
    bench.undo()
    assert bench.path("file").read_bytes() == b"before"


def test_nothing_is_written_through_a_directory_that_leads_elsewhere_now(bench):
    bench.path("dir").mkdir()
    bench.path("dir/file").write_bytes(b"before")
    bench.begin()
    bench.write("dir/file", b"after")
    bench.path("dir").rename(bench.path("moved"))
    bench.path("dir").symlink_to("moved")
    assert "its directory is a link now, and leads to" in only_step(bench).reason
    report = bench.undo(overwrite=Asked(True))
    assert [outcome.path.name for outcome in report.failed] == ["file"]
    assert bench.path("moved/file").read_bytes() == b"after"


def test_a_directory_in_a_files_place_is_never_removed_with_something_in_it(bench):
    bench.path("file").write_bytes(b"before")
    bench.begin()
    bench.write("file", b"after")
    bench.path("file").unlink()
    bench.path("file").mkdir()
    bench.path("file/mine").write_bytes(b"mine")
    assert (only_step(bench).state, only_step(bench).reason) == ("lost", "there is a directory at its path now")
    (failed,) = bench.undo().failed
    assert failed.reason == "there is a directory at its path now"
    assert bench.path("file/mine").read_bytes() == b"mine"


def test_a_file_in_a_directorys_place_is_never_removed(bench):
    bench.path("dir").mkdir()
    bench.path("dir/file").write_bytes(b"before")
    bench.begin()
    bench.remove("dir/file")
    bench.path("dir").rmdir()
    bench.path("dir").write_bytes(b"mine")
    (failed,) = bench.undo().failed
    assert failed.reason == "one of its directories is a file now"
    assert bench.path("dir").read_bytes() == b"mine"


def test_a_pipe_in_a_files_place_is_left_alone_and_does_not_hang(bench):
    bench.begin()
    bench.write("file", b"after")
    bench.path("file").unlink()
    os.mkfifo(bench.path("file"))
    assert [one.reason for one in bench.undo().failed] == ["it is a device, a pipe or a socket"]


def test_an_answer_counts_for_the_content_it_was_given_about(bench):
    bench.path("file").write_bytes(b"before")
    bench.begin()
    bench.write("file", b"after")
    bench.path("file").write_bytes(b"mine")
    contents = iter([b"mine 2", b"mine 2", b"mine 2"])
    asked = Asked(True, lambda: bench.path("file").write_bytes(next(contents)))
    bench.undo(overwrite=asked)
    assert len(asked) == 2  # the second time about what was written while the first question was open
    assert bench.path("file").read_bytes() == b"before"
    bench.redo()
    assert bench.path("file").read_bytes() == b"mine 2"


def test_a_file_that_changes_without_end_is_given_up(bench):
    bench.path("file").write_bytes(b"before")
    bench.begin()
    bench.write("file", b"after")
    bench.path("file").write_bytes(b"mine")
    asked = Asked(True, lambda: bench.path("file").write_bytes(b"mine %d" % len(asked)))
    (failed,) = bench.undo(overwrite=asked).failed
    assert "keeps changing" in failed.reason
    assert bench.path("file").read_bytes().startswith(b"mine")


def test_a_redo_does_not_overwrite_what_was_changed_after_the_undo(bench):
    bench.path("file").write_bytes(b"before")
    bench.begin()
    bench.write("file", b"after")
    bench.undo()
    bench.path("file").write_bytes(b"mine")
    report = bench.redo(overwrite=Asked(False))
    assert [one.path.name for one in report.kept] == ["file"]
    assert bench.path("file").read_bytes() == b"mine"


def test_content_that_was_pruned_is_told_and_the_other_files_come_back(bench):
    for name in ("a", "b"):
        bench.path(name).write_bytes(name.encode())
    bench.begin()
    for name in ("a", "b"):
        bench.write(name, b"after")
    with bench.database.write() as connection:
        connection.execute("UPDATE file_versions SET lost = ? WHERE path LIKE '%/a'", (PRUNED,))
    states = {step.path.name: (step.state, step.reason) for step in bench.rewinder.plan(SESSION).steps}
    assert states["a"] == ("lost", "what it was has been deleted meanwhile, to save space")
    report = bench.undo()
    assert ([one.path.name for one in report.done], [one.path.name for one in report.failed]) == (["b"], ["a"])
    assert bench.path("a").read_bytes() == b"after"


def test_content_that_is_missing_or_damaged_is_told_in_the_plan(bench):
    for name in ("a", "b"):
        bench.path(name).write_bytes(name.encode())
    bench.begin()
    for name in ("a", "b"):
        bench.write(name, b"after")
    first, second = (bench.blobs.root / file.hash[:2] / file.hash[2:] for file in bench.blobs.files())
    first.unlink()
    second.write_bytes(b"\0rubbish")
    assert {step.state for step in bench.rewinder.plan(SESSION).steps} == {"lost"}
    assert len(bench.undo().failed) == 2


def test_what_is_too_large_to_keep_is_asked_about_before_it_is_deleted(bench):
    bench.begin()
    path = bench.write("file", b"x" * 2000)
    rewinder = Rewinder(bench.database, bench.blobs, max_file_bytes=1000)
    (step,) = rewinder.plan(SESSION).steps
    assert "too large (2,000 bytes) to keep a copy of" in step.reason
    assert rewinder.apply(rewinder.plan(SESSION), Asked(False)).kept
    assert path.exists()
    rewinder.apply(rewinder.plan_redo(SESSION), Asked(False))
    (done,) = rewinder.apply(rewinder.plan(SESSION), Asked(True)).done
    assert "what was there is not kept: too large" in done.reason
    assert not path.exists()
    assert [step.state for step in rewinder.plan_redo(SESSION).steps] == ["lost"]


def test_a_large_file_that_was_moved_does_not_vanish(tmp_path):
    bench = FileBench(tmp_path, VersionLimits(max_file_bytes=1000))
    bench.path("file").write_bytes(b"x" * 2000)
    bench.begin()
    bench.rename("file", "target")
    assert {step.state for step in bench.rewinder.plan(SESSION).steps} == {"lost"}
    bench.undo(overwrite=Asked(True))
    assert bench.path("target").stat().st_size == 2000
    bench.database.close()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_file_that_may_not_be_written_fails_alone(bench):
    bench.path("locked").mkdir()
    bench.path("locked/file").write_bytes(b"before")
    bench.path("file").write_bytes(b"before")
    bench.begin()
    bench.remove("locked/file")
    bench.write("file", b"after")
    bench.path("locked").chmod(0o500)
    report = bench.undo()
    bench.path("locked").chmod(0o700)
    assert [one.path.name for one in report.done] == ["file"]
    assert "Permission denied" in report.failed[0].reason


def test_a_file_is_not_touched_where_its_present_content_cannot_be_kept(bench):
    bench.path("file").write_bytes(b"before")
    bench.begin()
    bench.write("file", b"after")
    folder = bench.blobs.root / hashlib.sha256(b"after").hexdigest()[:2]
    folder.write_bytes(b"a file where the directory should be")
    (failed,) = bench.undo().failed
    assert "Could not keep what a file was in" in failed.reason
    assert bench.path("file").read_bytes() == b"after"


def test_a_conversation_that_cannot_be_rewound_is_told_and_the_files_truthfully(bench):
    bench.path("file").write_bytes(b"before")
    bench.begin()
    bench.write("file", b"after")
    plan = bench.rewinder.plan(SESSION)
    bench.path("file").write_bytes(b"mine")
    report = bench.rewinder.apply(plan, Asked(True, bench.begin))  # a turn begins while the question is open
    assert "The conversation is not rewound, but the files are" in report.trouble
    assert report.messages_left is None
    assert [one.path.name for one in report.done] == ["file"]
    assert bench.rows("SELECT undone FROM turns") == [(0,), (0,)]


def test_a_database_that_cannot_be_written_stops_it_before_anything_is_changed(bench):
    bench.begin()
    bench.write("file", b"after")
    plan = bench.rewinder.plan(SESSION)
    with bench.database.write() as connection:
        connection.execute("CREATE TRIGGER broken BEFORE INSERT ON rewinds BEGIN SELECT RAISE(ABORT, 'no'); END")
    with pytest.raises(StoreError):
        bench.rewinder.apply(plan, Asked())
    assert bench.path("file").exists()


def test_many_files_come_back(bench):
    for number in range(100):
        bench.path(f"f{number}").write_bytes(b"line\n" * number)
    before = bench.snapshot()
    bench.begin()
    for number in range(100):
        bench.write(f"f{number}", b"other\n" * number)
    bench.undo()
    assert bench.snapshot() == before
