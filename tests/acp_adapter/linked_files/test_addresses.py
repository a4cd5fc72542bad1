"""What the addresses of links mean."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_adapter.content import NotLocal, Place, lines_of, place_of
from tests.support.each import each


@each(
    ("uri", "path", "lines"),
    [
        ("file:///srv/a.py", "/srv/a.py", None),
        ("FILE:///srv/a.py", "/srv/a.py", None),
        ("file:/srv/a.py", "/srv/a.py", None),
        ("file://localhost/srv/a.py", "/srv/a.py", None),
        ("file:///srv/two%20words/%C3%BC.py", "/srv/two words/ü.py", None),
        ("file:///srv/a%23b%3Fc.py", "/srv/a#b?c.py", None),
        ("file:///srv/100%25.py", "/srv/100%.py", None),
        ("file:///srv/x/../a.py", "/srv/a.py", None),
        ("file:///srv/x/%2e%2e/a.py", "/srv/a.py", None),
        ("file:///srv/src/", "/srv/src", None),
        ("file:////srv//a.py", "/srv/a.py", None),
        ("file:///", "/", None),
        ("file:///srv/bad%FF.txt", "/srv/bad\udcff.txt", None),
        ("file:///srv/a.py#L10", "/srv/a.py", (10, 10)),
        ("file:///srv/a.py#L10-20", "/srv/a.py", (10, 20)),
        ("file:///srv/a.py#L10-L20", "/srv/a.py", (10, 20)),
        ("file:///srv/a.py#l10-l20", "/srv/a.py", (10, 20)),
        ("file:///srv/a.py#L10:20", "/srv/a.py", (10, 20)),
        ("file:///srv/a.py#L10:10", "/srv/a.py", (10, 10)),
        ("file:///srv/a.py#L42:5", "/srv/a.py", (42, 42)),
        ("file:///srv/a.py#L20-10", "/srv/a.py", (10, 20)),
        ("file:///srv/a.py#L3C5-L7C1", "/srv/a.py", (3, 7)),
        ("file:///srv/a.py#L0", "/srv/a.py", (1, 1)),
        ("file:///srv/a.py?symbol=main#L10:20", "/srv/a.py", (10, 20)),
        ("file:///srv/README.md#install", "/srv/README.md", None),
        ("file:///srv/a.py#L", "/srv/a.py", None),
        ("file:///srv/a.py#L1-2-3", "/srv/a.py", None),
        ("file:///srv/a.py#L9999999999", "/srv/a.py", None),
        ("/srv/a.py", "/srv/a.py", None),
        ("/srv/100%25.py", "/srv/100%25.py", None),
        ("/srv/C#/a.py", "/srv/C#/a.py", None),
        ("/srv/a.py?b", "/srv/a.py?b", None),
        ("/srv/a.py#L10-20", "/srv/a.py", (10, 20)),
    ],
)
def test_a_path_of_this_machine_with_its_lines(uri: str, path: str, lines: tuple[int, int] | None) -> None:
    assert place_of(uri) == Place(Path(path), lines)
    assert lines_of(uri) == lines


@each(
    ("uri", "why"),
    [
        ("https://docs.example/a", "pages of the web"),
        ("HTTP://docs.example/a", "pages of the web"),
        ("zed:///agent/thread/1", "begin with zed: mean something only inside the editor"),
        ("untitled:Untitled-1", "begin with untitled: mean"),
        ("vscode-notebook-cell:/srv/a.ipynb#x", "only inside the editor"),
        ("file://server/share/a.py", r"on another machine \(server\)"),
        ("//server/share/a.py", "no absolute path"),
        ("file:///C:/src/a.py", "path of Windows"),
        ("file:///c%3A/src/a.py", "path of Windows"),
        ("file://C:/src/a.py", "path of Windows"),
        (r"C:\src\a.py", "path of Windows"),
        (r"\\server\share\a.py", "path of Windows"),
        ("src/a.py", "no absolute path"),
        ("~/a.py", "no absolute path"),
        ("file:src/a.py", "no absolute path"),
        ("file:", "no absolute path"),
        ("", "no absolute path"),
        ("file:///srv/a%00b", "NUL"),
        ("file://[broken/a", "malformed"),
    ],
)
def test_anything_else_is_refused_with_the_reason(uri: str, why: str) -> None:
    with pytest.raises(NotLocal, match=why):
        place_of(uri)
