"""`hermes-acp models --try`: what it costs, the ten tasks, a table of their outcomes, what the model is fit for."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from acp_adapter.cli.model_probes import PROBES, Outcome, estimated_tokens, fit_for, run_all
from acp_adapter.cli.terminal.failing import say_failed
from acp_adapter.cli.terminal.safe_text import one_line
from agent_core.asking.route import Route
from agent_core.asking.routes import Routes
from agent_core.config import load
from agent_core.errors import SettingsError
from agent_core.home import find_home
from agent_core.providers.available_models import split_name
from agent_core.providers.base import Usage
from agent_core.providers.pricing import cost_of
from agent_core.providers.resolve import resolve_named

if TYPE_CHECKING:
    from agent_core.config import Configuration
    from agent_core.providers.choice import ModelChoice

_FAILED, _NOBODY_TO_ASK = 1, 2


def try_model(options: argparse.Namespace) -> int:
    """Try the model that `options.try_model` names; the exit code.

    Raises:
        HermesError: it cannot be asked.
    """
    home = find_home(os.environ, options.profile)
    config = load(home)
    choice = _choice(config, options.try_model, options.provider)
    refused = _confirm(choice, yes=options.yes, out_is_json=options.json)
    if refused is not None:
        return refused
    routes = Routes(home.root)
    try:
        route = Route([routes.member(config, choice)], routes.provider, routes.lessons, routes.windows)
        outcomes = run_all(route, _nothing if options.json else _show)
    finally:
        routes.close()
    if options.json:
        print(json.dumps(_as_json(choice, outcomes), indent=2, ensure_ascii=False))
    else:
        print(f"\n{_sum(choice, outcomes)}\n{choice.name}: {fit_for(outcomes)}")
    return 0


def _choice(config: Configuration, name: str, provider: str | None) -> ModelChoice:
    named, model = (provider, name) if provider else split_name(config, name)
    choice = resolve_named(config, named or None, model, source="command line")
    if choice.api_mode == "offline":
        raise SettingsError("The offline model plays what you write: there is nothing to try. Name a real model.")
    return choice


def _confirm(choice: ModelChoice, *, yes: bool, out_is_json: bool) -> int | None:
    """Say what it will cost; None where it may begin, else the exit code."""
    prompts, answers = estimated_tokens()
    cost = cost_of(Usage(prompts, answers, 0, 0, 0), choice.facts)
    price = "" if cost is None else f", about ${cost:.2f}"
    told = (
        f"{choice.endpoint}: {len(PROBES)} tasks for {choice.model}. They take about {prompts:,} tokens of prompts "
        f"and {answers:,} of answers{price}; a model that thinks or repeats itself takes more."
    )
    print(told, file=sys.stderr if out_is_json else sys.stdout, flush=True)
    if yes:
        return None
    if not sys.stdin.isatty():
        say_failed("models", "Nothing was asked: there is no terminal to ask on. Add --yes to spend these tokens.")
        return _NOBODY_TO_ASK
    print("Try it? [y/N] ", end="", file=sys.stderr if out_is_json else sys.stdout, flush=True)
    if sys.stdin.readline().strip().lower() in {"y", "yes"}:
        return None
    print("Nothing was asked.", file=sys.stderr if out_is_json else sys.stdout)
    return _FAILED


def _show(outcome: Outcome) -> None:
    """A line of the table, as soon as it is known."""
    probe, width = outcome.probe, max(len(each.name) for each in PROBES)
    said = probe.shows if outcome.passed else f"{probe.shows}: {one_line(outcome.why)}"
    print(f"  {'passed' if outcome.passed else 'FAILED'}  {probe.name:<{width}}  {said}", flush=True)


def _nothing(_: Outcome) -> None:
    pass


def _sum(choice: ModelChoice, outcomes: Sequence[Outcome]) -> str:
    passed = sum(outcome.passed for outcome in outcomes)
    prompts, answers = _tokens(outcomes)
    cost = cost_of(Usage(prompts, answers, 0, 0, 0), choice.facts)
    price = "" if cost is None else f", at most ${cost:.2f}"
    told = f" It took {prompts:,} and {answers:,} tokens{price}." if prompts else ""
    return f"{passed} of {len(outcomes)} passed.{told}"


def _tokens(outcomes: Sequence[Outcome]) -> tuple[int, int]:
    return sum(each.input_tokens for each in outcomes), sum(each.output_tokens for each in outcomes)


def _as_json(choice: ModelChoice, outcomes: Sequence[Outcome]) -> dict[str, object]:
    prompts, answers = _tokens(outcomes)
    return {
        "model": choice.name,
        "passed": sum(outcome.passed for outcome in outcomes),
        "fit_for": fit_for(outcomes),
        "input_tokens": prompts,
        "output_tokens": answers,
        "probes": [
            {
                "name": outcome.probe.name,
                "shows": outcome.probe.shows,
                "passed": outcome.passed,
                "why": outcome.why,
                "requests": outcome.requests,
            }
            for outcome in outcomes
        ],
    }
