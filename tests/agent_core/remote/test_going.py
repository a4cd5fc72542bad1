"""What has changed here goes to the copy, and never over what was changed there."""

import os

import pytest

from tests.support.far_copies import CopyBench


@pytest.fixture
def bench(tmp_path):
    bench = CopyBench(tmp_path)
    bench.write(f="f", g="g")
    (bench.here / "link").symlink_to("f")
    return bench


def is_link(bench, name):
    return (bench.there / name).is_symlink()


def test_a_link_that_is_gone_here_goes_there(bench):
    bench.renew()
    (bench.here / "link").unlink()
    assert bench.renew() == []
    assert bench.names_there() == {"f", "g"}
    assert bench.changes() == {}


def test_a_link_that_became_a_file_here_becomes_one_there(bench):
    bench.renew()
    (bench.here / "link").unlink()
    bench.write(link="plain")
    assert bench.renew() == []
    assert not is_link(bench, "link")
    assert (bench.there / "link").read_text() == "plain"
    assert bench.changes() == {}


def test_a_file_that_became_a_link_here_becomes_one_there(bench):
    bench.renew()
    (bench.here / "g").unlink()
    (bench.here / "g").symlink_to("f")
    (bench.here / "link").unlink()
    (bench.here / "link").symlink_to("g")
    assert bench.renew() == []
    assert [(bench.there / name).readlink().name for name in ("g", "link")] == ["f", "g"]
    assert bench.changes() == {}


@pytest.mark.parametrize("name", ["g", "new", "link"])
def test_a_link_never_replaces_what_was_changed_there(bench, name):
    bench.renew()
    bench.run_there(f"rm -f {name}; echo theirs >{name}")
    (bench.here / name).unlink(missing_ok=True)
    (bench.here / name).symlink_to("g" if name == "link" else "f")
    (words,) = bench.renew()
    assert f"Changed on both sides, and so not copied to the near machine: {name}." in words
    assert (bench.there / name).read_text() == "theirs\n"
    assert bench.renew() == []


def test_a_file_there_is_in_the_way_of_a_directory_and_of_no_other_file(bench):
    bench.write(__gitignore="made\n")
    bench.renew()
    bench.run_there("echo theirs >made")
    bench.write(__gitignore="", f="mine")
    (bench.here / "made").mkdir()
    (bench.here / "made" / "x").write_text("x")
    (words,) = bench.renew()
    assert "made/x" in words
    assert (bench.there / "f").read_text() == "mine"
    assert (bench.there / "made").read_text() == "theirs\n"


def test_a_directory_with_new_files_there_is_in_the_way_of_a_file(bench):
    (bench.here / "d").mkdir()
    (bench.here / "d" / "a").write_text("a")
    bench.renew()
    bench.run_there("echo theirs >d/b")
    (bench.here / "d" / "a").unlink()
    (bench.here / "d").rmdir()
    bench.write(d="file")
    (words,) = bench.renew()
    assert ": d." in words
    assert bench.names_there() == {"f", "g", "link", "d/b"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_file_that_cannot_be_read_here_is_not_removed_there(bench):
    bench.renew()
    bench.restart()
    (bench.here / "g").chmod(0)
    bench.renew()
    assert bench.names_there() == {"f", "g", "link"}
