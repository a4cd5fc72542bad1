"""What a change in a place that others run later is about: some of these files programs write all day.

git keeps its settings in the file that also names programs; an editor notes its windows beside what it runs. Only
what makes somebody run something else counts. What cannot be read to its end counts always.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from tools.environments.git_settings import running_settings

_CONFIGS = frozenset({"config", "config.worktree"})
_TODO = re.compile(
    rb"\s*(?:#.*|(?:p|pick|r|reword|e|edit|s|squash|f|fixup|d|drop|l|label|t|reset|m|merge|u|update-ref|revert|noop"
    rb"|b|break)(?:\s.*)?)?"
)
_TODOS = frozenset({"sequencer/todo", "rebase-merge/git-rebase-todo"})
_OWN_COMMON = b"../.."
_ADDRESS = re.compile(r"remote\..*\.(?:url|pushurl)", re.DOTALL)
_PLAIN_ADDRESS = re.compile(r"(?:https?|ssh|git|file)://[^\s]+|[\w.-]+@[\w.-]+:[^\s:]+|\.{0,2}/[^\s:]*")
# What JetBrains' editors note in `.idea/workspace.xml` whenever a window is moved.
_WINDOWS = re.compile(
    rb'<component name="(?:AutoImportSettings|BookmarksManager|ChangeListManager|ClangdSettings|CMakeSettings'
    rb"|EditorHistoryManager|FileEditorManager|FileTemplateManagerImpl|FindInProjectRecents|Git\.Settings"
    rb"|GitSEFilterConfiguration|IdeDocumentHistory|KubernetesApiPersistence|MarkdownSettingsMigration"
    rb"|ProblemsViewState|ProjectColorInfo|ProjectErrors|ProjectFrameBounds|ProjectId|ProjectLevelVcsManager"
    rb"|ProjectView|ProjectViewState|RecentsManager|SharedIndexes|SpellCheckerSettings|TaskManager"
    rb"|TypeScriptGeneratedFilesManager|ToolWindowManager|UnknownFeatures|Vcs\.Log\.Tabs\.Properties"
    rb"|VcsManagerConfiguration|com\.intellij\.coverage\.CoverageDataManagerImpl)\"(?:\s[^>]*)?"
    rb"(?:/>|>(?:(?!<component\b).)*?</component>)\s*",
    re.DOTALL,
)


def runs_the_same(path: Path, before: bytes | None, after: bytes, *, is_git: bool, is_nested: bool) -> bool:
    """Whether a file makes others run nothing else than before.

    Args:
        before: its content; None where it was not there.
        is_git: it is a repository's own.
        is_nested: it belongs to a repository within the workspace, not to the workspace's own.
    """
    if path.name == "workspace.xml" and before is not None:
        return _WINDOWS.sub(b"", before) == _WINDOWS.sub(b"", after)
    if not is_git:
        return False
    if is_settings(path):
        return _new_settings(before or b"", after, is_nested=is_nested) == frozenset()
    if path.name == "commondir":
        return before is None and pointed(after) == _OWN_COMMON
    return "/".join(path.parts[-2:]) in _TODOS and all(_TODO.fullmatch(line) for line in after.split(b"\n"))


def is_settings(path: Path) -> bool:
    """Whether a file of a repository holds its settings."""
    return path.name in _CONFIGS


def pointed(text: bytes) -> bytes:
    """The path in a `.git` file behind its first word, or in `commondir`, as git reads it: blanks belong to it."""
    return text.split(b"\0", 1)[0].rstrip(b"\r\n")


def led_to(pointer: Path, text: bytes) -> Path:
    """Where such a path leads from the directory that it is in."""
    return pointer.parent / os.fsdecode(pointed(text))


def _new_settings(before: bytes, after: bytes, *, is_nested: bool) -> frozenset[tuple[str, str]]:
    found = running_settings(after) - running_settings(before)
    if not is_nested:
        return found
    # The host of the workspace's own remote is reached without a question; that of a clone within it is not.
    return frozenset(
        (name, value)
        for name, value in found
        if not (_ADDRESS.fullmatch(name) and _PLAIN_ADDRESS.fullmatch(value) and "::" not in value)
    )
