from __future__ import annotations

import json
from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agent_core.providers.json_fragments import Piece, Pieces, PiecesText, body_json, body_parts

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)
_PIECES = st.lists(st.dictionaries(st.text(max_size=2), st.text(max_size=3), max_size=2).map(Piece), max_size=6)


def _plain(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _as_pieces(value: Any, deep: int = 3) -> Any:
    if isinstance(value, dict) and deep < 3:
        return Piece(value)
    if isinstance(value, list):
        return [_as_pieces(one, deep - 1) for one in value]
    return {key: _as_pieces(one, deep - 1) for key, one in value.items()} if isinstance(value, dict) else value


@given(st.dictionaries(st.text(max_size=3), _VALUES, max_size=4))
def test_a_body_is_the_json_that_it_would_be_without_pieces(body: dict[str, Any]) -> None:
    assert body_json(body) == _plain(body)
    assert body_json(_as_pieces(body)) == _plain(body)


@given(st.lists(st.tuples(st.integers(0, 6), _PIECES), max_size=6))
def test_the_text_of_a_list_that_grows_and_shrinks_is_that_of_a_new_one(steps: list[tuple[int, list[Piece]]]) -> None:
    text, pieces = PiecesText(), list[Piece]()
    for wanted, more in steps:
        kept = min(wanted, len(pieces))
        pieces = [*pieces[:kept], *more]
        assert body_json({"input": text.of(pieces, kept)}) == _plain({"input": pieces})


@given(_PIECES, st.lists(st.integers(0, 5), max_size=3), st.booleans())
def test_elements_can_be_replaced_and_appended_and_the_text_is_not_changed_by_it(
    pieces: list[Piece], places: list[int], appends: bool
) -> None:
    text = PiecesText()
    changed, wanted = text.of(pieces, 0), list[Any](pieces)
    for place in [place for place in places if place < len(pieces)]:
        changed.replace(place, {"another": place})
        wanted[place] = {"another": place}
    if appends:
        changed.append({"one": "more"})
        wanted.append({"one": "more"})
    assert changed == wanted
    assert body_json({"input": changed}) == _plain({"input": wanted})
    assert body_json({"input": text.of(pieces, len(pieces))}) == _plain({"input": pieces})


def test_the_text_of_all_pieces_is_at_hand_however_the_list_has_grown() -> None:
    text, pieces = PiecesText(), [Piece({"n": number}) for number in range(4)]
    text.of(pieces[:2], 0)
    assert text.of(pieces, 2).texts() == ([b'{"n":0},{"n":1},{"n":2},{"n":3}'], [])
    assert text.of(pieces, 4).texts() == ([b'{"n":0},{"n":1},{"n":2},{"n":3}'], [])


def _marked() -> Piece:
    piece = Piece({"written": "anew"})
    piece.json = b"as it was"
    return piece


def test_pieces_are_not_written_again_as_deep_as_the_content_of_messages() -> None:
    body = {"system": _marked(), "tools": [_marked()], "messages": [{"content": [_marked(), {"deeper": _marked()}]}]}
    assert body_json(body) == (
        b'{"system":as it was,"tools":[as it was],"messages":[{"content":[as it was,{"deeper":{"written":"anew"}}]}]}'
    )


def test_half_of_a_surrogate_pair_becomes_a_question_mark_and_all_else_stays() -> None:
    piece = Piece({"é": ["\udc80", 1], "ü": "\ud83d"})
    assert piece.json == '{"é":["?",1],"ü":"?"}'.encode()


def test_a_list_of_pieces_stays_as_it_was_when_the_next_one_is_made() -> None:
    text = PiecesText()
    one, other = Piece({"n": 1}), Piece({"n": 2})
    first = text.of([one, one], 0)
    text.of([other], 0)
    assert body_json({"input": first}) == b'{"input":[{"n":1},{"n":1}]}'
    assert isinstance(first, Pieces)


def test_a_body_goes_out_in_one_part_and_what_is_long_in_it_alone() -> None:
    assert body_parts({"model": "m", "n": [1, 2]}) == [b'{"model":"m","n":[1,2]}']
    just_short, just_long = ("x" * (size - len('{"":""}')) for size in (65_535, 65_536))
    for text, parts in ((just_short, 1), (just_long, 3)):
        assert len(body_parts({"input": PiecesText().of([Piece({"": text})], 0)})) == parts
    text = PiecesText()
    body = {"model": "m", "input": text.of([Piece({"": just_long})], 0), "more": [Piece({"": just_long})], "n": 1}
    parts = body_parts(body)
    assert [part[:9] for part in parts] == [b'{"model":', b'{"":"xxxx', b'],"more":', b'{"":"xxxx', b'],"n":1}']
    assert b"".join(parts) == body_json(body) == _plain(body)


def test_the_text_of_a_long_list_is_copied_seldom_while_it_grows() -> None:
    text, pieces = PiecesText(), list[Piece]()
    parts: list[bytes] = []
    for number in range(400):
        pieces.append(Piece({"n": f"{number:03}"}))
        parts += text.of(pieces, number).texts()[0]
        assert len(text.of(pieces, number + 1).texts()[0]) <= 10
    assert max(Counter(map(id, parts)).values()) > 100
