"""Whatever is searched for in whatever tree: `rg` and its substitute find the same; git agrees on what is ignored."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.searches import by_rg, by_substitute, names, write_tree
from tools.environments import python_search
from tools.ports import SearchQuery
from tools.text import globs

_SEARCHES = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
_WORDS = st.sampled_from(["a", "b", "ab", "Ab", "c.d", "é", "ж", "x_1", " ", "-", "12"])
_LINES = st.lists(_WORDS, max_size=5).map("".join)
_TEXTS = st.lists(_LINES, max_size=8).map("\n".join) | st.lists(_LINES, max_size=4).map("\r\n".join)
_PARTS = st.sampled_from(["a", "b", "ab", "a.c", "b.c", "x.log", "c"])
_PATHS = st.lists(_PARTS, min_size=1, max_size=3).map(
    lambda parts: "/".join([*(f"{p}_" for p in parts[:-1]), parts[-1]])
)
_TREES = st.dictionaries(_PATHS, _TEXTS, min_size=1, max_size=8)
_GLOBS = st.sampled_from(
    ["*", "a", "a_", "a_/", "/a", "*.c", "!*.c", "**/b", "a_/**", "!a_/b", "a_/*/b", "?", "[ab]", "[!a]*", "b_/**/a",
     "*.{c,log}", "x.*", "/b_/a", "!ab", "**"]
)  # fmt: skip
_ATOMS = st.sampled_from(
    ["a", "b", "A", "é", "1", ".", r"\d", r"\w", r"\W", r"\S", r"\b", "[ab]", "[^a]", r"c\.d", "^", "$", " "]
)
_REPEATED = st.tuples(_ATOMS, st.sampled_from(["", "", "", "+", "{1,2}", "?"])).map(
    lambda pair: pair[0] if pair[0] in {"^", "$", r"\b"} else "".join(pair)
)
_SEQUENCES = st.lists(_REPEATED, min_size=1, max_size=4).map("".join)
_PATTERNS = _SEQUENCES | st.tuples(_SEQUENCES, _SEQUENCES).map(lambda pair: f"(?:{pair[0]}|{pair[1]})")


@pytest.mark.slow
@_SEARCHES
@given(tree=_TREES, pattern=_PATTERNS, ignore_case=st.booleans(), context=st.integers(0, 2))
def test_any_pattern_finds_the_same_lines(tree: dict[str, str], pattern: str, ignore_case: bool, context: int):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        write_tree(root, tree)
        query = SearchQuery(pattern, root, ignore_case=ignore_case, context=context)
        assert by_substitute(query) == by_rg(query)


@pytest.mark.slow
@_SEARCHES
@given(tree=_TREES, rules=st.lists(_GLOBS, max_size=4), inner=st.lists(_GLOBS, max_size=2), glob=_GLOBS)
def test_any_rules_leave_out_the_same_files(tree: dict[str, str], rules: list[str], inner: list[str], glob: str):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        write_tree(root, tree | {".gitignore": "\n".join(rules), "a_/.gitignore": "\n".join(inner)})
        query = SearchQuery("*", root, target="files", glob=glob, limit=100)
        assert by_substitute(query) == by_rg(query)


@pytest.mark.slow
@_SEARCHES
@given(tree=_TREES, rules=st.lists(_GLOBS.filter(lambda glob: "{" not in glob), max_size=4))
def test_git_ignores_the_same_files(tree: dict[str, str], rules: list[str]):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        write_tree(root, tree | {".gitignore": "\n".join(rules)})
        subprocess.run(["git", "init", "-q", root], check=True)
        found = names(by_substitute(SearchQuery("*", root, target="files", limit=100)), root)
        asked = subprocess.run(
            ["git", "-C", root, "check-ignore", "--no-index", "--stdin"],
            input="\n".join(tree),
            capture_output=True,
            text=True,
            check=False,
        )
        assert set(tree) - found == set(asked.stdout.splitlines())


@settings(max_examples=100, deadline=None, derandomize=True)
@given(text=_TEXTS, pattern=_PATTERNS)
def test_what_is_found_in_a_text_is_what_is_found_in_its_lines(text: str, pattern: str):
    text = text.replace("\r\n", "\n")
    compiled = python_search.compiled(pattern, fixed=False, ignore_case=False, dotall=False)
    lines = text.removesuffix("\n").split("\n") if text else []
    expected = [n for n, line in enumerate(lines) if compiled.expression.search(line)]
    found = [text.count("\n", 0, start) for start, _ in python_search.Finder(compiled).matches(text)]
    assert found == expected
    if expected:
        assert compiled.literal in text.encode()


@settings(max_examples=100, deadline=None, derandomize=True)
@given(path=_PATHS)
def test_a_path_written_out_is_a_glob_for_itself_alone(path: str):
    assert globs.NamePattern(f"/{path}").matches(f"./{path}")
    assert not globs.NamePattern(f"!/{path}").matches(f"./{path}")
    assert not globs.NamePattern(f"/{path}").matches(f"./z/{path}")
