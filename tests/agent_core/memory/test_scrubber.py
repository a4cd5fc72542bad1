"""What a provider recalled never reaches the person through the model's answer, however the answer is cut."""

from __future__ import annotations

import itertools
import random

from agent_core.memory.provider import Scrubber
from tests.support.each import each

_OPEN, _CLOSE = "<memory-context>", "</memory-context>"


def in_pieces(pieces):
    scrubber = Scrubber()
    return "".join(scrubber.feed(piece) for piece in pieces) + scrubber.close()


@each(
    ("text", "shown"),
    [
        (f"a {_OPEN}SECRET{_CLOSE} b", "a  b"),
        (f"a{_OPEN}SECRET", "a"),
        (f"a{_CLOSE}b", "ab"),
        (f"a{_OPEN}x{_OPEN}SECRET{_CLOSE}SECRET{_CLOSE}b", "ab"),
        ('a< Memory-Context source="x" >SECRET</ MEMORY-CONTEXT >b', "ab"),
        (f"a <{_OPEN}SECRET{_CLOSE}>", "a <>"),
        (f"the tag `{_OPEN}` and its end `{_CLOSE}`.", f"the tag `{_OPEN}` and its end `{_CLOSE}`."),
        ("if a < b and <memory> or <memory-contexts> or <mem", "if a < b and <memory> or <memory-contexts> or <mem"),
        ("1 << 2 </memory-cont", "1 << 2 </memory-cont"),
        ("", ""),
    ],
)
def test_every_cut_gives_the_same_and_leaks_nothing(text, shown):
    assert in_pieces([text]) == shown
    assert in_pieces(text) == shown
    for one, two in itertools.combinations_with_replacement(range(len(text) + 1), 2):
        assert in_pieces([text[:one], text[one:two], text[two:]]) == shown


def test_texts_of_all_kinds_come_out_the_same_however_they_are_cut():
    dice = random.Random(11)
    parts = [_OPEN, _CLOSE, "<", ">", "`", "</", "memory-context", " ", "x", "<memory-context ", "\n", "SECRET"]
    for _ in range(1_500):
        text = "".join(dice.choices(parts, k=dice.randint(1, 12)))
        cuts = sorted(dice.choices(range(len(text) + 1), k=dice.randint(0, 6)))
        pieces = [text[one:two] for one, two in itertools.pairwise([0, *cuts, len(text)])]
        assert in_pieces(pieces) == in_pieces([text]), (text, pieces)


def test_ordinary_text_is_given_at_once_and_little_is_ever_held_back():
    scrubber = Scrubber()
    assert scrubber.feed("plain words") == "plain words"
    assert scrubber.feed("a < b") == "a < b"
    held = "<memory-context " + "x" * 500
    assert len(held) - len("".join(scrubber.feed(sign) for sign in held)) == 0
