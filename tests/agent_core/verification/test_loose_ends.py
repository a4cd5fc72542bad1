"""A turn that would leave its plan open, or a step only announced, is told so once before it ends."""

from __future__ import annotations

import pytest

from agent_core.callbacks import AgentCallbacks
from agent_core.verification import announced_step, asks_person, explains_failure
from tests.support.agents import injected, make_agent
from tests.support.each import each
from tests.support.scripted_provider import says, uses
from tests.support.tool_context import ScriptedApprover

PLAN = [{"id": "1", "content": "Write the parser", "status": "in_progress"}, {"id": "2", "content": "Document it"}]
PLANS = uses(("t", "todo", {"todos": PLAN}))
CLOSES = uses(("t", "todo", {"todos": [{**item, "status": "completed"} for item in PLAN]}))
READS = uses(("r", "read_file", {"path": "notes.md"}))


@pytest.fixture
def agent(tmp_path):
    (tmp_path / "notes.md").write_text("Notes.\n")
    return lambda *scripts, **options: make_agent(tmp_path, *scripts, **options)


def test_an_open_plan_brings_one_nudge_that_names_its_items_and_then_the_turn_ends(agent):
    noted: list[str] = []
    made = agent(PLANS, says("Done."), says("Done!"), callbacks=AgentCallbacks(thinking_callback=noted.append))
    result = made.run_conversation("write it")
    (nudge,) = injected(result)
    assert "Your plan has open items: “Write the parser”; “Document it”." in nudge
    assert (result["final_response"], result["stop_reason"]) == ("Done!", "end_turn")
    assert noted == ["The plan has open items: the model is asked to finish them."]


def test_a_plan_whose_items_are_completed_or_cancelled_brings_no_nudge(agent):
    assert injected(agent(PLANS, CLOSES, says("Done.")).run_conversation("write it")) == []


def test_an_open_plan_of_an_earlier_turn_brings_no_nudge(agent):
    made = agent(PLANS, says("One."), says("Two."), uses(("a", "todo", {})), READS, says("It says: Notes."))
    made.chat("write it")
    assert len(injected(made.run_conversation("what do the notes say?"))) == 1, "only that of the first turn"


def test_an_announced_step_without_a_call_brings_one_nudge_that_quotes_it(agent):
    made = agent(READS, says("The notes are short. Now I'll run the tests."), says("Let me run the tests:"))
    result = made.run_conversation("go")
    (nudge,) = injected(result)
    assert "Your message ends with “Now I'll run the tests.”, but it calls no tool" in nudge
    assert result["final_response"] == "Let me run the tests:"


def test_an_announced_step_with_an_open_plan_is_one_nudge_that_says_both(agent):
    (nudge,) = injected(agent(PLANS, says("Let me start."), CLOSES, says("Done.")).run_conversation("go"))
    assert "open items" in nudge
    assert "“Let me start.”" in nudge


def test_a_question_of_the_models_ends_the_turn_without_a_nudge(agent):
    assert injected(agent(PLANS, says("This is the plan. Shall I go on?")).run_conversation("plan it")) == []


@pytest.mark.parametrize("options", [{"mode": "plan"}, {"max_iterations": 4}, {"verify_on_stop": False}])
def test_in_plan_mode_without_budget_or_where_it_is_switched_off_there_is_no_nudge(agent, options):
    assert injected(agent(PLANS, says("Let me run it."), **options).run_conversation("go")) == []


def test_after_a_refusal_in_the_turn_there_is_no_nudge(agent):
    writes = uses(("w", "write_file", {"path": "a.py", "content": "x = 1\n"}))
    person = ScriptedApprover("reject_once")
    made = agent(PLANS, writes, says("Let me try it."), mode="default", approver=person)
    assert injected(made.run_conversation("go")) == []
    assert len(person.asked) == 1


ANNOUNCE = [
    "Now I'll run the tests.", "Let me check the file:", "I found the bug. Let me fix it now.",
    "I'll look at the code.",
    "Next, I'll update the documentation.", "Great! Now let me write the tests:", "I will now implement the parser.",
    "The import is missing.\n\nLet me add it.", "**Now I'll update the config.**", "Okay, let's run the build.",
    "I'm going to search for usages.", "First, let me explore the repository structure.",
    "Let me start by reading it…",
    "Here's my analysis:\n- a\n- b\n\nNow I will create the file", "Good. Next I'll refactor `parse()`.",
    "I’ll fix the failing test.", "Now running the tests…", "Running the test suite now.",
    "So I'll first inspect it.",
    "Then let me verify that it works.", "The edit is in. Now, let me re-run pytest:",
]  # fmt: skip
END = [
    "- Now creating a duplicate returns 409", "Now writing to a closed file raises ValueError.",
    "Running `make test` is green now.", "Let me start with the answer: 42", "Let's see how it goes.",
    "Next, updating docs is left for a follow-up", "I'm going to look forward to the review.",
    "Done.", "All tests pass.", "I've fixed the bug and run the tests.", "Let me know if you need anything else.",
    "I'll run the tests once you have installed the dependency.", "If you like, I'll update the docs as well.",
    "I will not change that file.", "You can now run the tests.", "To start it, run `make run`.", "Shall I run them?",
    "Let me know what to check.", "I'll check again when the build has finished.", "From now on I'll use tabs.",
    "Understood, I'll keep it short.", "Let me explain: the loop ends too early.", "I ran the tests. They pass now.",
    "I'll leave the rest to you.", "I would run the tests next.", "Next steps: run the tests, then deploy.",
    "Ich werde jetzt die Tests ausführen.", "Je vais maintenant lancer les tests.", "现在我来运行测试。",
    "Run it like this:\n```sh\nlet me run\n```", "Now you'll see the new page.", "Let me run it. It passed.",
    "I'll never delete that.", "The function now checks its input.", "Let's recap: two files changed.",
    "The script says “Let me check the file” and stops.", "Remember to run the tests.", "I'll be here.",
    "Now it works.", "I could also add a test.", "The next release will remove it.", "I'll wait for the build.",
    "Please review the change.", "I won't run it, as you asked.", "Next, you should update the lock file.",
]  # fmt: skip


@each("text", ANNOUNCE)
def test_a_final_sentence_that_announces_a_step_is_one(text):
    assert announced_step(text)
    assert not asks_person(text)


@each("text", END)
def test_a_final_sentence_that_announces_none_is_left_alone(text):
    assert not announced_step(text)


@each(
    ("text", "asks"),
    [
        ("Which database do you use?", True),
        ("I can do A or B. Which one do you prefer? Both are quick.", True),
        ("Please confirm that I may delete it.", True),
        ("Let me know how to go on.", True),
        ("Waiting for your approval.", True),
        ("If you want, I can add a test.", True),
        ("Why did it fail? The path was wrong. It is fixed. All tests pass.", False),
        ("Done.", False),
        ("I ran `SELECT ? FROM t`.", False),
    ],
)
def test_a_text_that_ends_with_a_question_to_the_person_asks(text, asks):
    assert asks_person(text) is asks


@each(
    ("text", "explains"),
    [
        ("test_net fails because there is no network.", True),
        ("One test still fails; it failed before my change as well.", True),
        ("The lint error is pre-existing.", True),
        ("The new test fails, as expected: the bug is not fixed yet.", True),
        ("The tests could not be run: pytest is not installed.", True),
        ("All tests pass.", False),
        ("Done. I fixed the error handling.", False),
        ("The test still fails.", False),
    ],
)
def test_a_failure_is_explained_where_the_text_says_why_it_stays(text, explains):
    assert explains_failure(text) is explains
