"""Patches in the V4A format: see v4a_cases for what each shows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

import tools.patch  # noqa: F401 - registers the tool
from tests.support.tool_context import call, error_of, make_context, payload
from tests.tools.patching.v4a_cases import CASES, FORGIVEN, GRAMMAR, KEPT, NUMBERED, REFUSED, Case


def fill(folder: Path, files: Mapping[str, str | bytes]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def as_bytes(files: Mapping[str, str | bytes]) -> dict[str, bytes]:
    return {name: text if isinstance(text, bytes) else text.encode() for name, text in files.items()}


def named(case: Case) -> str:
    return case.name


@pytest.mark.parametrize("case", [*GRAMMAR, *FORGIVEN, *NUMBERED, *KEPT], ids=named)
def test_what_can_mean_one_thing_is_done(tmp_path: Path, case: Case):
    fill(tmp_path, case.before)
    payload(call(make_context(tmp_path), "patch", mode="patch", patch=case.patch))
    assert case.after is not None
    assert content(tmp_path) == as_bytes(case.after)


@pytest.mark.parametrize("case", REFUSED, ids=named)
def test_the_rest_changes_nothing_and_says_why(tmp_path: Path, case: Case):
    fill(tmp_path, case.before)
    message = error_of(call(make_context(tmp_path), "patch", mode="patch", patch=case.patch))
    assert [part for part in case.told if part not in message] == [], message
    assert content(tmp_path) == as_bytes(case.before)


def test_there_are_enough_cases_and_none_twice():
    assert len({case.name for case in CASES}) == len(CASES) >= 60
