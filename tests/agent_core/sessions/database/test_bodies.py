"""How bodies lie in a column."""

import math

import pytest

from agent_core.errors import StoreError
from agent_core.sessions.database import pack, unpack
from tests.support.each import each


@each(
    "value",
    [
        None,
        "",
        {"role": "user", "content": "Grüße, 世界 🎉"},
        {"deep": [[[{"a": 1.5, "b": True, "c": None}]]], "zero": "a\x00b"},
        {"lone": "\ud800 tail", "long": "\udfff" * 2000},
        ["x" * 100_000, 2**70, float("inf")],
    ],
)
def test_a_value_comes_back_as_it_was(value):
    assert unpack(pack(value)) == value


def test_nan_comes_back():
    assert math.isnan(unpack(pack({"n": float("nan")}))["n"])


def test_short_values_are_readable_text_and_long_ones_compressed():
    assert pack({"a": "ü"}) == '{"a":"ü"}'
    packed = pack({"text": "the same again. " * 1000})
    assert isinstance(packed, bytes)
    assert len(packed) < 1000


@each("stored", ["", "{", "\x00", b"no zlib", pack("x" * 5000)[:-9], 7, None, "[" * 200_000])
def test_damage_is_told_as_such(stored):
    with pytest.raises(StoreError, match="hermes-acp doctor") as caught:
        unpack(stored)
    assert caught.value.kind == "corrupt"


def test_what_is_no_json_is_refused():
    with pytest.raises(TypeError):
        pack({"path": object()})
