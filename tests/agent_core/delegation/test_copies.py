"""Copies of a work tree: they hold what the person's has now, touch nothing of it, and do not stay."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agent_core.cancel import CancelToken
from agent_core.delegation.worktree import how_to_apply, make_copy, tidy_copies
from tests.support.delegating import copies_left
from tools.errors import ToolError, ToolInterrupted


@pytest.fixture
def top(tmp_path):
    top = tmp_path / "project"
    top.mkdir()
    _git(top, "init", "-q")
    (top / "kept.txt").write_text("kept\n")
    (top / "changed.txt").write_text("committed\n")
    (top / ".gitignore").write_text("ignored.txt\n")
    _git(top, "add", ".")
    _git(top, "commit", "-qm", "first")
    (top / "changed.txt").write_text("not committed\n")
    (top / "new.txt").write_text("new\n")
    (top / "ignored.txt").write_text("ignored\n")
    return top


def _git(top: Path, *arguments: str) -> str:
    names = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    return subprocess.run(["git", *names, *arguments], cwd=top, check=True, capture_output=True, text=True).stdout


def _files(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes() for path in sorted(directory.rglob("*")) if path.is_file()
    }


def test_a_copy_holds_what_is_there_now_and_writes_nothing_where_it_came_from(top, tmp_path):
    before = _files(top)
    copy = make_copy(top, tmp_path / "copies", "one")
    assert _files(top) == before
    names = {path.name for path in copy.tree.iterdir()}
    assert names == {".git", ".gitignore", "kept.txt", "changed.txt", "new.txt"}
    assert (copy.tree / "changed.txt").read_text() == "not committed\n"
    assert "first" in _git(copy.tree, "log", "--oneline")
    assert _git(copy.tree, "status", "--porcelain") == ""
    assert copy.changes() == []
    copy.drop()
    assert copies_left(tmp_path / "copies") == []


def test_a_copy_that_was_not_finished_in_time_is_gone(top, tmp_path):
    token = CancelToken()
    token.cancel()
    with pytest.raises(ToolInterrupted):
        make_copy(top, tmp_path / "copies", "one", token)
    assert copies_left(tmp_path / "copies") == []


def test_changes_are_told_with_their_contents_and_as_a_patch_that_applies(top, tmp_path):
    copy = make_copy(top, tmp_path / "copies", "one")
    (copy.tree / "kept.txt").write_text("other\n")
    (copy.tree / "changed.txt").unlink()
    (copy.tree / "sub").mkdir()
    (copy.tree / "sub" / "añadido.txt").write_bytes(b"\x00\x01")
    (copy.tree / "ignored.txt").write_text("of no matter\n")
    (copy.tree / "link").symlink_to("/etc/passwd")
    changes = {str(change.path): change for change in copy.changes()}
    assert changes.keys() == {"kept.txt", "changed.txt", "sub/añadido.txt", "link"}
    assert (changes["kept.txt"].before, changes["kept.txt"].after) == (b"kept\n", b"other\n")
    assert (changes["changed.txt"].before, changes["changed.txt"].after) == (b"not committed\n", None)
    assert (changes["sub/añadido.txt"].before, changes["sub/añadido.txt"].after) == (None, b"\x00\x01")
    assert changes["link"].obstacle
    (tmp_path / "patch").write_bytes(copy.set_aside(list(changes.values())))
    _git(top, "apply", str(tmp_path / "patch"))
    assert (top / "kept.txt").read_text() == "other\n"
    assert not (top / "changed.txt").exists()


def test_contents_are_told_as_they_lie_in_a_work_tree(top, tmp_path):
    (top / ".gitattributes").write_text("*.bat text eol=crlf\n*.wide text working-tree-encoding=UTF-16LE\n")
    (top / "old.bat").write_bytes(b"one\r\ntwo\r\n")
    _git(top, "add", ".")
    _git(top, "commit", "-qm", "second")
    copy = make_copy(top, tmp_path / "copies", "one")
    (copy.tree / "old.bat").write_bytes(b"one\r\n2\r\n")
    (copy.tree / "new.wide").write_bytes("é\n".encode("utf-16-le"))
    changes = {str(change.path): (change.before, change.after) for change in copy.changes()}
    assert changes == {
        "old.bat": (b"one\r\ntwo\r\n", b"one\r\n2\r\n"),
        "new.wide": (None, "é\n".encode("utf-16-le")),
    }


def test_nothing_in_the_repository_or_in_the_copy_has_git_run_a_program(top, tmp_path):
    witness = tmp_path / "it-ran"
    script = f"touch {witness}; cat"
    _git(top, "config", "core.fsmonitor", f"sh -c '{script}'")
    _git(top, "config", "filter.evil.clean", f"sh -c '{script}'")
    _git(top, "config", "filter.evil.smudge", f"sh -c '{script}'")
    (top / ".gitattributes").write_text("* filter=evil\n")
    hook = top / ".git" / "hooks" / "post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {witness}\n")
    hook.chmod(0o755)
    copy = make_copy(top, tmp_path / "copies", "one")
    _git(copy.tree, "config", "core.fsmonitor", f"sh -c '{script}'")
    _git(copy.tree, "config", "filter.evil.clean", f"sh -c '{script}'")
    (copy.tree / "kept.txt").write_text("other\n")
    assert [str(change.path) for change in copy.changes()] == ["kept.txt"]
    assert not witness.exists()


def test_nor_does_a_repository_within_it(top, tmp_path):
    witness = tmp_path / "it-ran"
    inner = _with_repository_within(top)
    _git(inner, "config", "filter.evil.clean", f"sh -c 'touch {witness}; cat'")
    (inner / ".git" / "info" / "attributes").write_text("* filter=evil\n")
    (inner / "f").write_text("OF ANOTHER\n")
    copy = make_copy(top, tmp_path / "copies", "one")
    assert not witness.exists()
    assert copy.changes() == []
    # What a sub-agent may do: the same commit there, and a file that is another.
    shutil.copytree(inner, copy.tree / "inner", dirs_exist_ok=True)
    (copy.tree / "inner" / "f").write_text("Of Another\n")
    assert copy.changes() == []
    assert not witness.exists()


def test_what_is_done_to_a_repository_within_it_is_told(top, tmp_path):
    _with_repository_within(top)
    copy = make_copy(top, tmp_path / "copies", "one")
    assert (copy.tree / "inner").is_dir()
    assert _git(copy.tree, "status", "--porcelain") == ""
    (copy.tree / "inner").rmdir()
    assert [(str(change.path), bool(change.obstacle)) for change in copy.changes()] == [("inner", True)]


def _with_repository_within(top: Path) -> Path:
    inner = top / "inner"
    inner.mkdir()
    _git(inner, "init", "-q")
    (inner / "f").write_text("of another\n")
    _git(inner, "add", ".")
    _git(inner, "commit", "-qm", "its first")
    _git(top, "add", "inner")
    return inner


def test_a_repository_without_a_commit_can_be_copied_and_what_is_none_cannot(tmp_path):
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    _git(fresh, "init", "-q")
    (fresh / "a.txt").write_text("a")
    assert (make_copy(fresh, tmp_path / "copies", "one").tree / "a.txt").read_text() == "a"
    plain = tmp_path / "plain"
    plain.mkdir()
    with pytest.raises(ToolError, match="in no git repository"):
        make_copy(plain, tmp_path / "copies", "two")


def test_no_copy_is_made_inside_of_the_persons_tree(top):
    with pytest.raises(ToolError, match="inside of"):
        make_copy(top, top / "copies", "one")
    assert not (top / "copies").exists()


def test_what_a_crash_has_left_goes_and_what_is_used_or_kept_stays(top, tmp_path):
    copies = tmp_path / "copies"
    used, kept, old = (make_copy(top, copies, name) for name in ("used", "kept", "old"))
    for copy in (kept, old):
        copy.keep()
    long_ago = time.time() - 8 * 86_400
    os.utime(old.directory / "kept", (long_ago, long_ago))
    program = (
        "import sys; from pathlib import Path; from agent_core.delegation.worktree import make_copy\n"
        "make_copy(Path(sys.argv[1]), Path(sys.argv[2]), 'crashed'); import os; os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", program, str(top), str(copies)], check=False, cwd=Path.cwd())
    assert (copies / "crashed").exists()
    tidy_copies(copies)
    assert copies_left(copies) == ["kept", "used"]
    used.drop()


def test_what_is_removed_has_another_name_at_once_and_a_crash_in_between_leaves_nothing(top, tmp_path):
    copies = tmp_path / "copies"
    copy = make_copy(top, copies, "one")
    copy.drop()
    assert not copy.directory.exists()
    half = copies / "gone-two"
    half.mkdir()
    (half / "tree").mkdir()
    tidy_copies(copies)
    assert copies_left(copies) == []


def test_what_is_kept_goes_with_a_patch_for_each_change_that_is_not_settled(top, tmp_path):
    copy = make_copy(top, tmp_path / "copies", "one")
    for name in ("kept.txt", "diff --git x", "zero"):
        (copy.tree / name).write_bytes(b"diff --git a/a b/a\n\0" if name == "zero" else b"diff --git a/a b/a\n")
    (copy.tree / "link").symlink_to("kept.txt")
    changes = copy.changes()
    copy.set_aside(changes)
    numbers = {str(change.path): number for number, change in enumerate(changes)}
    copy.settled(numbers["kept.txt"])
    copy.keep()
    copy.drop()
    before = (top / "kept.txt").read_text()
    subprocess.run(how_to_apply(top, copy.rest), shell=True, check=True)
    assert (top / "kept.txt").read_text() == before
    assert (top / "diff --git x").read_text() == "diff --git a/a b/a\n"
    assert (top / "zero").read_bytes() == b"diff --git a/a b/a\n\0"
    assert (top / "link").is_symlink()


def test_patches_are_all_there_or_none(top, tmp_path, monkeypatch):
    copy = make_copy(top, tmp_path / "copies", "one")
    (copy.tree / "kept.txt").write_text("1\n")
    (copy.tree / "new.txt").write_text("2\n")
    write, written = Path.write_bytes, []

    def until_the_disk_is_full(path, data):
        if len(written) == 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written.append(path)
        return write(path, data)

    monkeypatch.setattr(Path, "write_bytes", until_the_disk_is_full)
    with pytest.raises(OSError, match="No space"):
        copy.set_aside(copy.changes())
    assert not copy.rest.exists()


def test_a_file_that_became_a_link_has_one_patch_too(top, tmp_path):
    copy = make_copy(top, tmp_path / "copies", "one")
    (copy.tree / "kept.txt").unlink()
    (copy.tree / "kept.txt").symlink_to("else")
    (copy.tree / "b2.txt").write_text("b\n")
    changes = copy.changes()
    copy.set_aside(changes)
    copy.settled([str(change.path) for change in changes].index("b2.txt"))
    subprocess.run(how_to_apply(top, copy.rest), shell=True, check=True)
    assert (top / "kept.txt").is_symlink()
    assert not (top / "b2.txt").exists()
