"""What servers keep of a conversation's beginning, and so what a run of requests costs.

There are two kinds. Most servers keep whatever they have read, in steps of 128 tokens and from 1,024 on
(https://platform.openai.com/docs/guides/prompt-caching). Anthropic's keep a beginning up to where the request marks
its end, and look for one at each mark and up to 20 blocks before it
(https://platform.claude.com/docs/en/build-with-claude/prompt-caching). Tokens are estimated, all in the same way.
"""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from agent_core.compaction.tokens import text_tokens

_LEAST, _STEP, _LOOK_BACK = 1_024, 128, 20
_MARKER = "cache_control"
_NOT_READ = {"tools", "system", "instructions", "messages", "input", "max_tokens", "max_output_tokens", "stream"}


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a request that is the same or another: a tool, a block of the system prompt or of a message."""

    text: str
    is_marked: bool = False

    @property
    def tokens(self) -> int:
        return _tokens(self.text)


@dataclass(frozen=True, slots=True)
class Cost:
    """Input tokens of a run of requests.

    Attributes:
        sent: of all requests together.
        served: what a cache served of them.
        possible: what it could have served at most, were each request the one before and something behind it.
    """

    requests: int
    sent: int
    served: int
    possible: int

    @property
    def share(self) -> float:
        """Served of what is possible, 0 to 1."""
        return self.served / self.possible if self.possible else 1.0


def pieces(body: dict[str, Any]) -> list[Piece]:
    """A request of any of the protocols in the order in which servers read it: tools, system prompt, messages."""
    # A change of the model or of how it thinks is another beginning, too.
    about = json.dumps({key: value for key, value in body.items() if key not in _NOT_READ})
    system = body.get("system") or [{"type": "text", "text": body.get("instructions", "")}]
    found = [*_blocks("tools", body.get("tools", [])), *_blocks("system", system)]
    for message in body.get("messages") or body.get("input") or []:
        content = message.get("content")
        frame = json.dumps({key: value for key, value in message.items() if key != "content"})
        found += _blocks(frame, content if isinstance(content, list) else [_as_block(content)])
    return [Piece(about + found[0].text, found[0].is_marked), *found[1:]]


def cost_of_run(bodies: Sequence[dict[str, Any]], *, by_marks: bool) -> Cost:
    """What a run of requests to one model costs.

    Args:
        by_marks: on a server that keeps what is marked, and nothing else.
    """
    requests = [pieces(body) for body in bodies]
    sizes = [sum(piece.tokens for piece in request) for request in requests]
    served = sum(_marked(requests) if by_marks else _automatic(requests))
    return Cost(len(requests), sum(sizes), served, sum(map(min, itertools.pairwise(sizes))))


def _automatic(requests: Sequence[Sequence[Piece]]) -> Iterator[int]:
    """The tokens that each request but the first shares with one before it, in whole steps."""
    for number, request in enumerate(requests):
        shared = max((_shared(request, earlier) for earlier in requests[:number]), default=0)
        yield shared // _STEP * _STEP if shared >= _LEAST else 0


def _marked(requests: Sequence[Sequence[Piece]]) -> Iterator[int]:
    """The longest beginning of each request that an earlier one has marked, as far as a server looks for it."""
    written: set[int] = set()
    for request in requests:
        ends, sizes = _beginnings(request)
        marks = [at for at, piece in enumerate(request) if piece.is_marked]
        looked_at = {at for mark in marks for at in range(max(0, mark - _LOOK_BACK), mark + 1)}
        yield max((sizes[at] for at in looked_at if ends[at] in written), default=0)
        written.update(ends[at] for at in marks if sizes[at] >= _LEAST)


def _beginnings(request: Sequence[Piece]) -> tuple[list[int], list[int]]:
    """For each piece: what the beginning with it at its end is known by, and that beginning's tokens."""
    ends = list(itertools.accumulate(request, lambda before, piece: hash((before, piece.text)), initial=0))[1:]
    return ends, list(itertools.accumulate(piece.tokens for piece in request))


def _shared(one: Sequence[Piece], other: Sequence[Piece]) -> int:
    same = itertools.takewhile(lambda pair: pair[0].text == pair[1].text, zip(one, other, strict=False))
    return sum(piece.tokens for piece, _ in same)


def _blocks(frame: str, blocks: Sequence[dict[str, Any]]) -> list[Piece]:
    return [
        Piece(frame + json.dumps({key: value for key, value in block.items() if key != _MARKER}), _MARKER in block)
        for block in blocks
    ]


def _as_block(content: Any) -> dict[str, Any]:
    """A text alone is the same as one block of it, which it becomes when it is marked."""
    return {"type": "text", "text": content}


@functools.cache
def _tokens(text: str) -> int:
    return round(text_tokens(text))
