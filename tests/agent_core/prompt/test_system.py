"""The system prompt."""

from __future__ import annotations

import dataclasses
import datetime as dt
from pathlib import Path

import pytest

from agent_core.prompt.system import PromptFacts, build_system_prompt, gather_facts

FACTS = PromptFacts(
    cwd=Path("/src/project"),
    roots=(Path("/src/project"), Path("/src/library")),
    today="2031-02-03",
    system="Linux 6",
    shell="/bin/zsh",
)


@pytest.mark.parametrize("fact", ["/src/project", "/src/library", "2031-02-03", "Linux 6", "/bin/zsh"])
def test_the_model_is_told_each_fact_once(fact):
    assert build_system_prompt(FACTS).count(fact) == 1


def test_the_same_facts_give_the_same_bytes():
    assert build_system_prompt(FACTS) == build_system_prompt(dataclasses.replace(FACTS))


def test_what_changes_comes_last_so_that_the_prefix_can_be_cached():
    one, other = (build_system_prompt(dataclasses.replace(FACTS, cwd=Path(cwd), roots=())) for cwd in ("/a", "/b"))
    assert one.partition("/a")[0] == other.partition("/b")[0]
    assert len(one.partition("/a")[0]) > 0.8 * len(one) - 100


def test_a_session_of_one_directory_names_no_others():
    prompt = build_system_prompt(dataclasses.replace(FACTS, roots=(FACTS.cwd,)))
    assert "Further directory" not in prompt


def test_only_an_editor_gets_the_editors_hint():
    assert "agent panel" in build_system_prompt(FACTS, "acp")
    assert "agent panel" not in build_system_prompt(FACTS, "elsewhere")
    assert "\n\n\n" not in build_system_prompt(FACTS, "elsewhere")


def test_the_facts_of_this_machine(tmp_path, monkeypatch):
    monkeypatch.setenv("SHELL", "/bin/fish")
    facts = gather_facts(tmp_path, (tmp_path,))
    assert (facts.cwd, facts.roots, facts.shell) == (tmp_path, (tmp_path,), "/bin/fish")
    assert dt.date.fromisoformat(facts.today)
    assert facts.system
