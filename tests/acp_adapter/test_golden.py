"""What goes over the wire, in whole transcripts: each scenario with each kind of client, against its golden file.

`make golden` writes the files anew; what changed is for a person to review.
"""

from __future__ import annotations

import difflib
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.editor_profiles import PROFILES
from tests.support.scenarios import ALL
from tests.support.scenarios.scenario import Scenario
from tests.support.scenarios.stage import Stage
from tests.support.scenarios.transcript import transcript
from tools.registry import registry
from tools.settings import CDP_URL

GOLDEN = Path(__file__).parent / "golden"
_DIFFERENT = ("zed", "minimal")
_HEAD = re.compile(r"^=== ([a-z, ]+) ===\n", re.MULTILINE)
UPDATES = os.environ.get("GOLDEN_UPDATE") == "1"


@pytest.fixture(autouse=True)
def _a_browser_to_connect_to(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Which tools there are must not depend on whether this machine has a browser, nor on who has asked before."""
    monkeypatch.setenv(CDP_URL, "http://127.0.0.1:9")
    registry.forget_checks()
    yield
    registry.forget_checks()


async def _played(scenario: Scenario, root: Path, profile: str) -> str:
    async with Stage(root, profile) as stage:
        await scenario.play(stage)
    return transcript(stage, whole=scenario.whole)


def _sections(about: str, played: dict[str, str]) -> str:
    texts: dict[str, list[str]] = {}
    for profile, text in played.items():
        texts.setdefault(text, []).append(profile)
    parts = [f"=== {', '.join(profiles)} ===\n{text}" for text, profiles in texts.items()]
    return "\n".join([f"{about}\n", *parts])


@pytest.fixture
def short_root() -> Iterator[Path]:
    """Where the scenarios play: labels are cut at long paths, and pytest's are."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@pytest.mark.parametrize("scenario", ALL, ids=lambda scenario: scenario.name)
async def test_the_transcript_is_as_it_was_reviewed(scenario: Scenario, short_root: Path) -> None:
    """With the editors that differ most, and one of them where the reviewed transcripts are the same;
    `test_every_editor_has_its_transcript` has all of them."""
    known = _texts(GOLDEN / f"{scenario.name}.txt")
    for profile in _to_play(scenario, known)[0]:
        _compare(known.get(profile, ""), await _played(scenario, short_root / profile, profile))


@pytest.mark.long
@pytest.mark.parametrize("scenario", ALL, ids=lambda scenario: scenario.name)
async def test_the_other_editors_transcript_is_the_same(scenario: Scenario, short_root: Path) -> None:
    known = _texts(GOLDEN / f"{scenario.name}.txt")
    for profile in _to_play(scenario, known)[1]:
        _compare(known[profile], await _played(scenario, short_root / profile, profile))


def _to_play(scenario: Scenario, known: dict[str, str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The editors whose transcripts differ, or one of those that have the same, by turns; and the rest of these."""
    chosen = tuple(each for each in scenario.profiles if each in _DIFFERENT) or scenario.profiles
    if len({known.get(each) for each in chosen}) > 1:
        return chosen, ()
    turn = ALL.index(scenario) % len(chosen)
    return chosen[turn : turn + 1], chosen[:turn] + chosen[turn + 1 :]


@pytest.mark.slow
@pytest.mark.parametrize("scenario", ALL, ids=lambda scenario: scenario.name)
async def test_every_editor_has_its_transcript(scenario: Scenario, short_root: Path) -> None:
    played = {profile: await _played(scenario, short_root / profile, profile) for profile in scenario.profiles}
    text, path = _sections(scenario.about, played), GOLDEN / f"{scenario.name}.txt"
    if UPDATES:
        path.write_text(text, encoding="utf-8")
        return
    _compare(path.read_text(encoding="utf-8") if path.exists() else "", text)


def _compare(known: str, text: str) -> None:
    changed = difflib.unified_diff(known.splitlines(), text.splitlines(), "as reviewed", "as it is now", lineterm="")
    assert known == text, "\n".join(["The transcript is another one (make golden takes it over):", *changed])


def _texts(path: Path) -> dict[str, str]:
    """The reviewed transcripts by profile."""
    written = path.read_text(encoding="utf-8") if path.exists() else ""
    parts = _HEAD.split(written)[1:]
    texts = (
        text.removesuffix("\n") if number < len(parts) // 2 else text for number, text in enumerate(parts[1::2], 1)
    )
    sections = zip(parts[::2], texts, strict=True)
    return {profile: text for profiles, text in sections for profile in profiles.split(", ")}


def test_there_are_enough_scenarios_and_each_golden_file_has_one() -> None:
    names = [scenario.name for scenario in ALL]
    assert len(names) == len(set(names))
    assert sum(scenario.profiles == tuple(PROFILES) for scenario in ALL) >= 40
    assert {path.stem for path in GOLDEN.glob("*.txt")} == set(names)
    assert all(scenario.about for scenario in ALL)
