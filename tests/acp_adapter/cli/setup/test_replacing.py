"""Files get new contents and stay whose they are."""

import os
from pathlib import Path

import pytest

from acp_adapter.cli.setup.config_files import PRIVATE, NewFile, free_backup


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_with_sudo_files_stay_whose_they_are_and_new_ones_belong_to_who_owns_the_directory(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("old")
    for path in (tmp_path, tmp_path / "there"):
        os.chown(path, 12345, 23456)
    backup = tmp_path / "there.bak"
    NewFile(tmp_path / "there", "new", PRIVATE, backup).write()
    NewFile(tmp_path / "new", "x", PRIVATE).write()
    for path in (tmp_path / "there", backup, tmp_path / "new"):
        facts = path.stat()
        assert (facts.st_uid, facts.st_gid, facts.st_mode & 0o777) == (12345, 23456, PRIVATE)


def test_a_backup_goes_beside_those_that_are_there_also_beside_broken_links(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("now")
    (tmp_path / "config.yaml.bak").symlink_to("gone")
    (tmp_path / "config.yaml.bak1").write_text("before")
    assert free_backup(file, ".bak").name == "config.yaml.bak2"
    (tmp_path / "config.yaml.bak2").write_text("now")
    assert free_backup(file, ".bak").name == "config.yaml.bak2"
