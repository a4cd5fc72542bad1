"""A turn that edited code without a check that passed is told so once, before it ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_core.callbacks import AgentCallbacks
from agent_core.verification import forbids_checks, is_code
from tests.support.agents import assert_well_formed, in_background, injected, make_agent
from tests.support.each import each
from tests.support.scripted_provider import Hold, says, uses


def writes(path="app.py", content="x = 1\n", call_id="w"):
    return uses((call_id, "write_file", {"path": path, "content": content}))


def runs(command, call_id="r"):
    return uses((call_id, "terminal", {"command": command}))


def test_code_that_was_not_checked_brings_one_nudge_and_then_the_turn_ends(tmp_path):
    agent = make_agent(tmp_path, writes(), says("Done."), says("There is nothing to run here."))
    result = agent.run_conversation("write it")
    (nudge,) = injected(result)
    assert "app.py" in nudge
    assert (result["final_response"], result["stop_reason"]) == ("There is nothing to run here.", "end_turn")
    assert_well_formed(result["messages"])


def test_each_turn_has_its_own_nudge(tmp_path):
    agent = make_agent(tmp_path, writes(), says("one"), says("two"), writes("b.py"), says("three"), says("four"))
    agent.chat("write it")
    assert len(injected(agent.run_conversation("and another"))) == 2


def test_an_edit_after_the_nudge_brings_no_other(tmp_path):
    agent = make_agent(tmp_path, writes(), says("Done."), writes("b.py"), says("Mended."))
    assert agent.chat("write it") == "Mended."


def test_a_check_after_the_edit_that_passes_is_enough(tmp_path, guardian):
    agent = make_agent(tmp_path, writes(), runs("python app.py"), says("Done."), guardian=guardian)
    assert injected(agent.run_conversation("write it")) == []


@pytest.mark.parametrize(
    ("command", "how"),
    [
        ("python app.py; exit 3", "it ended with exit code 3"),
        ("python app.py; echo '1 failed, 2 passed in 0.10s'", "its output says `1 failed, 2 passed in 0.10s`"),
    ],
)
def test_a_check_after_the_edit_that_fails_brings_one_nudge_that_says_how(tmp_path, guardian, command, how):
    scripts = writes(), runs(command), says("All done."), says("It fails still.")
    agent = make_agent(tmp_path, *scripts, guardian=guardian)
    result = agent.run_conversation("write it")
    (nudge,) = injected(result)
    assert f"The last check failed: `{command}` ({how})" in nudge
    assert result["final_response"] == "It fails still."


def test_code_that_was_changed_since_the_check_failed_is_named_in_the_nudge(tmp_path, guardian):
    scripts = writes(), runs("python app.py; false"), writes("b.py"), says("Done."), says("No need.")
    (nudge,) = injected(make_agent(tmp_path, *scripts, guardian=guardian).run_conversation("write it"))
    assert "You changed b.py since and have not run it again." in nudge


def test_a_check_that_passes_after_one_that_failed_ends_the_matter(tmp_path, guardian):
    scripts = writes(), runs("python app.py; false"), runs("python app.py"), says("Done.")
    assert injected(make_agent(tmp_path, *scripts, guardian=guardian).run_conversation("write it")) == []


def test_a_failing_check_that_was_only_to_be_run_brings_no_nudge(tmp_path, guardian):
    agent = make_agent(tmp_path, runs("python -c 1; python x.py"), says("It fails."), guardian=guardian)
    assert injected(agent.run_conversation("run x.py")) == []


def test_a_failing_check_that_the_answer_explains_brings_no_nudge(tmp_path, guardian):
    scripts = writes(), runs("python app.py; false"), says("Done. One test fails; it is unrelated to this change.")
    assert injected(make_agent(tmp_path, *scripts, guardian=guardian).run_conversation("write it")) == []


def test_a_check_before_the_edit_is_none(tmp_path, guardian):
    agent = make_agent(tmp_path, runs("python -c 1"), writes(), says("Done."), says("No need."), guardian=guardian)
    assert len(injected(agent.run_conversation("write it"))) == 1


@pytest.mark.parametrize("command", ["ls", "cat app.py"])
def test_a_command_that_only_looks_is_no_check(tmp_path, guardian, command):
    agent = make_agent(tmp_path, writes(), runs(command), says("Done."), says("No need."), guardian=guardian)
    assert len(injected(agent.run_conversation("write it"))) == 1


@pytest.mark.parametrize("path", ["notes.md", "data.json", "LICENSE"])
def test_prose_and_data_need_no_check(tmp_path, path):
    assert injected(make_agent(tmp_path, writes(path, "{}\n"), says("Done.")).run_conversation("go")) == []


def test_an_edit_that_failed_or_left_the_file_as_it_was_needs_none(tmp_path):
    (tmp_path / "app.py").write_text("x = 1\n")
    same = uses(("p", "patch", {"path": "app.py", "old_string": "x = 2", "new_string": "x = 3"}))
    assert injected(make_agent(tmp_path, same, says("No such line.")).run_conversation("go")) == []


@pytest.mark.parametrize(
    ("options", "prompt", "mode"),
    [
        ({"verify_on_stop": False}, "write it", "dont_ask"),
        ({"disabled_toolsets": ("terminal",)}, "write it", "dont_ask"),
        ({"max_iterations": 4}, "write it", "dont_ask"),
        ({}, "Write it, but do not run anything.", "dont_ask"),
    ],
)
def test_where_it_is_not_wanted_or_not_possible_there_is_none(tmp_path, options, prompt, mode):
    agent = make_agent(tmp_path, writes(), says("Done."), mode=mode, **options)
    assert injected(agent.run_conversation(prompt)) == []


def test_the_nudge_needs_as_many_requests_as_a_check_takes(tmp_path):
    agent = make_agent(tmp_path, writes(), says("Done."), says("No need."), max_iterations=5)
    assert len(injected(agent.run_conversation("write it"))) == 1


def test_words_that_come_meanwhile_are_in_the_same_message_and_not_lost(tmp_path):
    hold, last = Hold(), says("Done.")
    agent = make_agent(tmp_path, writes(), [*last[:-1], hold, last[-1]], says("As you say."))
    turn = in_background(lambda: agent.run_conversation("write it"))
    assert hold.reached.wait(5)
    assert agent.steer("leave the tests alone")
    hold.release()
    messages = turn.result(5)["messages"]
    assert_well_formed(messages)
    assert messages[-2]["content"].startswith("leave the tests alone\n\n[Not from the user. You changed code")
    assert "injected" not in messages[-2]


def test_the_person_sees_that_the_model_was_asked(tmp_path):
    noted: list[str] = []
    callbacks = AgentCallbacks(thinking_callback=noted.append)
    make_agent(tmp_path, writes(), says("Done."), says("No need."), callbacks=callbacks).chat("write it")
    assert noted == ["Code was changed and not checked: the model is asked to check it."]


@each(
    "words",
    [
        "Fix it, don't run the tests", "do not run anything", "Do NOT execute commands",
        "without running the tests please",
        "no tests needed", "never build it", "skip the tests", "no need to verify it", "don’t test it",
    ],
)  # fmt: skip
def test_words_that_ask_not_to_run_anything_are_understood(words):
    assert forbids_checks(words)


@pytest.mark.parametrize(
    "words", ["run the tests", "fix the failing test", "It does not work. Run it.", "write tests, nothing else"]
)
def test_other_words_are_not(words):
    assert not forbids_checks(words)


@each(
    ("name", "counts"),
    [
        ("a.py", True),
        ("A.TS", True),
        ("Makefile", True),
        ("Dockerfile", True),
        ("a.md", False),
        ("a.txt", False),
        ("a", False),
    ],
)
def test_what_counts_as_code(name, counts):
    assert is_code(Path(name)) is counts
