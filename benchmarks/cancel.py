"""From `session/cancel` to the prompt's answer. The floors have nothing to stop: they show what the wire costs."""

from __future__ import annotations

import contextlib
import time

from benchmarks.client import Agent, cancelled
from benchmarks.figures import CONTENDERS, HERMES, RAW, SDK, Quantity, Samples, Section
from benchmarks.stage import Stage

_STREAM = Quantity("cancel in a stream → answer", at_most=20)
_COMMAND = Quantity("cancel during a command → answer", at_most=20)
_QUESTION = Quantity("cancel during a permission → answer", at_most=20)


def measure(stage: Stage) -> Section:
    samples = Samples()
    with contextlib.ExitStack() as running:
        asking = running.enter_context(stage.start(HERMES, asks_model=True))
        playing = {name: running.enter_context(stage.start(name)) for name in CONTENDERS}
        asking_session = asking.open()
        sessions = {name: agent.open() for name, agent in playing.items()}
        for round_number in range(1 + stage.repetitions.cancels):
            found = samples if round_number else Samples()
            found.add(_STREAM, HERMES, _in_stream(stage, asking, asking_session))
            for name in (RAW, SDK):
                took = cancel_floor(playing[name], sessions[name])
                for quantity in (_STREAM, _COMMAND, _QUESTION):
                    found.add(quantity, name, took)
            found.add(_COMMAND, HERMES, _in_command(playing[HERMES], sessions[HERMES]))
            found.add(_QUESTION, HERMES, _in_question(playing[HERMES], sessions[HERMES]))
    return samples.section("Cancel", (_STREAM, _COMMAND, _QUESTION))


def _in_stream(stage: Stage, agent: Agent, session: str) -> float:
    agent.take_updates()
    prompt = agent.send_prompt(session, stage.model.plan("drip", 0)[1])
    agent.first_text()
    return cancel(agent, session, prompt)


def cancel_floor(agent: Agent, session: str) -> float:
    """Milliseconds that a floor takes, whose prompt does nothing but wait."""
    prompt = agent.send_prompt(session, "wait")
    time.sleep(0.01)
    return cancel(agent, session, prompt)


def _in_command(agent: Agent, session: str) -> float:
    agent.take_updates()
    prompt = agent.send_prompt(session, "run echo begun; sleep 60")
    agent.wait(lambda: any(b"in_progress" in update.line for update in agent.updates), "its command")
    time.sleep(0.05)  # the shell is up
    return cancel(agent, session, prompt)


def _in_question(agent: Agent, session: str) -> float:
    agent.hold_questions = True
    prompt = agent.send_prompt(session, "write cancelled.txt nothing")
    agent.wait(lambda: bool(agent.questions), "its question")
    milliseconds = cancel(agent, session, prompt)
    agent.hold_questions = False
    return milliseconds


def cancel(agent: Agent, session: str, prompt: int) -> float:
    """Milliseconds from the cancel of a prompt to its answer."""
    started = time.monotonic()
    agent.cancel(session)
    while agent.questions:  # the protocol has the client answer them itself
        agent.reply(agent.questions.pop(), {"outcome": {"outcome": "cancelled"}})
    return 1000 * (cancelled(agent.answer(prompt)).at - started)
