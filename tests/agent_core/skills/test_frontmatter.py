"""Heads of SKILL.md files: what is read of good ones, and what is said of bad ones."""

from __future__ import annotations

import pytest

from agent_core.skill_files import BadSkill, read_skill, split
from tests.support.each import each
from tests.support.skills import skill_text


def test_a_plain_head_is_read():
    head = read_skill(skill_text("make-tea", "Makes tea.  Use it\n  at five."), "make-tea")
    assert (head.name, head.description) == ("make-tea", "Makes tea. Use it at five.")


@pytest.mark.parametrize("text", ["\ufeff" + skill_text("tea"), skill_text("tea").replace("\n", "\r\n")])
def test_marks_and_line_ends_of_other_systems_are_understood(text: str):
    assert read_skill(text, "tea").name == "tea"
    assert split(text)[1].strip() == "Do it well."


def test_a_colon_in_a_value_is_no_reason_to_lose_a_skill():
    assert (
        read_skill(skill_text("tea", "Makes tea. Use when: asked"), "tea").description == "Makes tea. Use when: asked"
    )


def test_conditions_are_read():
    head = read_skill(
        "---\nname: tea\ndescription: Tea.\nplatforms: [macos, Linux]\nuser-invocable: false\n"
        "metadata:\n  hermes:\n    requires_tools: [terminal]\n    fallback_for_toolsets: web\n---\nDo.\n",
        "tea",
    )
    assert head.conditions.platforms == {"macos", "linux"}
    assert (head.conditions.requires, head.conditions.instead_of) == ({"terminal"}, {"web"})
    assert not head.for_person
    assert head.for_model


@each(
    ("text", "why"),
    [
        ("", "not its first line"),
        ("Just text.", "not its first line"),
        ("---\nname: tea\n", "no end"),
        ("---\nname: tea\n---\nDo.", "no description"),
        ("---\ndescription: x\n---\nDo.", "no name"),
        ("---\nname: tea\ndescription: x\n---\n \n", "no instructions"),
        ("---\nname: [tea\n---\nDo.", "no YAML"),
        ("---\n- a\n---\nDo.", "`key: value`"),
        ("---\nname: 7\ndescription: x\n---\nDo.", "no name"),
        (skill_text("coffee"), "not its folder's name"),
        (skill_text("Tea"), "small letters"),
        (skill_text("tea--x"), "small letters"),
        (skill_text("t" * 65), "small letters"),
        (skill_text("thé"), "small letters"),
        (skill_text("tea", "x" * 1_025), "1,025 characters"),
        (skill_text("tea", "\u200b\u202e"), "no description"),
        ("---\na: &a [x, x]\nb: &b [*a, *a]\nname: tea\ndescription: x\n---\nDo.", "aliases"),
        ("---\nname: tea\ndescription: x\na: " + "[" * 50 + "]" * 50 + "\n---\nDo.", "nested too deeply"),
        ("---\nname: tea\ndescription: x\na: " + "x" * 20_000 + "\n---\nDo.", "16,384 are allowed"),
        ("---\nname: tea\ndescription: !!python/object:os.system x\n---\nDo.", "no YAML"),
    ],
)
def test_what_is_wrong_is_said(text: str, why: str):
    with pytest.raises(BadSkill, match=why.replace("(", r"\(")):
        read_skill(text, "tea")


def test_signs_that_hide_something_are_not_in_the_description():
    head = read_skill('---\nname: tea\ndescription: "a\\u202eb\\ec"\n---\nDo.', "tea")
    assert head.description == "ab c"
