"""What a call prints, in whole lines."""

from __future__ import annotations

from acp_adapter.cli.tool_cards import OutputLines


def test_a_line_that_comes_in_very_many_pieces_is_one():
    output = OutputLines(10, 0)
    assert [line for _ in range(20_000) for line in output.feed("x" * 500)] == []
    assert output.feed("end\nnext") == ["x" * 10_000_000 + "end"]
    assert output.finish() == ["next"]
    assert output.finish() == []
