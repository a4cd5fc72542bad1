from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from acp_adapter.jsonrpc import encode

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(alphabet="a✓é\u2028😀\ud83d\x00", max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "✓"]), inner, max_size=3),
    max_leaves=8,
)


def _strict(_: str) -> Any:
    raise AssertionError("no JSON has NaN or an infinity")


@given(_VALUES)
def test_every_message_is_a_line_of_ascii_that_strict_parsers_take(value: Any) -> None:
    line = encode({"jsonrpc": "2.0", "id": 1, "result": value})
    assert line.isascii()
    assert line.endswith(b"\n")
    assert b"\n" not in line[:-1]
    message = json.loads(line, parse_constant=_strict)
    json.dumps(message, ensure_ascii=False).encode()  # no half of a surrogate pair


def test_an_id_comes_back_as_it_came_beside_what_strict_parsers_would_not_take() -> None:
    line = encode({"id": "\ud83d", "result": ["\ud83d", float("nan"), "✓"]})
    assert json.loads(line) == {"id": "\ud83d", "result": ["\ufffd", None, "✓"]}
