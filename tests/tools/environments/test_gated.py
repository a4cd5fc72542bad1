"""The ports as tools get them: what is approved is what happens."""

import pytest

from agent_core.cancel import CancelToken
from tests.support.tool_context import ScriptedApprover, make_context
from tools.approval.actions import ReadPath, RunCommand, WritePath
from tools.approval.approvals import Approvals
from tools.approval.gate import Gate
from tools.approval.policy import Rules
from tools.approval.rules import parse_rule
from tools.environments.atomic_writes import FileChange
from tools.environments.gated_ports import GatedFileSystem
from tools.environments.local_files import LocalFileSystem
from tools.errors import Denied, FileChanged
from tools.ports import CommandOutcome, CommandSpec, SearchQuery


@pytest.fixture
def workspace(tmp_path):
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


@pytest.fixture
def outside(tmp_path):
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret.txt").write_bytes(b"secret")
    return folder


@pytest.fixture
def approver():
    return ScriptedApprover("allow_once")


@pytest.fixture
def fs(workspace, approver):
    return make_context(workspace, "default", approver).fs


def test_reading_inside_asks_nothing(fs, workspace, approver):
    (workspace / "a").write_bytes(b"x")

    with fs.open(workspace / "a") as stream:
        assert stream.read() == b"x"
    assert fs.list(workspace) == ["a"]
    assert fs.stat(workspace / "a").size == 1
    assert approver.asked == []


def test_a_symbolic_link_to_outside_asks_for_what_it_leads_to(fs, workspace, outside, approver):
    (workspace / "link").symlink_to(outside / "secret.txt")
    approver.choice = "reject_once"

    for reveal in (fs.open, fs.stat):
        with pytest.raises(Denied):
            reveal(workspace / "link")

    assert approver.asked == [ReadPath(outside / "secret.txt")] * 2


@pytest.mark.parametrize(
    "reveal",
    [lambda fs, path: fs.list(path), lambda fs, path: fs.search(SearchQuery("secret", path))],
    ids=["list", "search"],
)
def test_a_linked_directory_outside_asks_too(fs, workspace, outside, approver, reveal):
    (workspace / "link").symlink_to(outside)
    approver.choice = "reject_once"

    with pytest.raises(Denied):
        reveal(fs, workspace / "link")

    assert approver.asked == [ReadPath(outside)]


def test_two_dots_do_not_lead_outside_unasked(fs, workspace, outside, approver):
    approver.choice = "reject_once"

    with pytest.raises(Denied):
        fs.open(workspace / ".." / "outside" / "secret.txt")


def test_found_lines_keep_the_name_that_was_searched(fs, workspace):
    (workspace / "real").mkdir()
    (workspace / "real" / "a.txt").write_text("needle\n")
    (workspace / "link").symlink_to("real")

    found = fs.search(SearchQuery("needle", workspace / "link"))

    assert [hit.path for hit in found.hits] == [workspace / "link" / "a.txt"]


def test_a_single_file_may_be_searched_through_a_link(fs, workspace):
    (workspace / "a.txt").write_text("needle\n")
    (workspace / "link").symlink_to("a.txt")

    assert [hit.path for hit in fs.search(SearchQuery("needle", workspace / "link")).hits] == [workspace / "link"]


def test_a_write_asks_with_the_whole_change(fs, workspace, approver):
    fs.write(workspace / "a", b"new", expected=None)

    assert approver.asked == [WritePath(workspace / "a", None, b"new", shown=workspace / "a")]
    assert (workspace / "a").read_bytes() == b"new"


def test_a_refused_write_changes_nothing(fs, workspace, approver):
    approver.choice = "reject_once"

    with pytest.raises(Denied):
        fs.write(workspace / "a", b"new", expected=None)

    assert not (workspace / "a").exists()


def test_a_write_through_a_link_changes_its_target_and_keeps_the_link(fs, workspace, approver):
    (workspace / "real").write_bytes(b"old")
    (workspace / "link").symlink_to("real")

    fs.write(workspace / "link", b"new", expected=b"old")

    assert (workspace / "link").is_symlink()
    assert (workspace / "real").read_bytes() == b"new"
    assert approver.asked == [WritePath(workspace / "real", b"old", b"new", shown=workspace / "link")]


def test_a_path_swapped_for_a_link_after_the_approval_is_not_written_through(fs, workspace, outside, approver):
    target = workspace / "a"
    target.write_bytes(b"secret")

    def swap():
        target.unlink()
        target.symlink_to(outside / "secret.txt")

    approver.before_answer = swap

    with pytest.raises(FileChanged):
        fs.write(target, b"overwritten", expected=b"secret")
    assert (outside / "secret.txt").read_bytes() == b"secret"


def test_a_directory_swapped_for_a_link_after_the_approval_is_not_written_into(fs, workspace, outside, approver):
    folder = workspace / "sub"
    folder.mkdir()

    def swap():
        folder.rmdir()
        folder.symlink_to(outside)

    approver.before_answer = swap

    with pytest.raises(FileChanged):
        fs.write(folder / "new", b"x", expected=None)
    assert not (outside / "new").exists()


def test_a_file_changed_after_the_approval_is_not_overwritten(fs, workspace, approver):
    (workspace / "a").write_bytes(b"old")
    approver.before_answer = lambda: (workspace / "a").write_bytes(b"someone else's")

    with pytest.raises(FileChanged):
        fs.write(workspace / "a", b"new", expected=b"old")
    assert (workspace / "a").read_bytes() == b"someone else's"


def test_to_remove_a_link_removes_the_link_and_asks_for_it(fs, workspace, outside, approver):
    (workspace / "link").symlink_to(outside / "secret.txt")

    fs.remove(workspace / "link", expected=b"secret")

    assert not (workspace / "link").is_symlink()
    assert (outside / "secret.txt").read_bytes() == b"secret"
    assert approver.asked == [WritePath(workspace / "link", b"secret", None, shown=workspace / "link")]


def test_a_remove_below_a_directory_swapped_after_the_approval_does_nothing(fs, workspace, outside, approver):
    folder = workspace / "sub"
    folder.mkdir()
    (folder / "secret.txt").write_bytes(b"secret")

    def swap():
        folder.rename(workspace / "moved")
        folder.symlink_to(outside)

    approver.before_answer = swap

    with pytest.raises(FileChanged):
        fs.remove(folder / "secret.txt", expected=b"secret")
    assert (outside / "secret.txt").exists()


def test_a_rename_asks_for_both_ends(fs, workspace, approver):
    (workspace / "a").write_bytes(b"x")

    fs.rename(workspace / "a", workspace / "b")

    assert [(action.path.name, action.verb) for action in approver.asked] == [("a", "delete"), ("b", "create")]
    assert (workspace / "b").read_bytes() == b"x"


def test_a_rename_into_a_directory_swapped_after_the_approval_does_nothing(fs, workspace, outside, approver):
    (workspace / "a").write_bytes(b"x")
    folder = workspace / "sub"
    folder.mkdir()

    def swap_at_the_second_question():
        if len(approver.asked) == 2:
            folder.rmdir()
            folder.symlink_to(outside)

    approver.before_answer = swap_at_the_second_question

    with pytest.raises(FileChanged):
        fs.rename(workspace / "a", folder / "b")
    assert (workspace / "a").exists()
    assert not (outside / "b").exists()


class RecordingEnvironment:
    """Runs nothing; remembers what reached it."""

    def __init__(self):
        self.ran = []
        self.closed = False

    def run(self, spec, on_output, interrupt):
        self.ran.append(spec.command)
        return CommandOutcome("", 0)

    def close(self):
        self.closed = True


def test_a_command_reaches_the_environment_only_after_a_yes(workspace, approver):
    inner = RecordingEnvironment()
    terminal = make_context(workspace, "default", approver, terminal=inner).terminal
    approver.choice = "reject_once"

    with pytest.raises(Denied):
        terminal.run(CommandSpec("rm a", workspace, 1), print, CancelToken())
    terminal.run(CommandSpec("ls", workspace, 1), print, CancelToken())

    assert inner.ran == ["ls"]
    assert approver.asked == [RunCommand("rm a", workspace)]


def test_one_call_does_not_close_the_session_s_environment(workspace):
    inner = RecordingEnvironment()

    make_context(workspace, terminal=inner).terminal.close()

    assert not inner.closed


def test_a_command_is_told_which_call_runs_it(workspace):
    specs = []

    class Recorder:
        def run(self, spec, on_output, interrupt):
            specs.append(spec)
            return CommandOutcome("", 0)

    terminal = make_context(workspace, "default", terminal=Recorder()).terminal
    terminal.run(CommandSpec("true", workspace, 1), lambda _: None, CancelToken())

    assert [spec.call_id for spec in specs] == ["call-1"]


def test_a_listing_does_not_name_what_a_rule_denies_to_read(workspace):
    for name in ("a", "b.pem"):
        (workspace / name).write_bytes(b"x")
    rules = Rules(roots=(workspace.resolve(),), deny=(parse_rule("read: *.pem"),))
    gate = Gate(Approvals(rules), "call-1", CancelToken(), on_allowed=lambda _action: None)
    assert GatedFileSystem(LocalFileSystem(), gate).list(workspace) == ["a"]


@pytest.mark.parametrize("mode", [0o444, 0o555, 0o400])
@pytest.mark.parametrize(
    "change",
    [
        lambda fs, path: fs.write(path, b"new", expected=b"old"),
        lambda fs, path: fs.remove(path, expected=b"old"),
        lambda fs, path: fs.change_all([FileChange(path, b"old", b"new")]),
        lambda fs, path: fs.change_all([FileChange(path, b"old", None)]),
        lambda fs, path: fs.change_all([FileChange(path.with_name("moved"), b"old", b"new", source=path)]),
    ],
    ids=["write", "remove", "patch", "delete", "move and change"],
)
def test_a_read_only_file_is_asked_about_before_it_is_replaced(workspace, approver, change, mode):
    fs, path = make_context(workspace, "accept_edits", approver).fs, workspace / "a"
    path.write_bytes(b"old")
    path.chmod(mode)
    approver.choice = "reject_once"
    with pytest.raises(Denied):
        change(fs, path)
    assert path.read_bytes() == b"old"
    assert [question.reason for question in approver.questions] == ["is read-only"]
    approver.choice = "allow_once"
    change(fs, path)
    assert not path.exists() or (path.read_bytes(), path.stat().st_mode & 0o777) == (b"new", mode)
    assert len(approver.asked) == 2


def test_a_read_only_file_is_moved_and_read_and_others_are_edited_unasked(workspace, approver):
    fs, path = make_context(workspace, "accept_edits", approver).fs, workspace / "a"
    path.write_bytes(b"old")
    path.chmod(0o444)
    with fs.open(path) as stream:
        assert stream.read() == b"old"
    fs.change_all([FileChange(workspace / "b", b"old", b"old", source=path)])
    (workspace / "link").symlink_to(workspace / "b")
    fs.remove(workspace / "link", expected=b"old")
    (workspace / "c").write_bytes(b"old")
    fs.write(workspace / "c", b"new", expected=b"old")
    assert approver.asked == []
