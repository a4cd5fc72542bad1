"""`@path` in rules files."""

from __future__ import annotations

import pytest

from agent_core.prompt.rules_reader import mentions_in
from tests.support.each import each


@each(
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
        ("@app/blog/[slug]/page.md, @~name/x.md", ["app/blog/[slug]/page.md", "~name/x.md"]),
        ("(@app/(shop)/[[...all]]/a.md) [@b.md](c) @d.md(e)", ["app/(shop)/[[...all]]/a.md", "b.md", "d.md"]),
        ("@README", []),
        ("git@github.com:a/b.git", []),
    ],
)
def test_paths_are_found_in_prose_and_not_in_code(text, found):
    assert list(mentions_in(text)) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("<!--" * 60_000 + " @a.md", ["a.md"]),
        ("@a/[a" * 40_000, ["a/"]),
        ("` ``" * 40_000 + "` @a.md", ["a.md"]),
        ("".join("`" * number + " " for number in range(1, 600)) + "@a.md", ["a.md"]),
        ("x" + "`" * 200_000 + " @a.md", ["a.md"]),
    ],
)
def test_a_long_text_whose_code_and_comments_have_no_ends_takes_no_time(text, found):
    assert list(mentions_in(text)) == found
