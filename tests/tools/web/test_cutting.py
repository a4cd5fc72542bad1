"""Long texts are cut at a line, and all of them is in a file."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tools.web.reading import cut, file_for


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.text(st.characters(exclude_characters="\r\n\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"), max_size=9), max_size=40
    ),
    st.integers(1, 200),
)
def test_reading_on_from_the_line_gives_all_that_was_left_out(lines: list[str], limit: int) -> None:
    text = "\n".join(lines)
    part = cut(text, limit, None)
    assert len(part.text) <= limit
    assert text.startswith(part.text)
    if part.next_line is None:
        assert part.text == text
    else:
        rest = "\n".join(text.split("\n")[part.next_line - 1 :])
        assert text.endswith(rest)
        assert len(part.text) + len(rest) >= len(text) - 1


def test_only_what_is_cut_is_saved(tmp_path: Path) -> None:
    path = tmp_path / "call.txt"
    assert cut("short", 10, path).saved is None
    assert not path.exists()
    part = cut("one\ntwo\nthree", 9, path)
    assert (part.text, part.next_line) == ("one\ntwo", 3)
    assert part.saved is not None
    assert path.read_text() == "one\ntwo\nthree"


def test_each_page_of_a_call_has_a_file_beside_the_first(tmp_path: Path) -> None:
    assert file_for(tmp_path / "call.txt", 1) == tmp_path / "call.txt"
    assert file_for(tmp_path / "call.txt", 3) == tmp_path / "call-3.txt"
    assert file_for(None, 2) is None
