from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from acp_adapter.preload import Warming


class _Factory:
    """Takes down what is loaded."""

    def __init__(self, told: Callable[[str], None], fails: bool = False) -> None:
        self._told, self._fails = told, fails

    def warm(self, *, for_stored: bool) -> None:
        self._told("stored prompt" if for_stored else "prompt")
        if self._fails:
            raise RuntimeError("not to be had")

    def warm_calls(self) -> None:
        self._told("calls")


def _lived(
    is_prompted: Callable[[list[str]], bool], *, fails: bool = False, begins: int = 1, for_stored: bool = False
) -> list[str]:
    """What happened until all is loaded."""
    seen: list[str] = []

    async def live() -> None:
        loop, done = asyncio.get_running_loop(), asyncio.Event()

        def told(what: str) -> None:
            seen.append(what)
            if what == "loaded":
                loop.call_soon_threadsafe(done.set)

        def prompted() -> bool:
            seen.append("?")
            return is_prompted(seen)

        factory: Any = _Factory(told, fails)
        with ThreadPoolExecutor(1) as executor:
            warming = Warming(
                factory, executor, prompted, lambda: told("loaded"), lambda _: told("looked again"), pause=0.001
            )
            for _ in range(begins):
                warming.begin(for_stored=for_stored)
            await done.wait()

    asyncio.run(live())
    return seen


def test_what_the_prompt_needs_is_loaded_once_and_then_what_its_calls_need() -> None:
    assert _lived(lambda _: False, begins=2) == ["prompt", "looked again", "?", "calls", "?", "loaded"]


def test_for_a_stored_session_only_that_is_loaded_first_which_its_prompt_needs() -> None:
    assert _lived(lambda _: False, for_stored=True)[0] == "stored prompt"


def test_a_prompt_that_was_sent_at_once_goes_before_what_its_calls_need() -> None:
    seen = _lived(lambda seen: seen.count("?") < 4)
    assert seen[: seen.index("calls")] == ["prompt", "looked again", "?", "?", "?", "?"]


def test_a_prompt_that_takes_long_does_not_keep_it_for_ever() -> None:
    seen = _lived(lambda _: True)
    assert seen[: seen.index("calls")].count("?") == 10


def test_what_cannot_be_loaded_holds_up_nothing(caplog: pytest.LogCaptureFixture) -> None:
    assert "calls" in _lived(lambda _: False, fails=True)
    assert "what the first prompt needs could not be loaded" in caplog.text
