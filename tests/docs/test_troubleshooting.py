"""What the troubleshooting page quotes is what the program says."""

from __future__ import annotations

import re
from functools import cache

from tests.support.doc_blocks import DOCS, ROOT
from tests.support.each import each

_QUOTE = re.compile(r"^> (.+)$", re.MULTILINE)
# Texts that stand in several pieces, one below the other.
_JOINED = re.compile(r'"\s*\n\s*f?"')


@cache
def _sources() -> str:
    files = (path for package in ("acp_adapter", "agent_core", "tools") for path in (ROOT / package).rglob("*.py"))
    return _JOINED.sub("", "\n".join(path.read_text(encoding="utf-8") for path in sorted(files)))


def _quotes() -> list[str]:
    return _QUOTE.findall((DOCS / "troubleshooting.md").read_text(encoding="utf-8"))


@each("quote", _quotes())
def test_every_quoted_message_is_one_of_the_program_s(quote: str) -> None:
    assert quote in _sources()


def test_texts_in_pieces_are_joined_and_others_are_not_found() -> None:
    assert _JOINED.sub("", '"one "\n        f"two"') == '"one two"'
    assert "no program of ours says this" not in _sources()
