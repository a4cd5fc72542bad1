"""A key that we know is found in the encodings that it goes through."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

import pytest

from tools.redaction import Redactor

KEY = 'k/ey+"with ü signs'


@pytest.mark.parametrize(
    "told",
    [
        KEY,
        quote(KEY, safe=""),
        json.dumps(KEY)[1:-1],
        json.dumps(KEY, ensure_ascii=False)[1:-1],
        base64.b64encode(KEY.encode()).decode(),
        base64.urlsafe_b64encode(f"me:{KEY}".encode()).decode(),
    ],
)
def test_a_key_of_ours_is_known_however_it_is_written(told: str) -> None:
    shown = Redactor([KEY])(f"it is {told} there")
    assert "[redacted: our key]" in shown
    assert told[6:-6] not in shown


def test_a_short_key_is_not_looked_for_in_what_any_text_may_hold() -> None:
    assert Redactor(["abc"])("abc YWJj") == "abc YWJj"
