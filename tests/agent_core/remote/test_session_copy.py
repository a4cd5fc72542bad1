"""A copy at the seams of a turn: what the person and the model are told of it."""

import dataclasses
import shutil
from pathlib import Path

import pytest

from agent_core.callbacks import AgentCallbacks
from agent_core.cancel import CancelToken
from agent_core.errors import RequestError
from agent_core.injected_messages import notes_beside
from agent_core.prompt.environment import PromptFacts, environment_text
from agent_core.remote.session_copy import SessionCopy
from agent_core.services import SessionServices
from agent_core.settings.model import Settings
from agent_core.workspace import local_workspace
from tests.support.each import each
from tests.support.far_copies import CopyBench
from tools.approval.actions import RunCommand
from tools.approval.policy import Rules
from tools.approval.questions import Answer
from tools.errors import ToolInterrupted
from tools.ports import NoHistory


@pytest.fixture
def bench(tmp_path):
    bench = CopyBench(tmp_path)
    bench.write(f="old\n")
    return bench


@pytest.fixture
def make(bench):
    bench.news, bench.statuses = [], []

    def make(*, both=True, outlives=False):
        rules, history = Rules((bench.here,)), NoHistory()
        return SessionCopy(bench.copy, rules, lambda *_: history, bench.there, both, outlives, bench.news.append)

    return make


def ears(bench):
    return AgentCallbacks(status_callback=lambda status: bench.statuses.append(status.text))


def end(copied, workspace, token, callbacks):
    """A turn of this workspace is over."""
    copied.end(workspace.approvals, workspace.files(token), "1", token, callbacks)


def test_the_model_is_told_once_what_did_not_come_back(bench, make):
    copied = make()
    workspace = dataclasses.replace(local_workspace(bench.here), copied=copied)
    copied.begin("1", CancelToken(), ears(bench))
    (bench.there / "f").write_text("new\n")
    end(copied, workspace, CancelToken(), ears(bench))
    assert (bench.here / "f").read_text() == "old\n"
    told = notes_beside(SessionServices(), workspace)
    assert told.startswith("[Not from the user, about the copy of the workspace: f was refused")
    assert "git -C" in told
    assert "f was refused" in bench.statuses[0]
    assert notes_beside(SessionServices(), workspace) == ""


def test_the_prompt_says_that_the_directory_is_a_copy_and_how_changes_return(bench, make):
    facts = PromptFacts(Path("/w"), (Path("/w"),), "2031-02-03", "Linux", "sh", machine="the near machine")
    told = environment_text(dataclasses.replace(facts, copy=make().described()))
    assert f"It is a copy of the person's {bench.here}: what you change in it comes back at the end" in told
    assert "nothing that you change in it comes back" in make(both=False).described()
    assert "copy" not in environment_text(facts)


def test_a_copy_that_cannot_be_made_ends_the_turn_with_what_to_do(bench, make):
    bench.there.mkdir()
    (bench.there / "theirs").touch()
    with pytest.raises(RequestError, match=r"is not empty.*The model was not asked"):
        make().begin("1", CancelToken(), ears(bench))


def test_what_is_left_at_the_end_is_kept_and_told_later(bench, make):
    copied = make()
    copied.begin("1", CancelToken(), ears(bench))
    (bench.there / "f").write_text("new\n")
    copied.leave()
    copied.leave()
    (news,) = bench.news
    assert "the session ended before. It is kept for a week; this makes it here: `git -C" in news.title
    assert "Files: f." in news.text
    assert not bench.copy.is_made


def test_what_cannot_be_kept_at_the_end_is_told_to_be_lost(bench, make):
    copied = make()
    copied.begin("1", CancelToken(), ears(bench))
    bench.twist = lambda _: "exit 1"
    copied.leave()
    (news,) = bench.news
    assert "not brought back is lost with it" in news.title


def test_what_could_not_be_kept_as_a_patch_comes_again(bench, make, program_folder, own_programs):
    git = program_folder / "git"
    git.write_text(f'#!/bin/sh\ncase " $* " in *" diff "*) exit 128 ;; esac\nexec {shutil.which("git")} "$@"\n')
    git.chmod(0o755)
    copied = make()
    workspace = dataclasses.replace(local_workspace(bench.here), copied=copied)
    copied.begin("1", CancelToken(), ears(bench))
    (bench.there / "f").write_text("new\n")
    own_programs({"git": str(git)})
    end(copied, workspace, CancelToken(), ears(bench))
    own_programs({})
    assert "was not brought back: git diff failed" in bench.statuses[-1]
    assert set(bench.changes()) == {"f"}


@pytest.mark.parametrize("mode", ["dont_ask", "accept_edits"])
def test_what_may_be_executed_there_is_made_so_here_by_a_command_that_is_asked_about(bench, make, mode):
    copied = make()
    workspace = dataclasses.replace(local_workspace(bench.here, mode=mode), copied=copied)
    copied.begin("1", CancelToken(), ears(bench))
    bench.run_there("chmod +x f; echo '#!/bin/sh' >'a b'; chmod +x 'a b'")
    end(copied, workspace, CancelToken(), ears(bench))
    may_run = {path.name: bool(path.stat().st_mode & 0o100) for path in bench.here.iterdir()}
    assert may_run == dict.fromkeys(("f", "a b"), mode == "dont_ask")
    assert bool(bench.statuses) == (mode == "accept_edits")
    assert all("chmod +x was refused" in text for text in bench.statuses)
    assert bench.changes() == {}
    assert bench.renew() == []


def test_a_cancel_while_that_is_asked_loses_no_patch(bench, make):
    token = CancelToken()

    class Person:
        def ask(self, question, interrupt):
            if isinstance(question.action, RunCommand):
                token.cancel()
                raise ToolInterrupted
            return Answer(allowed=question.action.path.name == "new")

    copied = make()
    workspace = dataclasses.replace(local_workspace(bench.here, approver=Person()), copied=copied)
    copied.begin("1", CancelToken(), ears(bench))
    bench.run_there("echo new >f; echo '#!/bin/sh' >new; chmod +x new")
    with pytest.raises(ToolInterrupted):
        end(copied, workspace, token, ears(bench))
    assert "f was refused" in bench.statuses[-1]
    assert "git -C" in bench.statuses[-1]
    assert "not here yet: new; chmod +x" in bench.statuses[-1]


def test_what_could_not_be_stored_as_dealt_with_comes_again(bench, make):
    obstacle = bench.folder / "state" / "copy.json.new"

    class Person:
        def ask(self, question, interrupt):
            obstacle.mkdir()
            return Answer(allowed=True)

    copied = make()
    workspace = dataclasses.replace(local_workspace(bench.here, approver=Person()), copied=copied)
    copied.begin("1", CancelToken(), ears(bench))
    (bench.there / "f").write_text("new\n")

    end(copied, workspace, CancelToken(), ears(bench))
    assert "Is a directory" in bench.statuses[-1]
    obstacle.rmdir()
    bench.restart()
    assert set(bench.changes()) == {"f"}


def test_what_is_cancelled_while_it_is_packed_leaves_no_stream(bench, make):
    token = CancelToken()
    bench.twist = lambda _: pytest.fail("nothing is sent")
    bench.may_read = lambda _: token.cancel() or True
    assert not make().begin("1", token, ears(bench))
    assert {path.name for path in (bench.folder / "state").iterdir()} == {"copy.json", "lock"}


def test_nothing_is_said_at_the_end_where_nothing_is_left(bench, make):
    copied = make()
    copied.begin("1", CancelToken(), ears(bench))
    copied.leave()
    assert bench.news == []


@each("written, meant", [(False, "off"), (True, "both"), ("in", "in"), ("both", "both"), ("off", "off")])
def test_yaml_s_words_for_no_and_yes_are_understood(written, meant):
    assert Settings(terminal={"sync": written}).terminal.sync == meant
