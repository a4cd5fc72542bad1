"""How much memory the process has when it is ready, and when it has worked."""

from __future__ import annotations

from benchmarks.figures import CONTENDERS, HERMES, MEGABYTES, RAW, Quantity, Samples, Section
from benchmarks.stage import Stage

_OPENED = Quantity("resident when session/new is answered", MEGABYTES, at_most=50)
_READY = Quantity("resident when ready", MEGABYTES)
_PLAYED = Quantity("resident after 3 prompts, model played inside", MEGABYTES, at_most=70)
_ASKED = Quantity("resident after 3 prompts to a model server", MEGABYTES, at_most=70)


def measure(stage: Stage) -> Section:
    samples = Samples()
    _played(stage, HERMES, Samples())  # the home has been worked in, as at all starts but one
    for _ in range(stage.repetitions.memory):
        for contender in CONTENDERS:
            _played(stage, contender, samples)
        for contender in (HERMES, RAW):
            _asked(stage, contender, samples)
    return samples.section("Memory", (_OPENED, _READY, _PLAYED, _ASKED))


def _played(stage: Stage, contender: str, samples: Samples) -> None:
    with stage.start(contender) as agent:
        agent.initialize()
        agent.new_session()
        samples.add(_OPENED, contender, agent.resident_megabytes())
        session = agent.new_session().result["sessionId"]
        samples.add(_READY, contender, agent.resident_megabytes())
        for _ in range(3):
            agent.prompt(session, "say Hello.")
        samples.add(_PLAYED, contender, agent.resident_megabytes())


def _asked(stage: Stage, contender: str, samples: Samples) -> None:
    with stage.start(contender, asks_model=True) as agent:
        session = agent.open()
        for _ in range(3):
            agent.prompt(session, stage.model.plan("stream", 1)[1])
        samples.add(_ASKED, contender, agent.resident_megabytes())
