"""`@path` in rules files."""

from __future__ import annotations

import pytest

from agent_core.prompt.context_files.mentions import mentions_in


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("See @docs/a.md, and @./b.md.", ["docs/a.md", "./b.md"]),
        ("@../c.md (@~/d.md) @/e/f.md", ["../c.md", "~/d.md", "/e/f.md"]),
        ("- @a.md\n- @a.md", ["a.md"]),
        ("mail me@example.org, ask @someone", []),
        ("`@a.md` ``@b.md`` @c.md", ["c.md"]),
        ("```\n@a.md\n```\n@b.md", ["b.md"]),
        ("~~~~ text\n@a.md\n~~~\n@b.md\n~~~~\n@c.md", ["c.md"]),
        ("```\n@never.md closed", []),
        ("<!-- @a.md\n@b.md --> @c.md", ["c.md"]),
        ("    @a.md as code? a list may be indented\n    code @b.md", ["a.md"]),
        ("@README", []),
        ("git@github.com:a/b.git", []),
    ],
)
def test_paths_are_found_in_prose_and_not_in_code(text, found):
    assert list(mentions_in(text)) == found


def test_a_long_text_without_ends_is_no_trouble():
    assert list(mentions_in("`" * 20_000 + "@a.md" + "<!--" * 5_000)) is not None
