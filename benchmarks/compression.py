"""Compression: how long a conversation of 2,000 messages takes without a model, and how well tokens are told.

The floor is `json.dumps` of the same messages: each request to a model costs that in any case.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from agent_core.compaction.compactor import ContextCompressor
from agent_core.compaction.engine import CompressionRequest, WindowUse
from agent_core.compaction.tokens import TokenMeter, text_tokens
from agent_core.compaction.view import shown
from agent_core.model_request.history_filter import Omissions
from benchmarks.figures import COUNT, HERMES, PERCENT, RAW, Quantity, Samples, Section
from benchmarks.stage import Stage
from tests.support.histories import long_history

_MESSAGES, _FIXED, _WINDOW = 2_000, 5_000, 200_000
_RECORD = Quantity("2,000 messages compressed to a record, without a model")
_LINES = Quantity("… by shortening old results alone")
_VIEW = Quantity("… the view of them for the next request")
_COUNTED = Quantity("… their tokens estimated for the first time")
_LEFT = Quantity("… tokens after, of 100 before", COUNT)
_ERROR = Quantity("tokens of a text, error before the first answer", PERCENT)
_COUNTS = Path(__file__).parents[1] / "tests" / "data" / "tokens" / "counts.json"


def measure(stage: Stage) -> Section:
    samples, messages = Samples(), long_history(_MESSAGES)
    for _ in range(stage.repetitions.memory):
        meter = TokenMeter()
        tokens = _timed(samples, _COUNTED, HERMES, partial(meter.measure("p:m"), messages))
        _timed(samples, _RECORD, RAW, lambda: json.dumps(messages))
        for quantity, window in ((_RECORD, _WINDOW), (_LINES, int(1.3 * tokens))):
            use = WindowUse(_FIXED + tokens, _FIXED, window)
            request = CompressionRequest(messages, None, use, meter.measure("p:m"))
            engine = ContextCompressor()
            made = _timed(samples, quantity, HERMES, partial(engine.compress, request, lambda _: None))
            if made is not None:
                _timed(samples, _VIEW, HERMES, partial(shown, messages, Omissions(), made.compaction))
                if quantity is _RECORD:
                    left = 100 * made.compaction.tokens_after / made.compaction.tokens_before
                    samples.add(_LEFT, HERMES, left)
    _errors(samples)
    return samples.section("Compression", (_RECORD, _LINES, _VIEW, _COUNTED, _LEFT, _ERROR))


def _errors(samples: Samples) -> None:
    """Of the estimate, and of the usual four characters a token as the floor."""
    for entry in json.loads(_COUNTS.read_text(encoding="utf-8"))["texts"]:
        for vocabulary in ("o200k", "cl100k"):
            samples.add(_ERROR, HERMES, 100 * abs(text_tokens(entry["text"]) / entry[vocabulary] - 1))
            samples.add(_ERROR, RAW, 100 * abs(len(entry["text"]) / 4 / entry[vocabulary] - 1))


def _timed(samples: Samples, quantity: Quantity, contender: str, work: Callable[[], Any]) -> Any:
    begun = time.perf_counter()
    result = work()
    samples.add(quantity, contender, (time.perf_counter() - begun) * 1000)
    return result
