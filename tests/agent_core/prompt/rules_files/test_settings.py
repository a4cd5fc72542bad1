"""How much is told of rules files, and what a project may want less of."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_core.config import ConfigSource
from agent_core.errors import SettingsError
from agent_core.home import Home
from agent_core.settings.project import chars_of_a_file, context_file_settings, read_project_policy
from agent_core.settings.sections import DEFAULT_NAMES
from agent_core.skill_files import PROJECT_FOLDERS
from tests.support.each import each
from tests.support.settings_files import configure
from tools.approval.persistence_paths import run_later


@each(
    ("window", "wanted", "chars"),
    [
        (None, None, 20_000),
        (8_000, None, 4_000),
        (16_000, None, 8_000),
        (32_000, None, 20_000),
        (200_000, None, 48_000),
        (10_000_000, None, 500_000),
        (200_000, 5_000, 5_000),
        (None, 50_000, 20_000),
    ],
)
def test_a_file_has_a_share_of_the_window(window, wanted, chars):
    assert chars_of_a_file(window, wanted) == chars


@pytest.mark.parametrize(
    ("own", "project", "enabled", "max_chars", "names"),
    [
        ({}, "enabled: false", False, None, 5),
        ({}, "enabled: 'no'", False, None, 5),
        ({}, "enabled: 'Off'", False, None, 5),
        ({}, "enabled: 0", False, None, 5),
        ({}, "enabled: 'yes'", True, None, 5),
        ({}, "enabled: 1", True, None, 5),
        ({}, "enabled: never", False, None, 5),
        ({}, "enabled: [yes]", False, None, 5),
        ({}, f"enabled: 0x{'f' * 9000}", False, None, 5),
        ({}, f"max_chars: '{'9' * 9000}'", True, None, 5),
        ({}, "max_chars: '2000'", True, 2000, 5),
        ({"enabled": "no"}, "enabled: true", False, None, 5),
        ({"enabled": "no"}, "enabled: yes", False, None, 5),
        ({"enabled": False}, "enabled: true", False, None, 5),
        ({"max_chars": 5000}, "max_chars: 9000", True, 5000, 5),
        ({"max_chars": 5000}, "max_chars: 2000", True, 2000, 5),
        ({"names": ["AGENTS.md"]}, "names: [CLAUDE.md, AGENTS.md]", True, None, 1),
        ({}, "names: []", True, None, 0),
        ({}, "max_chars: lots", True, None, 5),
    ],
)
def test_a_project_can_only_narrow(home, tmp_path, own, project, enabled, max_chars, names):
    configure(home, {"context_files": own})
    (tmp_path / ".hermes").mkdir()
    (tmp_path / ".hermes" / "config.yaml").write_text(f"context_files:\n  {project}\n")
    settings = context_file_settings(ConfigSource(Home(home)).load(), (tmp_path,))
    assert (settings.enabled, settings.max_chars, len(settings.names)) == (enabled, max_chars, names)


@pytest.mark.parametrize(
    ("text", "warnings"),
    [
        ("context_files: {enabled: false}", 0),
        ("context_files: {enabled: 'no', max_chars: '500'}", 0),
        ("context_files: {enabled: never}", 1),
        ("approvals: {mode: ask}", 0),
        ("context_files: {max_chars: lots, other: 1}", 2),
        ("context_files: [a]", 1),
        ("context_files: {names: AGENTS.md}\napprovals: {mode: all}", 1),
    ],
)
def test_what_a_project_says_wrongly_is_told(home, tmp_path, text, warnings):
    (tmp_path / ".hermes").mkdir()
    (tmp_path / ".hermes" / "config.yaml").write_text(text)
    assert len(read_project_policy(tmp_path, home).warnings) == warnings


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("enabled: never", "enabled in {file} must be true or false. Until then no rules files are read."),
        ("max_chars: lots", "max_chars in {file} is ignored: it must be a whole number above 0."),
        ("names: AGENTS.md", "names in {file} is ignored: it must be a list of file names."),
        ("other: 1", "other in {file} is ignored: a project can only"),
    ],
)
def test_what_a_project_says_wrongly_is_told_with_what_would_be_right(home, tmp_path, text, said):
    (tmp_path / ".hermes").mkdir()
    file = tmp_path / ".hermes" / "config.yaml"
    file.write_text(f"context_files:\n  {text}\n")
    (warning,) = read_project_policy(tmp_path, home).warnings
    assert warning.startswith(f"context_files.{said.format(file=file)}")


@pytest.mark.parametrize("name", ["../AGENTS.md", "/etc/passwd", "", "a\nb"])
def test_names_stay_in_their_directory(home, name):
    configure(home, {"context_files": {"names": [name]}})
    with pytest.raises(SettingsError, match=r"context_files\.names"):
        ConfigSource(Home(home)).load()


@pytest.mark.parametrize("name", [*DEFAULT_NAMES, *(f"{folder}/x/SKILL.md" for folder in PROJECT_FOLDERS)])
def test_rules_files_and_skills_are_among_the_places_that_others_run_later(name):
    for path in (Path("/w", name), Path("/w/packages/a", name)):
        assert run_later(path) is not None
