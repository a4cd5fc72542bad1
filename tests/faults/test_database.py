"""A database that is locked, damaged, or without its log: what is told, what is saved, and that one can go on."""

from __future__ import annotations

import asyncio
import os
import random
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from tests.faults.stage import Stage, told
from tests.support.editor import Editor, RpcError

SEED = os.environ.get("FAULTS_SEED") or str(random.randrange(1_000_000))
_PAGE = 4096


@pytest.mark.long
async def test_a_database_that_another_program_holds_delays_only_what_is_stored(stage: Stage) -> None:
    agent = await stage.start()
    await stage.open(agent)
    await stage.say(agent, "say First.")
    with closing(sqlite3.connect(stage.home / "hermes-acp.db", isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        await stage.say(agent, "write made.txt text\nrun echo ran\nsleep 3.5\nsay Second.")
        assert "locked" in agent.text(stage.session)
        holder.execute("ROLLBACK")
    await stage.say(agent, "say Third.")
    await agent.close(expect=0)
    again = await stage.start()
    await stage.open(again)
    stage.check_view(again)
    stage.check_database()


@pytest.mark.slow
@pytest.mark.parametrize("number", range(20))
async def test_whatever_page_is_damaged_it_is_told_and_mended(stage: Stage, number: int) -> None:
    await _damage_and_mend(stage, random.Random(f"{SEED} {number}"))


@pytest.mark.long
async def test_a_damaged_page_is_told_and_mended(stage: Stage) -> None:
    await _damage_and_mend(stage, random.Random(SEED))


async def _words_of_trouble(agent: Editor, stage: Stage) -> str:
    try:
        await agent.load_session(stage.session, stage.workspace)
        await agent.prompt(stage.session, "say Hello.")
    except RpcError as problem:
        return str(problem)
    return ""


async def _damage_and_mend(stage: Stage, chance: random.Random) -> None:
    agent = await stage.start()
    await stage.open(agent)
    for number in range(12):
        await stage.say(agent, f"run seq 1 300\nsay Answer {number}.")
    await agent.close(expect=0)
    path = stage.home / "hermes-acp.db"
    data = bytearray(path.read_bytes())
    pages = chance.sample(range(1, len(data) // _PAGE), 3)
    for page in pages:
        data[page * _PAGE : (page + 1) * _PAGE] = chance.choice((bytes(_PAGE), chance.randbytes(_PAGE)))
    path.write_bytes(data)
    with told(f"FAULTS_SEED={SEED}, pages {pages}"):
        agent = await stage.start()
        await agent.initialize()
        words = await _words_of_trouble(agent, stage)
        assert not words or "hermes-acp doctor" in words
        agent.close_stdin()
        assert await agent.exit_code() in (0, 3)  # what was said by then may be in a file, for the next start
        command = (sys.executable, "-P", "-m", "acp_adapter", "doctor", "--fix")
        environment = {**os.environ, "HERMES_HOME": str(stage.home)}
        done = await asyncio.to_thread(
            subprocess.run, command, env=environment, cwd=stage.scratch, capture_output=True, text=True, check=False
        )
        assert "Traceback" not in done.stdout + done.stderr
        stage.check_database()
        agent = await stage.start()
        await agent.initialize()
        try:
            await agent.load_session(stage.session, stage.workspace)
        except RpcError:
            stage.session = await agent.new_session(stage.workspace)
        assert (await agent.prompt(stage.session, "say Still here."))["stopReason"] == "end_turn"
        await agent.close(expect=0)


@pytest.mark.long
async def test_without_its_log_of_changes_a_database_is_what_the_last_checkpoint_made(stage: Stage) -> None:
    agent = await stage.start()
    await stage.open(agent)
    await stage.say(agent, "say First.")
    await agent.kill()
    for suffix in ("-wal", "-shm"):
        (stage.home / f"hermes-acp.db{suffix}").unlink(missing_ok=True)
    stage.check_database()
    again = await stage.start()
    await again.initialize()
    session = await again.new_session(stage.workspace)
    assert (await again.prompt(session, "say Still here."))["stopReason"] == "end_turn"
    stage.check_database()
