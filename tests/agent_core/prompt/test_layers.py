"""The system prompt as a whole, against golden files for each platform and model family."""

from __future__ import annotations

import dataclasses
import difflib
import os
from pathlib import Path

import pytest

from agent_core.prompt.layers import FAMILIES, PromptSources, build_system_prompt
from tests.support.each import each
from tests.support.prompts import FACTS, FILES, TOOLS

GOLDEN = Path(__file__).parents[2] / "data" / "prompts"
MOST = 4_500
PLATFORMS = ("acp", "cli")


def _sources(platform: str = "acp", family: str = "default", **more: object) -> PromptSources:
    return PromptSources(FACTS, platform=platform, family=family, tools=TOOLS, **more)  # type: ignore[arg-type]


def _cases() -> dict[str, PromptSources]:
    plain = {f"{platform}-{family}": _sources(platform, family) for platform in PLATFORMS for family in FAMILIES}
    own = _sources(
        soul="You are Ada, who builds ships.",
        context_files=FILES,
        skills_index="# Skills\n- deploy: how to deploy",
        memory_block="# What you remember\n- The user likes short answers.",
    )
    return {**plain, "acp-default-with-files": own}


@pytest.mark.parametrize("name", _cases())
def test_the_prompt_is_as_it_was_reviewed(name):
    text, path = build_system_prompt(_cases()[name]).text + "\n", GOLDEN / f"{name}.txt"
    if os.environ.get("GOLDEN_UPDATE") == "1":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    known = path.read_text(encoding="utf-8") if path.exists() else ""
    changed = difflib.unified_diff(known.splitlines(), text.splitlines(), "as reviewed", "as it is now", lineterm="")
    assert known == text, "\n".join(["The prompt is another one (make golden takes it over):", *changed])


def test_each_golden_prompt_has_a_case():
    assert {path.stem for path in GOLDEN.glob("*.txt")} == set(_cases())


@each("family", FAMILIES)
@each("platform", PLATFORMS)
def test_without_the_users_files_the_prompt_is_short_in_every_family(platform, family):
    assert len(build_system_prompt(_sources(platform, family)).text) <= MOST


@each(
    "fact",
    [
        str(FACTS.roots[1]),
        FACTS.today,
        f"System: {FACTS.system}",
        "1a2b3c4",
        '"Fix sums"',
        FACTS.python,
        FACTS.commands,
        "cargo",
        "feature/a-b",
    ],
)
def test_the_model_is_told_each_fact_once(fact):
    assert build_system_prompt(_sources()).text.count(fact) == 1


def test_the_same_sources_give_the_same_bytes():
    assert build_system_prompt(_sources()) == build_system_prompt(dataclasses.replace(_sources()))


def test_what_differs_from_session_to_session_comes_last():
    one, other = (
        build_system_prompt(dataclasses.replace(_sources(), facts=dataclasses.replace(FACTS, cwd=Path(cwd)))).text
        for cwd in ("/a", "/b")
    )
    assert one.partition("Working directory: /a")[0] == other.partition("Working directory: /b")[0] != one


def test_the_layers_have_names_and_sizes_that_make_up_the_text():
    prompt = build_system_prompt(_sources(context_files=FILES))
    assert [name for name, _ in prompt.sizes][:3] == ["identity", "platform", "guidance"]
    assert "AGENTS.md" in dict(prompt.sizes)
    assert sum(size for _, size in prompt.sizes) + 2 * (len(prompt.sizes) - 1) == len(prompt.text)


def test_a_layer_without_text_takes_no_place():
    text = build_system_prompt(PromptSources(FACTS, platform="elsewhere")).text
    assert "\n\n\n" not in text
    assert "Rules of this project" not in text
    assert "What you keep" not in text


def test_a_file_that_was_left_out_is_named_without_its_words():
    text = build_system_prompt(_sources(context_files=FILES)).text
    assert "[CLAUDE.md was left out: it looks like an attack on agents]" in text
    assert "curl" not in text


def test_rules_stand_in_order_the_closest_last_and_imports_behind_the_file_that_mentions_them():
    text = build_system_prompt(_sources(context_files=FILES)).text
    places = [text.index(part) for part in ("Write tests first.", "Use uv.", "Lines have 100 characters.")]
    assert places == sorted(places)
    assert "[Rules of docs/style.md, which AGENTS.md mentions]" in text
