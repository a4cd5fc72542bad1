"""Taking turns back, with the files that they changed, and bringing them again."""

from __future__ import annotations

import os

import pytest

from agent_core.errors import RequestError, UnknownSession
from agent_core.messages import assistant_message, injected_message, user_message
from agent_core.sessions.checkpoints.undo_plan import FileOutcome
from tests.support.file_bench import SESSION


def hidden(bench):
    return [row[0] for row in bench.rows("SELECT hidden FROM messages ORDER BY id")]


def test_an_edited_a_new_a_deleted_and_a_moved_file_are_as_before_after_undo_and_as_after_after_redo(bench):
    for name in ("edited", "deleted", "moved"):
        bench.path(name).write_bytes(name.encode())
    before = bench.snapshot()
    bench.begin()
    bench.write("edited", b"other")
    bench.write("new", b"new")
    bench.remove("deleted")
    bench.rename("moved", "deep/er/target")
    after = bench.snapshot()

    report = bench.undo()
    assert bench.snapshot() == before
    assert {(outcome.path.name, outcome.action) for outcome in report.done} == {
        ("edited", "restore"),
        ("new", "delete"),
        ("deleted", "create"),
        ("moved", "create"),
        ("target", "delete"),
    }
    assert (report.kind, report.turns, report.kept, report.failed, report.trouble) == ("undo", (1,), (), (), "")

    assert bench.redo().kind == "redo"
    assert bench.snapshot() == after


@pytest.mark.parametrize("content", [b"", b"\0\1\2" * 1000, b"caf\xe9 latin\r\n", b"x" * 300_000])
def test_content_is_brought_back_byte_for_byte(bench, content):
    path = bench.path("file")
    path.write_bytes(content)
    bench.begin()
    bench.write("file", b"other")
    bench.undo()
    assert path.read_bytes() == content


@pytest.mark.parametrize("name", [b"caf\xe9", "ä b\n'\"".encode(), b"bytes:x", b"\xff\xfe/\xfd"])
def test_names_that_are_no_text_are_brought_back(bench, name):
    bench.begin()
    bench.write(name, b"one")
    bench.begin()
    bench.remove(name)
    bench.undo()
    assert bench.path(name).read_bytes() == b"one"
    bench.undo()
    assert bench.snapshot() == {}
    bench.redo()
    bench.redo()
    assert bench.snapshot() == {}


def test_several_edits_of_one_file_are_one_step_back(bench):
    bench.path("file").write_bytes(b"0")
    bench.begin()
    for content in (b"1", b"2", b"3"):
        bench.write("file", content)
    assert len(bench.rewinder.plan(SESSION).steps) == 1
    bench.undo()
    assert bench.path("file").read_bytes() == b"0"


def test_a_file_that_was_new_and_is_gone_again_needs_nothing(bench):
    bench.begin()
    bench.write("file", b"1")
    bench.remove("file")
    assert bench.rewinder.plan(SESSION).steps == ()


def test_a_scripts_mode_comes_back_with_it(bench):
    script = bench.path("run.sh")
    script.write_bytes(b"#!/bin/sh\n")
    script.chmod(0o755)
    before = bench.snapshot()
    bench.begin()
    bench.remove("run.sh")
    bench.undo()
    assert bench.snapshot() == before


def test_another_mode_alone_is_taken_back_and_told(bench):
    script = bench.path("run.sh")
    script.write_bytes(b"#!/bin/sh\n")
    script.chmod(0o644)
    bench.begin()
    bench.run("chmod 755 run.sh")
    (step,) = bench.rewinder.plan(SESSION).steps
    assert (step.action, step.state, step.preview) == ("chmod", "clean", "permissions 0755 → 0644")
    bench.undo()
    assert script.stat().st_mode & 0o777 == 0o644
    bench.redo()
    assert script.stat().st_mode & 0o777 == 0o755


def test_a_removed_link_comes_back_as_a_link(bench):
    bench.path("file").write_bytes(b"content")
    bench.path("link").symlink_to("file")
    before = bench.snapshot()
    bench.begin()
    bench.remove("link")
    assert bench.path("file").exists()
    bench.undo()
    assert bench.snapshot() == before
    bench.redo()
    assert not os.path.lexists(bench.path("link"))


def test_directories_that_the_turn_made_go_with_their_last_file(bench):
    bench.path("old").mkdir()
    bench.begin()
    bench.write("a/b/c", b"1")
    bench.write("old/file", b"1")
    bench.undo()
    assert not bench.path("a").exists()
    assert bench.path("old").is_dir()
    bench.redo()
    assert bench.path("a/b/c").read_bytes() == b"1"
    bench.undo()
    assert not bench.path("a").exists()


def test_a_directory_with_someone_elses_file_stays(bench):
    bench.begin()
    bench.write("a/b/c", b"1")
    bench.path("a/mine").write_bytes(b"mine")
    bench.undo()
    assert [path.name for path in bench.path("a").iterdir()] == ["mine"]


def test_files_of_a_directory_that_is_gone_come_back_with_it(bench):
    bench.path("a/b").mkdir(parents=True)
    bench.path("a/b/c").write_bytes(b"1")
    bench.begin()
    bench.remove("a/b/c")
    bench.path("a/b").rmdir()
    bench.path("a").rmdir()
    bench.undo()
    assert bench.path("a/b/c").read_bytes() == b"1"
    bench.redo()
    assert not bench.path("a").exists()  # the undo had made it


def test_a_file_whose_place_became_a_directory_of_the_turn_comes_back(bench):
    bench.path("a").write_bytes(b"file")
    before = bench.snapshot()
    bench.begin()
    bench.remove("a")
    bench.write("a/b", b"1")
    after = bench.snapshot()
    bench.undo()
    assert bench.snapshot() == before
    bench.redo()
    assert bench.snapshot() == after


def test_a_directory_whose_place_became_a_file_of_the_turn_comes_back(bench):
    bench.path("a").mkdir()
    bench.path("a/b").write_bytes(b"1")
    before = bench.snapshot()
    bench.begin()
    bench.remove("a/b")
    bench.path("a").rmdir()
    bench.write("a", b"file")
    bench.undo()
    assert bench.snapshot() == before


def test_undo_undo_redo_redo_goes_through_every_state_in_order(bench):
    states = [bench.snapshot()]
    for number in range(3):
        bench.begin()
        bench.write("file", b"%d" % number)
        bench.write(f"file{number}", b"1")
        states.append(bench.snapshot())
    for state in reversed(states[:-1]):
        bench.undo()
        assert bench.snapshot() == state
    with pytest.raises(RequestError, match="nothing to undo"):
        bench.undo()
    for state in states[1:]:
        bench.redo()
        assert bench.snapshot() == state
    with pytest.raises(RequestError, match="nothing to redo"):
        bench.redo()


def test_several_turns_at_once_go_and_come_back_together(bench):
    before = bench.snapshot()
    for number in range(4):
        bench.begin(f"prompt {number}")
        bench.write("file", b"%d" % number)
    after = bench.snapshot()
    plan = bench.rewinder.plan(SESSION, 99)
    assert [turn.prompt for turn in plan.turns] == ["prompt 3", "prompt 2", "prompt 1", "prompt 0"]
    bench.rewinder.apply(plan, lambda step: False)
    assert bench.snapshot() == before
    assert bench.rewinder.plan_redo(SESSION).numbers == (4, 3, 2, 1)
    bench.redo()
    assert bench.snapshot() == after


def test_a_redo_brings_back_only_the_turns_of_its_own_undo(bench):
    for _ in range(3):
        bench.begin()
    bench.undo()
    bench.begin()
    bench.undo(2)  # 4 and 2: 3 is gone already
    assert bench.redo().turns == (4, 2)
    assert bench.rows("SELECT number FROM turns WHERE undone = 0 ORDER BY number") == [(1,), (2,), (4,)]


def test_the_turns_messages_leave_the_history_and_come_back_withdrawn_ones_still_withdrawn(bench):
    bench.begin()
    bench.begin()
    bench.say(user_message("refused"), "withdrawn")
    with bench.database.write() as connection:  # what is withdrawn are a turn's first messages
        connection.execute("UPDATE messages SET hidden = 'withdrawn' WHERE turn = 2")
    bench.say(assistant_message("later"))
    before = hidden(bench)
    assert before == ["", "", "withdrawn", "withdrawn", "withdrawn", ""]
    assert bench.undo().messages_left == 2
    assert hidden(bench) == ["", "", "undone", "undone", "undone", "undone"]
    bench.undo()
    assert set(hidden(bench)) == {"undone"}
    bench.redo()
    assert bench.redo().messages_left == 3
    assert hidden(bench) == before
    assert bench.rows("SELECT undone FROM turns") == [(0,), (0,)]


def test_a_redo_is_not_possible_once_a_turn_has_begun(bench):
    bench.begin()
    bench.undo()
    bench.begin()
    with pytest.raises(RequestError, match="has gone on"):
        bench.rewinder.plan_redo(SESSION)


def test_an_undo_after_that_can_be_redone(bench):
    bench.begin()
    bench.undo()
    bench.begin()
    bench.undo()
    assert bench.redo().turns == (2,)
    with pytest.raises(RequestError, match="has gone on"):
        bench.redo()


def test_a_plan_changes_nothing_and_shows_what_would_change(bench):
    bench.path("text").write_text("one\ntwo\nthree\n")
    bench.path("binary").write_bytes(b"\0" * 10)
    bench.begin("\n  Please do it.  \nmore")
    bench.write("text", b"one\n2\nthree\n")
    bench.write("binary", b"\0" * 7)
    bench.write("new", b"12345")
    before = bench.snapshot()
    plan = bench.rewinder.plan(SESSION)
    assert bench.snapshot() == before
    assert [turn.prompt for turn in plan.turns] == ["Please do it."]
    steps = {step.path.name: step for step in plan.steps}
    assert "-2\n+two" in steps["text"].preview
    assert steps["binary"].preview == "7 bytes → 10 bytes"
    assert (steps["binary"].size_now, steps["binary"].size_then) == (7, 10)
    assert (steps["new"].action, steps["new"].preview) == ("delete", "is deleted (5 bytes)")
    assert (steps["new"].size_now, steps["new"].size_then) == (5, None)


def test_previews_of_many_files_stay_within_bounds(bench):
    for number in range(60):
        bench.path(f"f{number}").write_text("".join(f"line {line} of {number}\n" for line in range(200)))
    bench.begin()
    for number in range(60):
        bench.write(f"f{number}", b"".join(b"other %d\n" % line for line in range(200)))
    plan = bench.rewinder.plan(SESSION)
    assert len(plan.steps) == 60
    assert sum(len(step.preview) for step in plan.steps) < 110_000
    assert all(step.preview for step in plan.steps)


def test_the_prompt_of_a_turn_is_what_the_person_wrote(bench):
    bench.begin(None)
    bench.say(injected_message("go on"))
    bench.say(user_message([{"type": "text", "text": "ä" * 500}]))
    (turn,) = bench.rewinder.plan(SESSION).turns
    assert turn.prompt == "ä" * 199 + "…"


def test_a_turn_whose_messages_are_damaged_can_be_taken_back(bench):
    bench.begin()
    with bench.database.write() as connection:
        connection.execute("UPDATE messages SET body = x'00'")
    assert bench.rewinder.plan(SESSION).turns[0].prompt == ""
    assert bench.undo().trouble == ""


def test_a_plan_that_is_out_of_date_is_refused_before_anything_is_changed(bench):
    bench.begin()
    bench.write("file", b"1")
    plan = bench.rewinder.plan(SESSION)
    bench.begin()
    with pytest.raises(RequestError, match="has changed since"):
        bench.rewinder.apply(plan, lambda step: True)
    assert bench.path("file").exists()
    bench.undo()
    redo = bench.rewinder.plan_redo(SESSION)
    bench.undo()
    with pytest.raises(RequestError, match="has changed since"):
        bench.rewinder.apply(redo, lambda step: True)


@pytest.mark.parametrize("turns", [0, -1])
def test_a_number_of_turns_must_be_one(bench, turns):
    bench.begin()
    with pytest.raises(RequestError, match="1 or more"):
        bench.rewinder.plan(SESSION, turns)


def test_an_unknown_session_is_told(bench):
    for plan in (bench.rewinder.plan, bench.rewinder.plan_redo):
        with pytest.raises(UnknownSession):
            plan("nobody")


def test_a_session_without_turns_has_nothing_to_take_back(bench):
    with pytest.raises(RequestError, match="nothing to undo"):
        bench.rewinder.plan(SESSION)
    with pytest.raises(RequestError, match="nothing of this session was taken back"):
        bench.rewinder.plan_redo(SESSION)


def test_what_a_command_overwrote_moved_and_deleted_comes_back(bench):
    for name in ("over", "gone", "from", "unnamed"):
        bench.path(name).write_bytes(name.encode())
    before = bench.snapshot()
    bench.begin()
    bench.run("echo x > over; rm gone; mv from to; python3 -c \"open('unnamed','w').write('y'); open('made','w')\"")
    after = bench.snapshot()
    assert set(after) != set(before)
    report = bench.undo()
    assert bench.snapshot() == before
    assert report.failed == ()
    bench.redo()
    assert bench.snapshot() == after


def test_tools_and_commands_in_turn_on_one_file_are_taken_back_together(bench):
    bench.path("file").write_bytes(b"0")
    bench.begin()
    bench.write("file", b"1")
    bench.run("echo 2 > file")
    bench.write("file", b"3")
    bench.begin()
    bench.run("rm file")
    (step,) = bench.rewinder.plan(SESSION, 2).steps
    assert (step.state, step.trail.by_command) == ("clean", True)
    bench.undo(2)
    assert bench.path("file").read_bytes() == b"0"


def test_the_report_of_a_repeated_look_names_files_that_are_as_they_are_to_be(bench):
    bench.begin()
    path = bench.write("file", b"1")
    path.unlink()
    assert bench.undo().already == (FileOutcome(path, "nothing"),)
