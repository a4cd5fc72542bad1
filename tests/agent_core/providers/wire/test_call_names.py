"""Ids and names of tool calls for strict servers."""

from __future__ import annotations

import re

import pytest

from agent_core.providers.protocol import fitting_name, id_of_nine, usual_id

ODD = ["call_" + "x" * 60, "call_" + "x" * 61, "with space", "ünïcode", "", "a/b", "\ud800"]


@pytest.mark.parametrize("call_id", ["call_abc-123", "toolu_01A", "functions.read:0", "x" * 40])
def test_an_id_that_fits_stays(call_id):
    assert usual_id(call_id) == call_id


def test_nine_letters_and_digits_stay():
    assert id_of_nine("abcDEF123") == "abcDEF123"


@pytest.mark.parametrize(("make", "pattern"), [(usual_id, "[a-zA-Z0-9_-]{1,40}"), (id_of_nine, "[a-zA-Z0-9]{9}")])
def test_any_other_id_fits_afterwards_and_different_ones_stay_different(make, pattern):
    made = [make(call_id) for call_id in ODD]
    assert all(re.fullmatch(pattern, call_id) for call_id in made)
    assert len(set(made)) == len(ODD)
    assert made == [make(call_id) for call_id in ODD]


@pytest.mark.parametrize("name", ["read_file", "mcp__server__tool-1", "x" * 64])
def test_a_name_that_fits_stays(name):
    assert fitting_name(name) == name


@pytest.mark.parametrize("name", ["functions.read file", "x" * 65, "", "ünïcode"])
def test_any_other_name_fits_afterwards(name):
    assert re.fullmatch("[a-zA-Z0-9_-]{1,64}", fitting_name(name))
