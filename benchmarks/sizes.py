"""Sizes: what the first request to the model holds, and how much is imported before the first answer."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from benchmarks.client import AgentFailed
from benchmarks.figures import BYTES, CONTENDERS, COUNT, HERMES, RAW, Quantity, Samples, Section
from benchmarks.stage import Settings, Stage

_REQUEST = Quantity("first request to the model, body", BYTES, at_most=16_384)
_TOOLS = Quantity("… of which the tools' definitions", BYTES)
_SYSTEM = Quantity("… of which the system prompt", BYTES)
_SMALL_REQUEST = Quantity("first request to a model with a small window, body", BYTES, at_most=7_168)
_SMALL_TOOLS = Quantity("… small window: of which the tools' definitions", BYTES)
_SMALL_SYSTEM = Quantity("… small window: of which the system prompt", BYTES)
_MODULES = Quantity("modules loaded when initialize is answered", COUNT)

_PROBE = Path(__file__).with_name("module_probe.py")
_HELLO = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}


def measure(stage: Stage) -> Section:
    samples = Samples()
    for contender in (HERMES, RAW):
        _first_request(stage, contender, samples)
    small = (_SMALL_REQUEST, _SMALL_TOOLS, _SMALL_SYSTEM)
    _first_request(stage, HERMES, samples, "small", small)
    for _ in range(stage.repetitions.memory):
        for contender in CONTENDERS:
            samples.add(_MODULES, contender, _modules(stage, contender))
    return samples.section("Sizes", (_REQUEST, _TOOLS, _SYSTEM, *small, _MODULES))


def _first_request(
    stage: Stage,
    contender: str,
    samples: Samples,
    settings: Settings = "loopback",
    quantities: tuple[Quantity, Quantity, Quantity] = (_REQUEST, _TOOLS, _SYSTEM),
) -> None:
    whole, tools, prompt_size = quantities
    run, prompt = stage.model.plan("stream", 1)
    with stage.start(contender, asks_model=True, settings=settings) as agent:
        agent.initialize()
        agent.prompt(agent.new_session().result["sessionId"], prompt)
    body = stage.model.record(run).first
    samples.add(whole, contender, len(body.encode()))
    if contender == HERMES:
        request = json.loads(body)
        samples.add(tools, contender, len(_as_sent(request.get("tools", []))))
        system = (message["content"] for message in request["messages"] if message["role"] == "system")
        samples.add(prompt_size, contender, sum(len(text.encode()) for text in system))


def _as_sent(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _modules(stage: Stage, contender: str) -> float:
    _, program, *arguments = stage.command(contender)
    probed = subprocess.run(
        [sys.executable, str(_PROBE), program, *arguments],
        input=json.dumps(_HELLO).encode() + b"\n",
        cwd=stage.workspace,
        env=stage.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        timeout=30,
        check=False,
    )
    if not probed.stderr.strip().isdigit():
        raise AgentFailed(f"{program} could not be probed:\n{probed.stderr.decode(errors='replace')[-2000:]}")
    return float(probed.stderr)
