"""One table of searches, which ripgrep and the greps of three kinds of systems answer alike, as far as they can."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.searches import GREPS, Searching, by_grep, by_rg, names, write_tree
from tools.errors import ToolError
from tools.ports import SearchQuery, SearchResult

_FILES: dict[str, str | bytes] = {
    "app.py": "import os\n\n\nclass Apple:\n    def eat(self):\n        return os.name  # eat\n",
    "lib/util.js": "export const apple = 1;\nfunction eat(x) {\n  return apple + x;\n}\n",
    "lib/util.test.ts": "import { eat } from './util';\ntest('eat', () => {\n  eat(1);\n});\n",
    "lib/deep/er/note.md": "# Apple\n\nAn apple a day.\nApfel, pomme, яблоко, 苹果.\n",
    "crlf.txt": b"first apple\r\nsecond line\r\nthird apple\r\n",
    "no_end.txt": "one\ntwo apple",
    "empty.txt": "",
    "binary.bin": b"apple\n\0\0apple\n",
    "late.bin": b"apple\n" * 1_000 + b"\0",
    "odd name [1].txt": "apple\n",
    "special.txt": "a.b(c)*[d]\n$x^y|z\\w\nC:\\new\\table\n",
    ".hidden/secret.txt": "apple\n",
    ".git/config": "apple\n",
    "build/out.txt": "apple\n",
    "keep.log": "apple\n",
    "drop.log": "apple\n",
    ".gitignore": (
        "build/\n*.log\n!keep.log\n/rooted.txt\nsub/only_here.txt\n# note\n\\#odd\nspace \nq?.c\n**/any/**\n"
    ),
    "rooted.txt": "apple\n",
    "sub/rooted.txt": "apple\n",
    "sub/only_here.txt": "apple\n",
    "deep/sub/only_here.txt": "apple\n",
    "#odd": "apple\n",
    "q1.c": "apple\n",
    "q10.c": "apple\n",
    "x/any/y.txt": "apple\n",
    "nested/.gitignore": "!drop.log\n*.tmp\n[ab]?.dat\n*.{one,two}\n",
    "nested/drop.log": "apple\n",
    "nested/a.tmp": "apple\n",
    "nested/deeper/b.tmp": "apple\n",
    "nested/a1.dat": "apple\n",
    "nested/c1.dat": "apple\n",
    "nested/f.one": "apple\n",
    "other/.ignore": "shadow.txt\n!back.log\n",
    "other/shadow.txt": "apple\n",
    "other/back.log": "apple\n",
    ".git/info/exclude": "excluded.txt\n",
    "excluded.txt": "apple\n",
    "inner/.git/HEAD": "x\n",
    "inner/drop.log": "apple\n",
    "many.txt": "".join(f"line {n}{' apple' if n % 7 == 0 else ''}\n" for n in range(1, 200)),
}  # fmt: skip


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("table")
    write_tree(root, _FILES)
    (root / "link.txt").symlink_to(root / "app.py")
    (root / "loop").symlink_to(root)
    return root


_FILE_QUERIES = (
    "*",
    "*.py",
    "lib/**/*.md",
    "**/*.txt",
    "*.{js,ts}",
    "!*.txt",
    "/*.txt",
    "lib/*",
    "[a-c]*.txt",
    "lib",
    "*.py,*.md",
    "*.txt,!crlf.txt",
    "odd name [1].txt",
    "{lib,x}/**,/*.py",
    "{lib/**,*.{py,md}}",
    "**/{any,d{e,i}ep}/*",
)
_CONTENT: tuple[tuple[str, dict[str, Any]], ...] = (
    ("apple", {}), ("Apple", {}), ("apple", {"ignore_case": True}), ("ЯБЛОКО", {"ignore_case": True}),
    ("^apple", {}), ("apple$", {}), ("apple.?$", {}), (r"\bapple\b", {}), (r"\w+ apple", {}), (r"(?i)APPLE", {}),
    ("a(?i:PPL)e", {}), (r"(?P<w>eat)\(", {}), (r"(?<w>eat)\(", {}), (r"eat|day", {}), (r"\d{2,}", {}), ("caf", {}),
    ("ve$", {}), (r"[[:upper:]]\w+", {}), (r"[^\w\s]{3}", {}), (r"\x{82f9}", {}), ("line 1(?=4)", {}), ("苹", {}),
    (r"(?<!third )apple", {}), (r"apple(?! a)", {}), (r"line\s+\d+$", {}), (r"e\s*$", {}), ("^$", {}),
    ("x*", {}), (r"\.b\(", {}), ("a.b(c)*[d]", {"fixed": True}), ("$x^", {"fixed": True}),
    ("C:\\new", {"fixed": True}),
    ("APPLE", {"fixed": True, "ignore_case": True}), (r"C:\\new", {}), (r"[$]x\^y\|", {}), (r"apple\r", {}),
    ("apple", {"glob": "*.txt"}), ("apple", {"glob": "!*.txt"}), ("apple", {"glob": "lib/**"}),
    ("apple", {"glob": "*.log"}), ("apple", {"glob": "sub/*"}), ("apple", {"glob": "build"}),
    ("apple", {"type": "js"}), ("apple", {"type": "py"}), ("eat", {"type": "typescript"}), ("apple", {"type": "md"}),
    ("apple", {"type": "js", "glob": "lib/*"}), ("apple", {"include_ignored": True}),
    ("apple", {"include_ignored": True, "glob": "*.log"}), ("apple", {"context": 2}), ("eat", {"context": 1}),
    ("apple", {"limit": 5}), ("apple", {"limit": 5, "offset": 3, "context": 3}),
    ("apple", {"limit": 3, "offset": 30}),
    ("apple", {"output": "count"}), ("apple", {"output": "files_only"}), ("apple", {"output": "count", "offset": 2}),
    ("zebra", {}), ("apple at", {}), (r"\Aapple", {}),
    (r"ap{2}le", {}), (r"(?:an?|the) apple", {}), (r"a+?p", {}), (r"[a\]]pple", {}), (r"(apple", {"fixed": True}),
    ("EXPORT", {}), ("eat", {"glob": "*.{js,ts}"}), ("name  # eat", {}), (r"(?x) a p p l e", {}),
    (r"(a(?i)P|Q)ple", {}),
    ("apple", {"glob": "*.md,*.txt,!crlf.txt"}), ("apple", {"glob": "odd name [1].txt"}),
    ("apple", {"glob": "{lib/**,*.{py,md}}"}), ("apple", {"glob": "**/{any,d{e,i}ep}/*"}),
    ("apple", {"glob": "!*.txt,!*.md"}), ("apple", {"glob": "!lib/**,*.js,*.log", "include_ignored": True}),
)  # fmt: skip

# What only Perl's expressions have.
_PERLS = re.compile(r"\(\?(?![:<P])|\(\?<[=!]|\\x|\\A|\(\?i:")

_LETTERS = frozenset({"ЯБЛОКО", r"[^\w\s]{3}"})


@pytest.fixture(params=GREPS)
def grep(request: pytest.FixtureRequest, program_folder: Path) -> tuple[str, Searching]:
    """Its kind, and a search by it."""
    return request.param, by_grep(request.param, program_folder)


def _of(result: SearchResult) -> SearchResult:
    """Without what only ripgrep tells."""
    return replace(result, note="")


def _are_alike(grep: tuple[str, Searching], query: SearchQuery) -> None:
    kind, search = grep
    if kind == "busybox" and query.pattern in _LETTERS:
        pytest.skip("It knows no letters but those of ASCII")
    if kind != "GNU" and not query.fixed and _PERLS.search(query.pattern) and query.target == "content":
        with pytest.raises(ToolError, match="not known here"):
            search(query)
        return
    result = search(query)
    assert _of(result) == _of(by_rg(query))
    assert "no ripgrep" in result.note


@pytest.mark.parametrize(
    ("pattern", "options"),
    [
        *((pattern, {}) for pattern in _FILE_QUERIES),
        *(("*", options) for options in ({"include_ignored": True}, {"glob": "!lib/**"}, {"type": "md"})),
    ],
)
def test_names_are_the_same(tree: Path, grep: tuple[str, Searching], pattern: str, options: dict[str, Any]):
    _are_alike(grep, replace(SearchQuery(pattern, tree, target="files", limit=1000), **options))


@pytest.mark.parametrize(
    ("pattern", "options"),
    # Each case starts a dozen processes: all of them run in `make slow`.
    [case if n % 10 == 0 else pytest.param(*case, marks=pytest.mark.slow) for n, case in enumerate(_CONTENT)],
)
def test_content_is_the_same(tree: Path, grep: tuple[str, Searching], pattern: str, options: dict[str, Any]):
    _are_alike(grep, replace(SearchQuery(pattern, tree, limit=500), **options))


@pytest.mark.parametrize("name", ["app.py", "crlf.txt", "build/out.txt", "many.txt", "nested"])
def test_a_named_path_is_the_same(tree: Path, grep: tuple[str, Searching], name: str):
    _are_alike(grep, SearchQuery("apple|os", tree / name, context=1))


@pytest.mark.parametrize(
    ("pattern", "options", "said"),
    [
        ("a(", {}, "fixed=true"),
        ("[a", {}, "fixed=true"),
        ("a", {"glob": "x["}, "Globs look like"),
        ("a", {"glob": "{x"}, "Globs look like"),
        ("a", {"type": "nonsense"}, "file_glob"),
        ("x[", {"target": "files"}, "Globs look like"),
    ],
)
def test_all_explain_what_is_wrong(
    tree: Path, grep: tuple[str, Searching], pattern: str, options: dict[str, Any], said: str
):
    for search in (by_rg, grep[1]):
        with pytest.raises(ToolError, match=said):
            search(replace(SearchQuery(pattern, tree), **options))


def test_a_match_across_lines_is_refused_by_grep(tree: Path, grep: tuple[str, Searching]):
    for query in (SearchQuery(r"apple\nsecond", tree), SearchQuery("apple", tree, multiline=True)):
        with pytest.raises(ToolError, match="no match may be longer than a line"):
            grep[1](query)


def test_what_is_no_text_of_utf8_is_passed_over(tmp_path: Path, grep: tuple[str, Searching]):
    write_tree(
        tmp_path,
        {
            "wide.txt": "apple\n".encode("utf-16"),
            "late.bin": b"apple\n\0apple\n",
            "a.txt": "\ufeff" + "é" * 3000 + "apple\n",
        },
    )
    (hit,) = grep[1](SearchQuery("apple", tmp_path)).hits
    assert (hit.path.name, hit.text[0], hit.text[-6:]) == ("a.txt", "…", "éapple")
    with pytest.raises(ToolError, match="binary"):
        grep[1](SearchQuery("apple", tmp_path / "late.bin"))


@pytest.mark.parametrize(
    ("glob", "files"),
    [
        ("no_end{,.x}.txt", {"no_end.txt"}),
        ("{no_end,crlf}{.txt,}", {"no_end.txt", "crlf.txt"}),
        ("#odd", {"#odd"}),
        ("#*,keep.log", {"#odd", "keep.log"}),
        ("{x/any,keep}{/y.txt,.log,}", {"x/any/y.txt", "keep.log"}),
        ("#odd,!{#o,}dd,!#odd", set()),
    ],
)
def test_a_glob_narrows_the_lines_as_it_narrows_the_names(
    tree: Path, grep: tuple[str, Searching], glob: str, files: set[str]
):
    query = SearchQuery("apple", tree, glob=glob, output="files_only", include_ignored=True)
    for search in (by_rg, grep[1]):
        assert names(search(query), tree) == files
