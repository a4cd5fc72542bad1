"""Sub-agents on copies: what they change comes back as edits that are asked about, or is kept for the person."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace

import pytest

from agent_core.delegation.settings import DelegationSettings
from agent_core.notifications import NewsBox
from agent_core.settings.sections import DelegationPart
from agent_core.workspace import local_workspace
from tests.support.agents import Ears
from tests.support.delegating import copies_left, delegates, delegating_agent, told
from tools.approval.actions import RunCommand
from tools.approval.questions import Answer


class Person:
    """Says yes, unless told otherwise; `asked` are the paths."""

    def __init__(self):
        self.asked, self.refuses, self.before = [], set(), lambda path: None

    def ask(self, question, interrupt):
        if isinstance(question.action, RunCommand):
            return Answer(allowed=True)
        self.asked.append((question.asker, question.action.path.name))
        self.before(question.action.path)
        return Answer(allowed=question.action.path.name not in self.refuses)


@pytest.fixture
def project(tmp_path):
    top = tmp_path / "project"
    top.mkdir()
    (top / "a.txt").write_text("one\ntwo\n")
    (top / "b.txt").write_text("b\n")
    for arguments in (
        ("init", "-q"), ("add", "."), ("-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-qm", "1")
    ):  # fmt: skip
        subprocess.run(["git", *arguments], cwd=top, check=True)
    return top


@pytest.fixture
def person():
    return Person()


@pytest.fixture
def agent(project, tmp_path, person):
    def at_copy(workspace, roots):
        made = local_workspace(roots[0])
        rules = replace(workspace.approvals.rules, roots=made.approvals.rules.roots)
        return replace(made, approvals=workspace.approvals.for_another("", rules=rules))

    part = DelegationPart(max_spawn_depth=2)
    settings = DelegationSettings(part, workspace_at=at_copy, copies=tmp_path / "copies")
    return delegating_agent(project, mode="default", approver=person, delegation=settings)


def command_in(text):
    return next(part for part in text.split("`") if part.startswith("git -C"))


def _copies(tmp_path):
    return copies_left(tmp_path / "copies")


def test_changes_are_brought_back_as_edits_of_the_call_that_delegates(agent, project, tmp_path, person):
    ears = Ears()
    agent.workspace.approvals.mode = "accept_edits"
    goal = "edit a.txt two => 2\nwrite new.txt n\nsay changed"
    report = told(agent.run_conversation(delegates(goal, isolated=True), callbacks=ears.callbacks())["messages"])
    assert (project / "a.txt").read_text() == "one\n2\n"
    assert (project / "new.txt").read_text() == "n"
    assert report["status"] == "done"
    assert sorted(report["files_changed"]) == sorted(report["brought_back"]) == ["a.txt", "new.txt"]
    assert "not_brought_back" not in report
    shown = {diff.path.name: (diff.before, diff.after) for diff in ears.finished("offline_1").result.shown[1:]}
    assert shown == {"a.txt": ("one\ntwo\n", "one\n2\n"), "new.txt": (None, "n")}
    assert _copies(tmp_path) == []


def test_each_is_asked_about_in_the_copy_and_again_when_it_comes_back(agent, project, person):
    seen = []
    person.before = lambda path: seen.append((path.name, path.is_relative_to(project)))
    agent.run_conversation(delegates("write new.txt n", isolated=True))
    assert seen == [("new.txt", False), ("new.txt", True)]
    assert person.asked == [("Agent 1", "new.txt"), ("", "new.txt")]


def test_the_persons_tree_is_as_it_was_until_then(agent, project, person):
    seen = []
    person.before = lambda path: seen.append((project / "new.txt").exists())
    agent.run_conversation(delegates("write new.txt n\nread new.txt", isolated=True))
    assert seen == [False, False]


def test_what_is_refused_stays_away_and_the_copy_goes(agent, project, tmp_path, person):
    agent.workspace.approvals.mode = "default"

    def refuse(path):
        if path.is_relative_to(project):
            person.refuses.add(path.name)

    person.before = refuse
    report = told(agent.run_conversation(delegates("write new.txt n", isolated=True))["messages"])
    assert not (project / "new.txt").exists()
    assert report["brought_back"] == []
    assert "new.txt was refused" in report["not_brought_back"]
    assert _copies(tmp_path) == []


def test_a_conflict_is_told_and_the_copy_is_kept(agent, project, tmp_path, person):
    def meanwhile(path):
        if not path.is_relative_to(project):
            (project / "a.txt").write_text("the person was here\n")

    person.before = meanwhile
    goal = "edit a.txt two => 2\nwrite new.txt n"
    report = told(agent.run_conversation(delegates(goal, isolated=True))["messages"])
    assert (project / "a.txt").read_text() == "the person was here\n"
    assert report["brought_back"] == ["new.txt"]
    assert "a.txt is another now" in report["not_brought_back"]
    (kept,) = [tmp_path / "copies" / name for name in _copies(tmp_path)]
    assert (kept / "tree" / "a.txt").read_text() == "one\n2\n"
    assert str(kept / "tree") in report["not_brought_back"]


def test_what_may_be_executed_there_is_told_of(agent, project):
    agent.workspace.approvals.mode = "dont_ask"
    command = json.dumps({"command": "echo true > run.sh; chmod +x run.sh"})
    report = told(agent.run_conversation(delegates(f"call terminal {command}", isolated=True))["messages"])
    assert report["brought_back"] == ["run.sh"]
    assert "chmod +x" in report["not_brought_back"]


def test_a_file_that_takes_the_place_of_a_directory_comes_back(agent, project):
    agent.workspace.approvals.mode = "dont_ask"
    (project / "d" / "deep").mkdir(parents=True)
    (project / "d" / "deep" / "x").write_text("x")
    command = json.dumps({"command": "rm -r d; echo file > d"})
    report = told(agent.run_conversation(delegates(f"call terminal {command}", isolated=True))["messages"])
    assert (project / "d").read_text() == "file\n"
    assert report["brought_back"] == ["d/deep/x", "d"]


def test_without_changes_nothing_is_asked_and_nothing_stays(agent, tmp_path, person):
    report = told(agent.run_conversation(delegates("read a.txt\nsay read", isolated=True))["messages"])
    assert report["summary"] == "read"
    assert "patch" not in report
    assert person.asked == []
    assert _copies(tmp_path) == []


def test_a_cancel_leaves_no_copy(agent, project, tmp_path, person):
    person.before = lambda path: agent.interrupt()
    assert agent.run_conversation(delegates("write new.txt n", isolated=True))["stop_reason"] == "cancelled"
    assert not (project / "new.txt").exists()
    assert _copies(tmp_path) == []


def test_a_cancel_while_changes_come_back_keeps_the_copy(agent, project, tmp_path, person):
    def cancel(path):
        if path == project / "new.txt":
            agent.interrupt()

    person.before = cancel
    goal = "edit a.txt two => 2\nwrite new.txt n\nsay done"
    result = agent.run_conversation(delegates(goal, "read a.txt\nsay nothing", isolated=True))
    assert result["stop_reason"] == "cancelled"
    assert (project / "a.txt").read_text() == "one\n2\n"
    assert not (project / "new.txt").exists()
    (kept,) = [tmp_path / "copies" / name for name in _copies(tmp_path)]
    assert (kept / "tree" / "new.txt").read_text() == "n"
    (news,) = agent.services.news.waiting()
    assert f"kept for a week: {kept / 'tree'}" in news.title
    assert "Not brought back: new.txt." in news.text
    subprocess.run(command_in(news.text), shell=True, check=True)
    assert (project / "new.txt").read_text() == "n"
    assert (project / "a.txt").read_text() == "one\n2\n"


def test_a_crash_while_the_work_of_a_sub_agents_sub_agent_comes_back_is_told_in_the_session(
    agent, project, tmp_path, person
):
    stored = {}
    agent.services.news = NewsBox(
        keep=lambda news: stored.update({news.id: news}), drop=lambda gone: [stored.pop(news.id) for news in gone]
    )
    known = []
    person.before = lambda path: known.append((path.is_relative_to(project), list(stored.values())))
    below = delegates("write new.txt n", isolated=True)
    agent.run_conversation(delegates(below, role="orchestrator"))
    (_, while_it_works), (comes_back, while_it_comes_back) = known
    assert comes_back
    assert while_it_works == []
    assert "the agent's process died" in while_it_comes_back[0].text
    assert (project / "new.txt").exists()
    assert stored == {}


def test_what_comes_back_to_a_copy_that_is_given_up_can_be_had_in_the_persons_tree(agent, project, tmp_path, person):
    def cancel(path):
        if len(person.asked) == 3:  # the second file that comes back to the other copy
            agent.interrupt()

    person.before = cancel
    below = delegates("write new.txt n\nedit a.txt two => 2", isolated=True)
    result = agent.run_conversation(delegates(below, role="orchestrator", isolated=True))
    assert result["stop_reason"] == "cancelled"
    assert not (project / "new.txt").exists()
    assert len(_copies(tmp_path)) == 1
    (news,) = agent.services.news.waiting()
    assert "That was to another copy, which is given up" in news.text
    subprocess.run(command_in(news.text), shell=True, check=True)
    assert (project / "a.txt").read_text() == "one\n2\n"
    assert (project / "new.txt").read_text() == "n"


def test_where_git_cannot_tell_what_was_changed_no_patches_are_promised(agent, project, tmp_path, person):
    many = json.dumps({"command": "for i in $(seq 501); do echo $i > $i.txt; done"})
    agent.workspace.approvals.mode = "dont_ask"
    report = told(agent.run_conversation(delegates(f"call terminal {many}", isolated=True))["messages"])
    (kept,) = [tmp_path / "copies" / name for name in _copies(tmp_path)]
    assert f"more than can be shown (500). The copy is kept: {kept / 'tree'}" in report["not_brought_back"]
    assert "git -C" not in report["not_brought_back"]


def test_nor_where_the_turn_is_over_meanwhile(agent, project, tmp_path, person):
    many = json.dumps({"command": "for i in $(seq 501); do echo $i > $i.txt; done"})

    def cancel(path):
        if path == project / "new.txt":
            agent.interrupt()

    person.before = cancel
    goals = ("write new.txt n", f"call terminal {many}")
    agent.run_conversation(delegates(*goals, isolated=True))
    telling = {news.source: news.text for news in agent.services.news.waiting()}
    with_patches = ["This brings the rest back" in text for text in telling.values()]
    assert sorted(with_patches) == [False, True]


def test_where_there_are_no_copies_that_is_an_answer(tmp_path):
    plain = delegating_agent(tmp_path)
    result = plain.run_conversation(delegates("say x", isolated=True))
    assert "There are no copies" in told(result["messages"])["error"]
