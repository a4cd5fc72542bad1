"""`hermes-acp models --try`: ten short tasks that show whether a model can use tools.

Each is a turn of a real agent in a folder of its own. What a model claims is not looked at: a task is passed when its
files are as they should be, or the answer says what stands in them. No commands run, nobody is asked, and only the
folder can be written to.
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from acp_adapter.cli.main import refused
from acp_adapter.format import one_line
from agent_core.agent import AIAgent
from agent_core.callbacks import AgentCallbacks, CallFinished, CallRequested, Step, ToolProgress
from agent_core.cancel import CancelToken
from agent_core.compaction.tokens import text_tokens, tools_tokens
from agent_core.config import Configuration
from agent_core.errors import HermesError, SettingsError
from agent_core.loop import AgentSettings
from agent_core.model_request.caller import Patience
from agent_core.model_request.fallback_chain import Route, Routes
from agent_core.prompt.layers import PromptSettings
from agent_core.providers.available_models import split_name
from agent_core.providers.base import Usage
from agent_core.providers.choice import ModelChoice
from agent_core.providers.pricing import cost_of
from agent_core.providers.resolve import resolve_named
from agent_core.settings.project import ContextFileSettings
from agent_core.workspace import local_workspace
from tools.toolsets import get_tool_definitions

# The tasks.

PROBE_SECONDS = 300.0
_TOOLSETS = ("files", "planning")
_MOST_REQUESTS = 5
_PROMPT_TOKENS = 700
_ANSWER_TOKENS = 150
LONG = "".join(
    f"Line {number} of a long file: {number * 7919} items, {number % 7} of them broken.\n" for number in range(60)
)
ODD = "Grüße aus 東京 🙂: \"quoted\", 'single', a \\backslash\\, a tab\there, {braces} and 100 %."


@dataclass(slots=True)
class Seen:
    """What a model did in one task.

    Attributes:
        answers: by answer in order, the calls that it made: tool and arguments.
        failed: the tools of calls that failed.
    """

    folder: Path
    text: str = ""
    answers: list[list[tuple[str, Mapping[str, Any]]]] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    _began: bool = True

    def called(self, *names: str) -> bool:
        """Whether one of these tools was called."""
        return any(name in names for calls in self.answers for name, _ in calls)

    def content(self, name: str) -> str:
        """What a file holds, without line ends at its end; '' where there is none."""
        try:
            return (self.folder / name).read_bytes().decode().rstrip("\n")
        except (OSError, UnicodeDecodeError):
            return ""

    def hear(self, progress: ToolProgress) -> None:
        """A call goes on."""
        if isinstance(progress, CallRequested):
            if self._began:
                self.answers.append([])
                self._began = False
            self.answers[-1].append((progress.name, progress.arguments))
        elif isinstance(progress, CallFinished) and progress.result.failed:
            self.failed.append(progress.name)

    def step(self, step: Step) -> None:
        """A request is over; what is called next belongs to its answer."""
        self._began = True
        self.requests += 1
        self.input_tokens += step.usage.input_tokens or 0
        self.output_tokens += step.usage.output_tokens or 0


@dataclass(frozen=True, slots=True)
class Probe:
    """A task.

    Attributes:
        shows: what it shows, for the table.
        files: that are there before.
        passed: whether it was done.
        requests: that it takes, as a rule.
        is_needed: an agent is of no use where this fails.
    """

    name: str
    shows: str
    prompt: str
    passed: Callable[[Seen], bool]
    files: Mapping[str, str] = field(default_factory=dict)
    requests: int = 2
    is_needed: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a task went; `why` is '' where it was passed."""

    probe: Probe
    why: str
    seen: Seen

    @property
    def passed(self) -> bool:
        """Whether it was done."""
        return not self.why


def _two_edits(seen: Seen) -> bool:
    nested = any(
        isinstance(given.get("edits"), list) and all(isinstance(edit, dict) for edit in given["edits"])
        for calls in seen.answers
        for _, given in calls
    )
    return nested and seen.content("settings.txt") == "color = green\nsize = large\nshape = round"


def _side_by_side(seen: Seen) -> bool:
    first = [name for name, _ in seen.answers[0]] if seen.answers else []
    return first.count("read_file") > 1 and "12" in seen.text


PROBES: tuple[Probe, ...] = (
    Probe(
        "read",
        "reads a file instead of guessing",
        "What is the code word in notes.txt? Answer with that word.",
        lambda seen: seen.called("read_file", "search_files") and "marmalade" in seen.text.lower(),
        {"notes.txt": "Some notes.\nThe code word is marmalade.\n"},
        is_needed=True,
    ),
    Probe(
        "edit",
        "changes one place, and nothing else",
        "In colors.txt the sky is green. Make it blue; leave everything else as it is.",
        lambda seen: seen.content("colors.txt") == "grass: green\nsky: blue\nleaf: green",
        {"colors.txt": "grass: green\nsky: green\nleaf: green\n"},
        3,
        is_needed=True,
    ),
    Probe(
        "patch",
        "writes code that fits its surroundings",
        "In shop.py write a function total(prices) under the line “# below”, which returns the sum of the prices.",
        lambda seen: _runs(seen.content("shop.py")),
        {"shop.py": "TAX = 2\n\n# below\n\n\ndef half(price):\n    return price / 2\n"},
        3,
        is_needed=True,
    ),
    Probe(
        "nested",
        "gives a tool a list of objects",
        "In settings.txt make red green and small large, with a single call of patch that has both in `edits`.",
        _two_edits,
        {"settings.txt": "color = red\nsize = small\nshape = round\n"},
        3,
    ),
    Probe(
        "parallel",
        "makes two calls in one answer",
        "Read one.txt and two.txt, both at once in one answer, and tell me the sum of the two numbers.",
        _side_by_side,
        {"one.txt": "5\n", "two.txt": "7\n"},
    ),
    Probe(
        "unknown tool",
        "does not make up tools",
        "Send an e-mail with hello to anna@example.com, with the tool send_email. If you have no such tool, say so.",
        lambda seen: not seen.called("send_email") and not seen.failed and bool(seen.text.strip()),
        requests=1,
    ),
    Probe(
        "long argument",
        "writes 4 kB without a mistake",
        f"Write a file copy.txt with exactly this text:\n\n{LONG}",
        lambda seen: seen.content("copy.txt") == LONG.rstrip("\n"),
    ),
    Probe(
        "unicode",
        "keeps quotes, backslashes and other scripts",
        f"Write a file odd.txt that holds exactly this one line:\n\n{ODD}",
        lambda seen: seen.content("odd.txt") == ODD,
    ),
    Probe(
        "no call",
        "answers without a tool where none is needed",
        "What is 20 + 22? Answer with the number alone.",
        lambda seen: not seen.answers and "42" in seen.text,
        requests=1,
    ),
    Probe(
        "after an error",
        "goes on after a tool has failed",
        "Read missing.txt. If that fails, read backup.txt, and tell me the city that it names.",
        lambda seen: "read_file" in seen.failed and "lisbon" in seen.text.lower(),
        {"backup.txt": "City: Lisbon\n"},
        3,
        is_needed=True,
    ),
)


def _runs(code: str) -> bool:
    """Whether the code has the function that was asked for; nothing of it is run."""
    try:
        functions = {node.name: node for node in ast.parse(code).body if isinstance(node, ast.FunctionDef)}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return functions.keys() == {"total", "half"} and len(functions["total"].args.args) == 1 and "TAX = 2" in code


def estimated_tokens() -> tuple[int, int]:
    """About the tokens of all prompts and of all answers, as a rule."""
    fixed = tools_tokens(get_tool_definitions(_TOOLSETS, quiet=True)) + _PROMPT_TOKENS
    prompts = sum(probe.requests * (fixed + text_tokens(probe.prompt) + _ANSWER_TOKENS) for probe in PROBES)
    answers = sum(probe.requests * _ANSWER_TOKENS for probe in PROBES) + text_tokens(LONG) + text_tokens(ODD)
    return int(round(prompts, -2)), int(round(answers, -2))


def run_probe(probe: Probe, route: Route, seconds: float = PROBE_SECONDS) -> Outcome:
    """Do one task with the first model of `route`, for at most `seconds`.

    Raises:
        HermesError: the model could not be asked.
    """
    with tempfile.TemporaryDirectory(prefix="hermes-try-") as folder:
        place = Path(folder).resolve()
        for name, text in probe.files.items():
            (place / name).write_text(text, encoding="utf-8", newline="")
        seen = Seen(place)
        return Outcome(probe, _watched(probe, route, seen, seconds), seen)


def _watched(probe: Probe, route: Route, seen: Seen, seconds: float) -> str:
    """Do the task; why it was not passed."""
    token = CancelToken()
    choice = route.members[0].choice
    agent = AIAgent(
        choice.model,
        route.connect(choice),
        enabled_toolsets=_TOOLSETS,
        max_iterations=_MOST_REQUESTS,
        workspace=local_workspace(seen.folder, mode="accept_edits"),
        route=route,
        settings=AgentSettings(patience=Patience(attempts=2), verify_on_stop=False),
        prompt=PromptSettings(context_files=ContextFileSettings(enabled=False)),
        callbacks=AgentCallbacks(tool_progress_callback=seen.hear, step_callback=seen.step),
    )
    timer = threading.Timer(seconds, token.cancel)
    timer.daemon = True
    timer.start()
    try:
        result = agent.run_conversation(probe.prompt, token=token)
    finally:
        timer.cancel()
        agent.workspace.close()
    seen.text = result["final_response"]
    if result["interrupted"]:
        return f"no end within {seconds:g} s"
    if result["stop_reason"] != "end_turn":
        return f"it ended with {result['stop_reason']}"
    if probe.passed(seen):
        return ""
    calls = dict.fromkeys(name for answer in seen.answers for name, _ in answer)
    failed = f"; {', '.join(dict.fromkeys(seen.failed))} failed" if seen.failed else ""
    return f"it called {', '.join(calls) or 'no tool'}{failed}"


def run_all(route: Route, heard: Callable[[Outcome], None] | None) -> list[Outcome]:
    """Do all tasks, one after the other; `heard` is told of each.

    Raises:
        HermesError: the model could not be asked the first time. Later failures are outcomes.
    """
    found: list[Outcome] = []
    for probe in PROBES:
        try:
            outcome = run_probe(probe, route)
        except HermesError as problem:
            if not found:
                raise
            outcome = Outcome(probe, problem.public, Seen(Path(), requests=1))
        found.append(outcome)
        if heard is not None:
            heard(outcome)
    return found


def fit_for(outcomes: Sequence[Outcome]) -> str:
    """A sentence about what the model is fit for."""
    failed = [each for each in outcomes if not each.passed]
    needed = [each.probe.name for each in failed if each.probe.is_needed]
    calls = [each for each in outcomes if each.probe.requests > 1]
    if not failed:
        return "It is fit for an agent's work: everything passed."
    if not any(each.passed for each in calls):
        return (
            "It is fit for talk, not for work: it used no tool as it should. If it can use tools elsewhere, its "
            "server does not pass them on (llama.cpp wants --jinja, vLLM --enable-auto-tool-choice)."
        )
    if needed:
        return f"It is not fit for an agent's work: it failed at {', '.join(needed)}."
    names = ", ".join(each.probe.name for each in failed)
    return f"It is fit for an agent's work, with care: it failed at {names}."


# What it costs, a table of the outcomes, and what the model is fit for.


def try_model(options: argparse.Namespace, config: Configuration) -> int:
    """Try the model that `options.try_model` names; the exit code.

    Raises:
        HermesError: it cannot be asked.
    """
    choice = _choice(config, options.try_model, options.provider)
    prompts, answers = estimated_tokens()
    out = sys.stderr if options.json else sys.stdout
    print(
        f"{choice.endpoint}: {len(PROBES)} tasks for {choice.model}. They take about {prompts:,} tokens of prompts "
        f"and {answers:,} of answers{_price(choice, prompts, answers, 'about')}; a model that thinks or repeats "
        "itself takes more.",
        file=out,
        flush=True,
    )
    no = refused("models", "Nothing was asked; spend these tokens", "Try it?", yes=options.yes, out=out)
    if no is not None:
        return no
    routes = Routes(config.home.root)
    try:
        route = Route([routes.member(config, choice)], routes.provider, routes.lessons, routes.windows)
        outcomes = run_all(route, None if options.json else _show)
    finally:
        routes.close()
    passed = sum(outcome.passed for outcome in outcomes)
    prompts = sum(outcome.seen.input_tokens for outcome in outcomes)
    answers = sum(outcome.seen.output_tokens for outcome in outcomes)
    if options.json:
        told = {
            "model": choice.name,
            "passed": passed,
            "fit_for": fit_for(outcomes),
            "input_tokens": prompts,
            "output_tokens": answers,
            "probes": [
                {
                    "name": outcome.probe.name,
                    "shows": outcome.probe.shows,
                    "passed": outcome.passed,
                    "why": outcome.why,
                    "requests": outcome.seen.requests,
                }
                for outcome in outcomes
            ],
        }
        print(json.dumps(told, indent=2, ensure_ascii=False))
        return 0
    cost = _price(choice, prompts, answers, "at most")
    took = f" It took {prompts:,} and {answers:,} tokens{cost}." if prompts else ""
    print(f"\n{passed} of {len(outcomes)} passed.{took}\n{choice.name}: {fit_for(outcomes)}")
    return 0


def _choice(config: Configuration, name: str, provider: str | None) -> ModelChoice:
    named, model = (provider, name) if provider else split_name(config, name)
    choice = resolve_named(config, named or None, model, source="command line")
    if choice.api_mode == "offline":
        raise SettingsError("The offline model plays what you write: there is nothing to try. Name a real model.")
    return choice


def _price(choice: ModelChoice, prompts: int, answers: int, about: str) -> str:
    cost = cost_of(Usage(prompts, answers, 0, 0, 0), choice.facts)
    return "" if cost is None else f", {about} ${cost:.2f}"


def _show(outcome: Outcome) -> None:
    """A line of the table, as soon as it is known."""
    probe, width = outcome.probe, max(len(each.name) for each in PROBES)
    said = probe.shows if outcome.passed else f"{probe.shows}: {one_line(outcome.why)}"
    print(f"  {'passed' if outcome.passed else 'FAILED'}  {probe.name:<{width}}  {said}", flush=True)
