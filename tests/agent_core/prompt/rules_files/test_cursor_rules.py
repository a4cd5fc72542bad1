"""The heads of Cursor's rules, as people write them."""

from __future__ import annotations

from pathlib import PurePosixPath

from agent_core.prompt.rules_reader import CursorRule, parse_rule
from tests.support.each import each


@each(
    ("text", "rule"),
    [
        ("text", CursorRule("text", always=True)),
        ("---\nalwaysApply: true\n---\n\ntext\n", CursorRule("text", always=True)),
        ("---\nglobs: *.py,src/**/*.{ts,tsx}\n---\nt", CursorRule("t", globs=("*.py", "src/**/*.{ts,tsx}"))),
        ('---\nglobs: ["*.py", "./a/*"]\n---\nt', CursorRule("t", globs=("*.py", "a/*"))),
        ("---\nglobs:\n  - '*.py'\n  - b\n---\nt", CursorRule("t", globs=("*.py", "b"))),
        ("---\ndescription: 'How: it'\nalwaysApply: false\n---\nt", CursorRule("t", description="How: it")),
        ("---\nnever closed", CursorRule("---\nnever closed", always=True)),
        ("---\n---\nt", CursorRule("t")),
    ],
)
def test_a_head_is_read_as_it_is_written(text, rule):
    assert parse_rule(text) == rule


@each(
    ("glob", "path", "fits"),
    [
        ("*.py", "a/b/c.py", True),
        ("*.py", "a.pyc", False),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/a/b.py", False),
        ("src/**/*.py", "src/b.py", True),
        ("src/**/*.py", "src/a/b/c.py", True),
        ("**/*.{ts,tsx}", "a/b.tsx", True),
        ("**/*.{ts,tsx}", "a/b.js", False),
        ("docs/", "docs/a/b.md", True),
        ("a/[bc]?.md", "a/bx.md", True),
        ("a/[!b].md", "a/b.md", False),
        ("a/[!b].md", "a/c.md", True),
        ("a+(b).md", "a+(b).md", True),
        ("*" * 50, "a", True),
        ("*a" * 50 + "b", "a" * 250, False),
        ("**/" * 40 + "b", "a/" * 100 + "a", False),
        ("src/{a,{b,c}/**}/*.ts", "src/c/d/e.ts", True),
        ("src/{a,{b,c}/**}/*.ts", "src/a/e.ts", True),
        ("{a,b", "{a,b", True),
        ("{a,b}" * 30, "a" * 30, False),
        ("x" * 300, "x" * 300, False),
        ("[z-a]", "a", False),
    ],
)
def test_globs_mean_what_they_mean_elsewhere(glob, path, fits):
    assert CursorRule("t", globs=(glob,)).is_for(PurePosixPath(path)) is fits
