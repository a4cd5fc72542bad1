"""One table of searches, which `rg` and its substitute answer alike."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.searches import by_rg, by_substitute, names, write_tree
from tools.errors import ToolError
from tools.ports import SearchQuery

_FILES: dict[str, str | bytes] = {
    "app.py": "import os\n\n\nclass Apple:\n    def eat(self):\n        return os.name  # eat\n",
    "lib/util.js": "export const apple = 1;\nfunction eat(x) {\n  return apple + x;\n}\n",
    "lib/util.test.ts": "import { eat } from './util';\ntest('eat', () => {\n  eat(1);\n});\n",
    "lib/deep/er/note.md": "# Apple\n\nAn apple a day.\nApfel, pomme, яблоко, 苹果.\n",
    "crlf.txt": b"first apple\r\nsecond line\r\nthird apple\r\n",
    "bom.txt": b"\xef\xbb\xbfapple at the start\n",
    "wide.txt": "apple in two bytes\nline\n".encode("utf-16"),
    "latin.txt": b"caf\xe9 apple\nna\xefve\n",
    "no_end.txt": "one\ntwo apple",
    "empty.txt": "",
    "binary.bin": b"apple\n\0\0apple\n",
    "late.bin": b"apple\n" * 60_000 + b"\0",
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
    "long.txt": "x" * 3000 + "apple" + "y" * 3000 + "\n",
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
    (r"(?<!third )apple", {}), (r"apple(?! a)", {}), (r"line\s+\d+$", {}), (r"\s$", {}), (r"e\s*$", {}), ("^$", {}),
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
    (r"\n\n", {}), (r"apple\nsecond", {}), (r"os\n+class", {}), ("eat(self):\n        return", {"fixed": True}),
    (r"first.*third", {"multiline": True}), (r"class.*?return", {"multiline": True}), (r"[^\n]apple\n", {}),
    (r"apple\nl", {"context": 1}), (r"line 7 apple\nline 8\n|line 14", {"limit": 1, "offset": 1}),
    (r"apple", {"multiline": True, "output": "count"}), ("zebra", {}), ("apple at", {}), (r"\Aapple", {}),
    (r"ap{2}le", {}), (r"(?:an?|the) apple", {}), (r"a+?p", {}), (r"[a\]]pple", {}), (r"(apple", {"fixed": True}),
    ("EXPORT", {}), ("eat", {"glob": "*.{js,ts}"}), ("name  # eat", {}), (r"(?x) a p p l e", {}),
    (r"(a(?i)P|Q)ple", {}),
    ("apple", {"glob": "*.md,*.txt,!crlf.txt"}), ("apple", {"glob": "odd name [1].txt"}),
    ("apple", {"glob": "{lib/**,*.{py,md}}"}), ("apple", {"glob": "**/{any,d{e,i}ep}/*"}),
    ("apple", {"glob": "!*.txt,!*.md"}), ("apple", {"glob": "!lib/**,*.js,*.log", "include_ignored": True}),
)  # fmt: skip


@pytest.mark.parametrize(
    ("pattern", "options"),
    [
        *((pattern, {}) for pattern in _FILE_QUERIES),
        *(("*", options) for options in ({"include_ignored": True}, {"glob": "!lib/**"}, {"type": "md"})),
    ],
)
def test_names_are_the_same(tree: Path, pattern: str, options: dict[str, Any]):
    query = replace(SearchQuery(pattern, tree, target="files", limit=1000), **options)
    assert by_substitute(query) == by_rg(query)


@pytest.mark.parametrize(
    ("pattern", "options"),
    # Each case starts half a dozen processes: all of them run in `make slow`.
    [case if n % 10 == 0 else pytest.param(*case, marks=pytest.mark.slow) for n, case in enumerate(_CONTENT)],
)
def test_content_is_the_same(tree: Path, pattern: str, options: dict[str, Any]):
    query = replace(SearchQuery(pattern, tree, limit=500), **options)
    assert by_substitute(query) == by_rg(query)


@pytest.mark.parametrize("name", ["app.py", "crlf.txt", "wide.txt", "build/out.txt", "many.txt", "nested"])
def test_a_named_path_is_the_same(tree: Path, name: str):
    query = SearchQuery("apple|os", tree / name, context=1)
    assert by_substitute(query) == by_rg(query)


@pytest.mark.parametrize("search", [by_rg, by_substitute])
@pytest.mark.parametrize(
    ("pattern", "options", "said"),
    [
        ("a(", {}, "unclosed group"),
        ("a)", {}, "unopened group"),
        ("[a", {}, "unclosed character class"),
        ("*a", {}, "fixed=true"),
        ("a", {"glob": "x["}, "Globs look like"),
        ("a", {"glob": "{x"}, "Globs look like"),
        ("a", {"type": "nonsense"}, "file_glob"),
        ("x[", {"target": "files"}, "Globs look like"),
    ],
)
def test_both_explain_what_is_wrong(tree: Path, search: Any, pattern: str, options: dict[str, Any], said: str):
    with pytest.raises(ToolError, match=said):
        search(replace(SearchQuery(pattern, tree), **options))


@pytest.mark.parametrize(
    ("glob", "files"),
    [
        ("no_end{,.x}.txt", {"no_end.txt"}),
        ("{no_end,bom}{.txt,}", {"no_end.txt", "bom.txt"}),
        ("#odd", {"#odd"}),
        ("#*,keep.log", {"#odd", "keep.log"}),
        ("{x/any,keep}{/y.txt,.log,}", {"x/any/y.txt", "keep.log"}),
        ("#odd,!{#o,}dd,!#odd", set()),
    ],
)
def test_a_glob_narrows_the_lines_as_it_narrows_the_names(tree: Path, glob: str, files: set[str]):
    query = SearchQuery("apple", tree, glob=glob, output="files_only", include_ignored=True)
    for search in (by_rg, by_substitute):
        assert names(search(query), tree) == files
