"""What an «always for `cp …`» covers where links lie about: nothing that leads out of the directory."""

from pathlib import Path

import pytest

from tools.approval.commands.prefix import prefix_of


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    """A directory with links to a directory and to a file beside it."""
    cwd, outside = tmp_path / "project", tmp_path / "outside"
    (cwd / "dir").mkdir(parents=True)
    (cwd / "src/a").mkdir(parents=True)
    outside.mkdir()
    (outside / "victim").write_text("theirs")
    for name in ("a", "b", "src/x"):
        (cwd / name).write_text("ours")
    (cwd / "link").symlink_to(outside)
    (cwd / "file-link").symlink_to(outside / "victim")
    (cwd / "dir/b").symlink_to(outside / "victim")
    (cwd / "dir/src").symlink_to(outside)
    (cwd / "near").symlink_to("dir")
    (cwd / "keys").symlink_to(".git")
    return cwd


def _covers(granted: str, later: str, cwd: Path) -> bool:
    prefix = prefix_of(granted, cwd)
    assert prefix is not None
    return prefix.covers(later, cwd)


@pytest.mark.parametrize(
    "later",
    [
        "cp a c",
        "cp a dir",
        "cp a dir/c",
        "cp a src",
        "cp a near",
        "cp a b src/a",
        "cp src/x dir/c",
        "cp a src/a",
        "cp a Xc",
    ],
)
def test_names_that_stay_in_the_directory_are_covered(later: str, cwd: Path) -> None:
    assert _covers("cp a b", later, cwd)


@pytest.mark.parametrize(
    "later",
    [
        "cp a link/c",
        "cp a link",
        "cp link/victim c",
        "cp a file-link",
        "cp file-link c",
        "cp a link/deeper/c",
        "cp a keys/config",
        # Into a directory where a link has the name already.
        "cp b dir",
        "cp b near",
        "cp src/b dir",
        "cp a b dir",
    ],
)
def test_a_link_that_leads_elsewhere_is_asked_about(later: str, cwd: Path) -> None:
    assert not _covers("cp a c", later, cwd)


def test_a_name_with_dots_is_asked_about_wherever_it_leads(cwd: Path) -> None:
    assert not _covers("cp a c", "cp a dir/../c", cwd)


def test_an_option_behind_the_directory_hides_no_link_in_it(cwd: Path) -> None:
    assert _covers("cp a c -v", "cp a dir -v", cwd)
    assert not _covers("cp a c -v", "cp b dir -v", cwd)


@pytest.mark.parametrize("later", ["pytest file-link::test_x", "pytest link:", "pytest link/victim::test_x"])
def test_a_part_of_a_file_is_looked_at_where_the_file_is(later: str, cwd: Path) -> None:
    assert _covers("pytest", "pytest a::test_x b:", cwd)
    assert not _covers("pytest", later, cwd)


def test_a_directory_as_a_whole_is_asked_about(cwd: Path) -> None:
    assert _covers("cp -r a c", "cp -r b d", cwd)
    assert not _covers("cp -r a c", "cp -r src dir", cwd)
    assert not _covers("cp -r a c", "cp -r src new", cwd)


@pytest.mark.parametrize(
    "granted",
    ["cp -t dir a", "cp --target-directory=dir a", "cp -tdir a", "cp -rt dir a", "cp a link/c", "cp a /tmp"],
)
def test_what_says_otherwise_where_files_go_is_allowed_only_word_for_word(granted: str, cwd: Path) -> None:
    assert prefix_of(granted, cwd) is None


def test_directories_that_are_copied_along_hide_no_link(cwd: Path) -> None:
    assert not _covers("cp --parents a dir", "cp --parents src/x dir", cwd)


@pytest.mark.parametrize("option", ["-p", "-rf", "--preserve=mode,timestamps", "--no-clobber"])
def test_other_options_that_were_seen_are_covered(option: str, cwd: Path) -> None:
    assert _covers(f"cp {option} a c", f"cp {option} src/x d", cwd)


def test_a_name_that_was_allowed_is_not_when_it_has_become_a_link(cwd: Path) -> None:
    prefix = prefix_of("cp a c", cwd)
    assert prefix is not None
    assert prefix.covers("cp src/x c", cwd)
    (cwd / "c").symlink_to("../outside/victim")
    assert not prefix.covers("cp src/x c", cwd)
    assert not prefix.covers("cp a c", cwd)


def test_moving_is_looked_at_in_the_same_way(cwd: Path) -> None:
    assert _covers("mv a c", "mv b d", cwd)
    assert not _covers("mv a c", "mv b link", cwd)
    assert _covers("git mv a c", "git mv b d", cwd)
    assert not _covers("git mv a c", "git mv b link/c", cwd)


def test_a_directory_that_is_reached_by_a_link_is_itself(cwd: Path) -> None:
    other = cwd.parent / "alias"
    other.symlink_to("project")
    assert _covers("cp a c", "cp b dir/d", other)
