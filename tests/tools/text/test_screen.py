"""Output of programs that move the cursor, as it is left on the screen."""

import pytest

from tests.support.each import each
from tools.text.terminal_output import for_model, plain_text


@each(
    ("output", "expected"),
    [
        ("a: 1%\nb: 1%\n\x1b[2A\x1b[Ka: 100%\n\x1b[Kb: 100%\nend\n", "a: 100%\nb: 100%\nend\n"),
        ("one\ntwo\n\x1b[1A\x1b[2Kthree\n", "one\nthree\n"),
        ("longer line\n\x1b[Fshort\x1b[K\n", "short\n"),
        ("one\ntwo\nthree\n\x1b[3A\x1b[Jdone\n", "done\n"),
        ("x\n\x1b[A\x1b[5Cy\n", "x    y\n"),
        ("abc\x1b[2DX\n\x1b[A\x1b[G_\n", "_Xc\n"),
        ("\x1b[H\x1b[2Jpage one\n\x1b[H\x1b[2Jpage two\n", "page two\n"),
        ("\x1b[31m\x1b[1Ared\x1b[0m", "red"),
        ("a\n\x1b[99Ab\n", "b\n"),
        ("a\x1b[2;3Hb", "a\n  b"),
    ],
)
def test_what_was_drawn_over_is_gone(output, expected):
    assert plain_text(output) == expected


def test_many_redraws_of_a_block_show_once():
    frames = "".join(f"\x1b[2K layer 1 {share}%\n\x1b[2K layer 2 {share}%\n\x1b[2A" for share in range(101))

    assert for_model(f"pulling\n{frames}\n\nready\n") == "pulling\n layer 1 100%\n layer 2 100%\nready\n"


@pytest.mark.timeout(5)
@pytest.mark.parametrize(
    "piece", ["\x1b[A", "\x1b[H\x1b[2J", "\x1b[2000Gx", "\x1b[99999999B", "x\x1b[A\b", "\x1b[1;1Hx\n"]
)
def test_hostile_output_takes_no_unreasonable_time_or_room(piece):
    assert len(plain_text(piece * 10_000)) < 10_000_000
