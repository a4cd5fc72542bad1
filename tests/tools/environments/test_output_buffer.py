"""Bounded head and tail of an endless text."""

import tracemalloc

import pytest

from tests.support.each import each
from tools.environments.output import OutputBuffer


def _filled(pieces, limit=10, head_share=0.4):
    buffer = OutputBuffer(limit, head_share)
    for piece in pieces:
        buffer.add(piece)
    return buffer


def test_a_short_text_is_kept_whole():
    buffer = _filled(["hello ", "you"])

    assert buffer.text() == "hello you"
    assert buffer.truncated_chars == 0


def test_a_text_of_exactly_the_limit_is_kept_whole():
    assert _filled(["0123456789"]).text() == "0123456789"


def test_a_long_text_keeps_its_head_and_its_tail_and_tells_what_is_missing():
    buffer = _filled(["0123", "xxxxxxxx", "456789"])

    assert buffer.text() == "0123\n[… 8 characters left out …]\n456789"
    assert buffer.truncated_chars == 8


@each("size", [1, 2, 3, 7, 11, 100, 1000])
def test_how_the_text_is_cut_into_pieces_makes_no_difference(size):
    text = "".join(f"{number} " for number in range(500))
    whole = _filled([text], limit=100)

    pieces = _filled([text[at : at + size] for at in range(0, len(text), size)], limit=100)

    assert (pieces.text(), pieces.truncated_chars) == (whole.text(), whole.truncated_chars)


@pytest.mark.parametrize(("share", "expected"), [(0.0, "6789"), (1.0, "0123")])
def test_all_of_the_limit_may_go_to_one_end(share, expected):
    kept = _filled(["0123456789"], limit=4, head_share=share).text().replace("\n[… 6 characters left out …]\n", "")

    assert kept == expected


def test_a_limit_of_zero_keeps_nothing():
    buffer = _filled(["abc"], limit=0)

    assert buffer.truncated_chars == 3
    assert "abc" not in buffer.text()


def test_memory_stays_bounded_however_much_comes():
    buffer = OutputBuffer(50_000, 0.4)
    piece = "y\n" * 32_768
    tracemalloc.start()
    try:
        for _ in range(2000):
            buffer.add(piece)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 1_000_000
    assert buffer.truncated_chars == 2000 * len(piece) - 50_000


def test_an_hour_of_a_progress_bar_leaves_room_for_the_rest():
    buffer = _filled(["begin\n", *(f"\r{number}%" for number in range(10_000)), "\nend\n"], limit=100)

    assert buffer.text() == "begin\n9999%\nend\n"
    assert buffer.truncated_chars == 0


def test_the_file_has_every_state_of_it(tmp_path):
    buffer = OutputBuffer(20, 0.4, tmp_path / "out")
    states = [f"\r{number}%" for number in range(100)]
    for state in states:
        buffer.add(state)

    assert buffer.close().path.read_bytes().decode() == "".join(states)
    assert buffer.text() == "99%"
