from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator

import pytest

from agent_core.service_loop import ServiceLoop, programs_get

_TELL = "import json, os; print(json.dumps(dict(os.environ)))"


@pytest.fixture
def loop() -> Iterator[ServiceLoop]:
    loop = ServiceLoop()
    yield loop
    loop.stop()


async def _told(env: dict[str, str] | None) -> dict[str, str]:
    """The variables of a program that a package starts."""
    pipe = asyncio.subprocess.PIPE
    program = await asyncio.create_subprocess_exec(sys.executable, "-ISc", _TELL, stdout=pipe, env=env)
    output, _ = await program.communicate()
    told = json.loads(output)
    assert isinstance(told, dict)
    return told


def test_a_program_gets_what_the_task_says_and_what_was_added_for_it(
    loop: ServiceLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANTED_TOKEN", "secret")

    async def start() -> list[dict[str, str]]:
        with programs_get({"GIVEN": "yes"}):
            all_of_ours = await asyncio.create_task(_told({"PLANTED_TOKEN": "secret", "ADDED": "too"}))
            none_named = await _told(None)
        return [all_of_ours, none_named, await _told({"AFTER": "it"})]

    first, second, after = loop.submit(start()).result(30)

    assert first | {"LC_CTYPE": ""} == {"GIVEN": "yes", "ADDED": "too", "LC_CTYPE": ""}
    assert second | {"LC_CTYPE": ""} == {"GIVEN": "yes", "LC_CTYPE": ""}
    assert after["AFTER"] == "it"


def test_what_runs_on_another_loop_cannot_be_seen_to_and_is_refused() -> None:
    async def start() -> None:
        with programs_get({}):
            raise AssertionError("it was not refused")

    with pytest.raises(RuntimeError, match="all variables of this process"):
        asyncio.run(start())
