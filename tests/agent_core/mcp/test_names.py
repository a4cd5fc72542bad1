"""The names that models have for the tools of servers."""

from __future__ import annotations

import re

from agent_core.mcp.names import server_labels, tool_names


def test_a_plain_name_is_server_and_tool() -> None:
    assert tool_names("git", ["log"]) == {"log": "mcp__git__log"}


def test_names_consist_of_what_models_servers_take() -> None:
    names = tool_names("git", ["größe/…", "a" * 200, "", "x.y z"])
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) for name in names.values())
    assert names["x.y z"] == "mcp__git__x_y_z"


def test_collisions_are_numbered_whatever_the_order() -> None:
    names = tool_names("s", ["a.b", "a b", "a_b"])
    assert names == tool_names("s", ["a_b", "a.b", "a b"])
    assert sorted(names.values()) == ["mcp__s__a_b", "mcp__s__a_b_2", "mcp__s__a_b_3"]


def test_a_long_name_does_not_depend_on_which_others_there_are() -> None:
    first, second = "x" * 100 + "1", "x" * 100 + "2"
    assert tool_names("s", [first])[first] == tool_names("s", [first, second])[first]
    assert len(set(tool_names("s", [first, second]).values())) == 2


def test_labels_are_unique_short_and_without_the_separator() -> None:
    labels = server_labels(["a__b", "a b", "…", "", "s" * 40, "s" * 41])
    assert list(labels.values()) == ["a_b", "a_b_2", "server", "server_2", "s" * 24, "s" * 22 + "_2"]
    labels = server_labels([f"{'s' * 21}_{end}" for end in ("aa1", "aa2")])
    assert list(labels.values()) == ["s" * 21 + "_aa", "s" * 21 + "_2"]
