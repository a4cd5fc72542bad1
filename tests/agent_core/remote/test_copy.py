"""A workspace and its copy: what goes there, what comes back, and what becomes of both in trouble."""

import os

import pytest

from agent_core.cancel import CancelToken
from agent_core.remote.copy import Limits, tidy_states
from agent_core.remote.select import is_name
from tests.support.each import each
from tests.support.far_copies import CopyBench
from tools.errors import CommandError, ToolError, ToolInterrupted


def test_what_git_tracks_and_would_track_goes_there(bench):
    bench.git("init", "-q")
    bench.write(__gitignore="*.log\nbuild/\n", tracked__log="x", ignored__log="x", plain="x")
    bench.git("add", "-f", "tracked.log")
    (bench.here / "build").mkdir()
    (bench.here / "build" / "out").write_text("x")
    bench.renew()
    assert bench.names_there() == {".gitignore", "tracked.log", "plain"}


def test_without_a_repository_ignore_files_count_all_the_same(bench):
    bench.write(__gitignore="*.log\n", ignored__log="x", plain="x")
    bench.renew()
    assert bench.names_there() == {".gitignore", "plain"}
    assert not (bench.there / ".git").exists()


def test_what_the_user_ignores_everywhere_stays_here(bench, monkeypatch):
    config = bench.folder / "config"
    (config / "git").mkdir(parents=True)
    (config / "git" / "ignore").write_text("private\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(config))
    bench.write(private="x", plain="x")
    bench.renew()
    assert bench.names_there() == {"plain"}


def test_files_of_a_repository_within_go_along_as_it_would_have_them(bench):
    bench.git("init", "-q")
    inner = bench.here / "inner"
    inner.mkdir()
    bench.git("init", "-q", "inner")
    (inner / ".gitignore").write_text("skip\n")
    (inner / "skip").write_text("x")
    (inner / "file").write_text("x")
    bench.renew()
    assert bench.names_there() == {"inner/.gitignore", "inner/file"}


def test_secrets_and_links_that_lead_out_stay_here_and_are_named(bench):
    bench.git("init", "-q")
    bench.write(__env="KEY=1", id_rsa="key", plain="x")
    bench.git("add", "-f", ".env")
    (bench.here / "out").symlink_to("/etc/passwd")
    (bench.here / "absolute").symlink_to(bench.here / "plain")
    (bench.here / "up").symlink_to("../here2")
    (bench.here / "within").symlink_to("plain")
    (words,) = bench.renew()
    assert bench.names_there() == {"plain", "within"}
    assert ".env" in words
    assert "id_rsa" in words
    assert "out" in words


def test_git_tells_there_what_was_changed(bench):
    bench.git("init", "-q", "-b", "topic")
    bench.write(f="1\n", g="1\n")
    bench.renew()
    (bench.there / "f").write_text("2\n")
    assert bench.run_there("git status --short --branch") == "## topic\n M f\n"


def test_an_attempt_that_broke_off_is_begun_anew(bench):
    bench.write(f="1\n", gone="x")
    bench.twist = lambda script: script.replace('gunzip -c <"$d/in"', "echo half >f; false")
    with pytest.raises(CommandError, match="could not be unpacked"):
        bench.renew()
    assert not bench.copy.is_made
    assert bench.names_there() == {"f"}
    bench.twist = str
    (bench.here / "gone").unlink()
    bench.restart()
    bench.renew()
    assert bench.names_there() == {"f"}
    assert bench.changes() == {}


def test_a_directory_with_something_in_it_is_not_filled(bench):
    bench.write(f="1\n")
    bench.there.mkdir()
    (bench.there / "theirs").write_text("x")
    with pytest.raises(CommandError, match=r"is not empty.*terminal\.cwd"):
        bench.renew()
    assert bench.names_there() == {"theirs"}


def test_what_does_not_come_whole_is_not_unpacked(bench):
    bench.write(f="1\n")
    bench.twist = lambda script: script.replace("cat >", "head -c 20 >")
    with pytest.raises(CommandError, match="it did not come whole"):
        bench.renew()
    assert bench.names_there() == set()


@each("limits", [Limits(files=1), Limits(bytes=5)])
def test_too_much_is_not_copied(limits, tmp_path_factory):
    bench = CopyBench(tmp_path_factory.mktemp("copy"), limits)
    bench.write(a="1234", b="5678")
    with pytest.raises(CommandError, match=r"raise terminal\.sync_files"):
        bench.renew()
    assert not bench.there.exists()


def test_a_cancel_ends_the_copying(bench):
    bench.write(f="1\n")
    token = CancelToken()

    def cancelled(script):
        token.cancel()
        return "sleep 600"

    bench.twist = cancelled
    with pytest.raises(ToolInterrupted):
        bench.renew(token)
    assert not bench.copy.is_made
    bench.twist = str
    bench.renew()
    assert bench.names_there() == {"f"}


def test_what_changes_here_goes_there_with_the_next_turn(bench):
    bench.write(f="1\n", gone="x", folder="x")
    bench.renew()
    (bench.here / "f").write_text("2\n")
    (bench.here / "gone").unlink()
    (bench.here / "new").write_text("n")
    (bench.here / "folder").unlink()
    (bench.here / "folder").mkdir()
    (bench.here / "folder" / "file").write_text("deep")
    assert bench.renew() == []
    assert bench.names_there() == {"f", "new", "folder/file"}
    assert (bench.there / "f").read_text() == "2\n"
    assert bench.changes() == {}


def test_a_turn_in_which_nothing_has_changed_here_sends_nothing(bench):
    bench.write(f="1\n")
    bench.renew()
    before = len(bench.scripts)
    bench.renew()
    assert len(bench.scripts) == before + 1


def test_what_was_changed_there_meanwhile_is_not_replaced(bench):
    bench.write(f="1\n", g="1\n")
    bench.renew()
    (bench.there / "f").write_text("theirs\n")
    (bench.here / "f").write_text("mine\n")
    (bench.here / "g").write_text("mine\n")
    (words,) = bench.renew()
    assert "f" in words
    assert (bench.there / "f").read_text() == "theirs\n"
    assert (bench.there / "g").read_text() == "mine\n"
    assert bench.renew() == []
    assert [change.name for change in bench.back().kept] == ["f"]
    assert (bench.here / "f").read_text() == "mine\n"


def test_what_changes_there_in_the_moment_of_sending_is_not_replaced(bench):
    bench.write(f="1\n")
    bench.renew()
    (bench.here / "f").write_text("mine\n")

    def late(script):
        if "sha256sum -c" in script:
            (bench.there / "f").write_text("theirs\n")
        return script

    bench.twist = late
    (words,) = bench.renew()
    assert "Changed on both sides" in words
    assert (bench.there / "f").read_text() == "theirs\n"


def test_the_same_change_on_both_sides_is_none(bench):
    bench.write(f="1\n")
    bench.renew()
    for side in (bench.here, bench.there):
        (side / "f").write_text("2\n")
    assert bench.renew() == []
    assert bench.changes() == {}


def test_new_files_that_are_ignored_there_or_here_do_not_come_back(bench):
    bench.git("init", "-q")
    bench.write(__gitignore="*.log\n", f="1\n")
    bench.renew()
    bench.run_there(
        "echo x >a.log; mkdir -p out node_modules/x; echo x >out/o; echo x >node_modules/x/y; echo out >>.gitignore"
    )
    assert set(bench.changes()) == {".gitignore"}


def test_rules_of_directories_above_the_workspace_count(tmp_path):
    bench = CopyBench(tmp_path)
    top = bench.here
    bench.git("init", "-q")
    (top / ".gitignore").write_text("dist/\n")
    bench.here = top / "part"
    bench.here.mkdir()
    bench.copy = bench.another()
    bench.write(f="1\n")
    bench.renew()
    bench.run_there("mkdir dist; echo x >dist/o; echo x >new")
    assert set(bench.changes()) == {"new"}


def test_what_a_commit_there_has_changed_comes_back_like_anything_else(bench):
    bench.git("init", "-q")
    bench.write(f="1\n")
    bench.renew()
    bench.run_there("echo 2 >f; git -c user.name=a -c user.email=b commit -qam second")
    bench.back()
    assert (bench.here / "f").read_text() == "2\n"
    assert list((bench.here / ".git" / "refs" / "heads").iterdir()) == []


def test_a_file_that_cannot_be_read_there_is_not_taken_for_removed(bench):
    bench.write(f="1\n")
    bench.renew()
    bench.twist = lambda script: script.replace("sha256sum {} +", "false {} +")
    found, words = bench.copy.changes(CancelToken(), 500)
    assert found == []
    assert "cannot be read there: f" in words[0]


def test_too_many_changes_are_left_there(bench):
    bench.renew()
    bench.run_there("touch a b c")
    with pytest.raises(ToolError, match="3 files were changed") as raised:
        bench.copy.changes(CancelToken(), 2)
    assert "2 at most" in str(raised.value)


def test_a_copy_that_is_gone_is_told_with_what_that_means_and_made_anew(bench):
    bench.write(f="1\n")
    bench.renew()
    (bench.there / "f").write_text("lost\n")
    bench.run_there("rm -rf ../there")
    (words,) = bench.renew()
    assert "not brought back is lost; your files here are as they were" in words
    assert (bench.there / "f").read_text() == "1\n"
    assert (bench.here / "f").read_text() == "1\n"


def test_a_copy_that_git_has_cleaned_is_still_there(bench):
    bench.git("init", "-q")
    bench.write(f="1\n")
    bench.renew()
    bench.run_there("echo 2 >f; git clean -qfdx")
    assert set(bench.changes()) == {"f"}
    bench.run_there("rm -rf .git")
    assert bench.renew() == []


def test_another_name_of_a_secret_stays_here_as_well(bench):
    bench.write(__env="KEY=1", plain="x")
    os.link(bench.here / ".env", bench.here / "notes.txt")
    (words,) = bench.renew()
    assert bench.names_there() == {"plain"}
    assert "notes.txt" in words


def test_names_that_mean_something_to_git_come_back(bench):
    bench.write(__gitignore="*.log\n")
    bench.renew()
    bench.run_there("echo 1 >':!x'; echo 1 >':(glob)y'; echo 1 >':z.log'")
    assert set(bench.changes()) == {":!x", ":(glob)y"}


def test_a_file_in_place_of_a_directory_comes_back_and_a_directory_in_place_of_a_file(bench):
    for name in ("d", "e"):
        (bench.here / name / "deep").mkdir(parents=True)
        (bench.here / name / "deep" / "a").write_text("x")
    bench.write(f="1\n", __gitignore="kept\n")
    (bench.here / "e" / "kept").write_text("mine")
    bench.renew()
    bench.run_there("rm -r d e f; echo d >d; echo e >e; mkdir f; echo a >f/a")
    done = bench.back()
    assert (bench.here / "d").read_text() == "d\n"
    assert (bench.here / "f" / "a").read_text() == "a\n"
    assert (bench.here / "e" / "kept").read_text() == "mine"
    assert [change.name for change in done.kept] == ["e"]


def test_a_place_that_does_not_read_on_is_heard_all_the_same(bench):
    bench.write(f=os.urandom(500_000))
    bench.twist = lambda script: script.replace('cat >"$d/in"', "false")
    with pytest.raises(CommandError, match="there is no room in its temporary directory"):
        bench.renew()


def test_the_next_process_goes_on_with_a_copy_that_is_still_there(bench):
    bench.write(f="1\n")
    bench.renew()
    (bench.there / "f").write_text("2\n")
    bench.restart()
    assert bench.renew() == []
    assert bench.back().brought == ["f"]
    assert (bench.here / "f").read_text() == "2\n"


def test_what_may_be_executed_there_alone_is_known(bench):
    bench.write(f="1\n", g="1\n", h="1\n")
    (bench.here / "h").chmod(0o755)
    bench.renew()
    bench.run_there("chmod +x f; echo '#!/bin/sh' >new; chmod +x new; chmod -x h")
    done = bench.back()
    assert [change.name for change in done.executable] == ["f", "new"]
    assert done.words == ["h has other permissions there, which are not brought back"]
    assert not (bench.here / "new").stat().st_mode & 0o100
    assert bench.changes() == {}
    (bench.here / "g").write_text("2\n")
    bench.renew()
    assert bench.run_there("test -x new && test -x f && echo both") == "both\n"


def test_two_processes_do_not_work_with_one_copy(bench):
    bench.write(f="1\n")
    bench.renew()
    other = bench.another()
    with pytest.raises(CommandError, match="Another process"):
        other.renew(bench.said.append, CancelToken())


def test_names_that_no_line_tells_stay_where_they_are_and_are_named(bench):
    bench.write(**{"a\\b": "x", "plain": "x"})
    (words,) = bench.renew()
    assert "a\\b" in words
    bench.run_there("echo >'c\\d'; echo >'e\nf'")
    found, words = bench.copy.changes(CancelToken(), 500)
    assert found == []
    assert "odd names, or cannot be read there: c\\d, e\nf." in words[0]
    assert bench.names_there() == {"plain", "c\\d", "e\nf"}


@each("name", ["a", "a/b", ".gitignore", "a b", "..a", "a.git", "git", ".github/x", "-a", "a\nb"])
def test_a_path_below_the_workspace_is_a_name(name):
    assert is_name(name)


@each(
    "name",
    ["", "/a", "..", "a/../b", "a//b", "./a", "a/", ".git", ".git/config", "a/.git/hooks/x", ".GIT/x", ".git /x",
     "git~1/config", ".git::$INDEX_ALLOCATION/x", "a\0b", ".hermes-acp-copy", "x" * 5_000, ".g\u200cit/config",
     "a/.git\ufeff/x"],
)  # fmt: skip
def test_what_leads_out_of_it_or_into_git_s_own_is_none(name):
    assert not is_name(name)


def test_what_was_not_brought_back_comes_again_until_it_is_kept(bench):
    bench.write(f="old\n")
    bench.renew()
    (bench.there / "f").write_text("new\n")
    bench.write(f="mine\n")
    assert [change.name for change in bench.back().kept] == ["f"]
    bench.restart()
    assert bench.changes().keys() == {"f"}
    bench.copy.keep_apart(bench.back().kept)
    bench.restart()
    assert bench.changes() == {}


def test_what_was_kept_goes_after_a_week(bench, tmp_path):
    session = tmp_path / "states" / "one"
    for name in ("kept-1", "kept-2"):
        (session / name).mkdir(parents=True)
    os.utime(session / "kept-1", (0, 0))
    tidy_states(tmp_path / "states")
    assert [path.name for path in session.iterdir()] == ["kept-2"]
