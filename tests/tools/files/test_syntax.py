"""The syntax of a changed file, and which of its problems an edit has made."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from tests.support.each import each
from tests.support.tool_context import make_context
from tools.files.diagnostics import MAX_CHARS, new_problems, syntax_problems

BROKEN = [
    ("a.py", "def f(:\n    pass\n", 1),
    ("a.py", "x = 1\nif x:\ny = 2\n", 3),
    ("a.py", "x = '\0'\n", 1),
    ("a.json", '{"a": 1,}', 1),
    ("a.json", "", 1),
    ("a.toml", "a = 1\nb = \n", 2),
    ("a.toml", "a = [1,", 1),
    ("a.yaml", "a:\n  - b\n c: d\n", 3),
    ("a.yml", "a: [1, 2\n", 2),
    ("a.ipynb", '{"cells": [}', 1),
    ("Makefile", "all: a.o\n    cc -o all a.o\n", 2),
    ("makefile", "all:\n\tcc a.c\n\n  \tcc b.c\n", 4),
    ("GNUmakefile", "A = 1\n\n$(B): x | y\n# why\n  @echo $@\n", 5),
    ("rules.mk", "%.o: %.c\n\tcc $<\n        touch $@\nclean:\n\trm x\n", 3),
    ("Makefile.am", "a b &: c\n cp c a\n", 2),
]
FINE = [
    ("a.py", "x = '\\d'\nassert (x, 'always')\n"),
    ("a.json", "[1]"),
    ("a.json", "1" * 5000),
    ("a.toml", "a = " + "1" * 5000),
    ("a.toml", "a" + ".a" * 100_000 + " = 1"),
    ("tsconfig.json", "{ // a comment\n}"),
    (".vscode/settings.json", "{ // a comment\n}"),
    ("a.jsonc", "{ // a comment\n}"),
    ("a.toml", "a = 1"),
    ("a.yaml", "a: !Ref b\n---\nc: *unknown_anchor\n"),
    ("chart/a.yaml", "a: {{ .Values.a }}\n"),
    ("a.txt", "{ if ("),
    ("Makefile", "{ if ("),
    ("Makefile", "all: a.o\n\tcc -o all a.o\n\t    -g\n"),
    ("Makefile", "A := 1 \\\n    2\nall: \\\n    a.o\n\tcc \\\n    a.o\n"),
    ("Makefile", "all:\n  ifdef X\n\tcc\n  endif\n  Y = 2\n  # why\n"),
    ("Makefile", "define F\nall:\n    cc\nendef\n"),
    ("Makefile", ".RECIPEPREFIX = >\nall:\n>cc\n  x\n"),
    ("Makefile", "all: X = 1\n  include other.mk\n"),
]


@each(("name", "text", "line"), BROKEN)
def test_what_cannot_be_parsed_is_told_with_its_line(name: str, text: str, line: int) -> None:
    (problem,) = syntax_problems(Path("/srv") / name, text)
    assert (problem.line, problem.severity) == (line, "error")
    assert problem.message


@each(("name", "text"), FINE)
def test_what_can_be_parsed_or_is_in_no_known_language_is_no_problem(name: str, text: str) -> None:
    assert list(syntax_problems(Path("/srv") / name, text)) == []


@each(
    ("module", "name", "text"),
    [
        ("tree_sitter_bash", "a.sh", "if true; then\necho\n"),
        ("tree_sitter_javascript", "a.js", "const a = {b: ;\n"),
        ("tree_sitter_typescript", "a.ts", "interface A { b: ; }\n"),
        ("tree_sitter_go", "a.go", "package a\nfunc f( {\n}\n"),
        ("tree_sitter_rust", "a.rs", "fn main( {\n"),
    ],
)
def test_other_languages_are_parsed_by_their_grammar(module: str, name: str, text: str) -> None:
    pytest.importorskip(module, reason=f"{module} is not installed: pip install 'hermes-editor-agent[map]'")
    assert syntax_problems(Path("/srv") / name, text)


def test_a_file_too_long_to_wait_for_is_not_looked_at() -> None:
    assert list(syntax_problems(Path("/srv/a.json"), "{" * (MAX_CHARS + 1))) == []


def test_a_text_that_its_parser_thinks_about_for_too_long_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    rubbish = "echo $(ls; if true; then echo a; fi)\n" * 5_000 + "if ( then ;\n"
    monkeypatch.setattr("tools.files.diagnostics.SECONDS", 60.0)
    assert syntax_problems(Path("/srv/a.sh"), rubbish)
    monkeypatch.setattr("tools.files.diagnostics.SECONDS", -1.0)
    assert list(syntax_problems(Path("/srv/a.sh"), rubbish)) == []


def test_deep_nesting_ends_no_tool() -> None:
    for name in ("a.py", "a.json", "a.toml", "a.yaml", "a.sh"):
        syntax_problems(Path("/srv") / name, "[" * 100_000)


def test_several_threads_may_parse_at_once() -> None:
    found: list[int] = []
    text = "if true; then echo; fi\n" * 500 + "if\n"
    threads = [
        threading.Thread(target=lambda: found.append(len(syntax_problems(Path("/srv/a.sh"), text)))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert len(set(found)) == 1


class TestNewProblems:
    def test_a_problem_is_told_with_line_message_and_source(self, tmp_path: Path) -> None:
        told = new_problems(tmp_path / "a.json", "{}", '{"a" 1}', make_context(tmp_path))
        assert told == "line 1: Expecting ':' delimiter (json)"

    def test_what_was_broken_before_is_not_told_again(self, tmp_path: Path) -> None:
        ctx = make_context(tmp_path)
        assert not new_problems(tmp_path / "a.json", '{"a" 1}', '\n\n{"a" 1}', ctx)
        assert new_problems(tmp_path / "a.json", '{"a" 1}', '{"b" 1}', ctx)

    def test_a_new_file_is_held_to_the_same(self, tmp_path: Path) -> None:
        assert new_problems(tmp_path / "a.py", None, "def f(:\n", make_context(tmp_path))

    def test_an_edit_that_mends_is_silent(self, tmp_path: Path) -> None:
        assert not new_problems(tmp_path / "a.py", "def f(:\n", "def f():\n    pass\n", make_context(tmp_path))
