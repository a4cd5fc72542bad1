"""Which models are asked for a side task: its own, then the session's, then the fallbacks."""

from __future__ import annotations

from agent_core.auxiliary.question import Question
from agent_core.config import Configuration
from agent_core.errors import AuthRequired, SettingsError
from agent_core.providers.choice import ModelChoice
from agent_core.providers.resolve import resolve_fallbacks, resolve_model, resolve_named
from agent_core.settings.model import AuxiliaryTask

Identity = tuple[str, str, str, str | None]


def identity(choice: ModelChoice) -> Identity:
    """What makes two choices the same model on the same account."""
    return choice.provider, choice.model, choice.base_url, choice.api_key


def candidates(config: Configuration, question: Question) -> tuple[list[ModelChoice], list[str]]:
    """The models to ask in order, each once, and why others cannot be asked."""
    problems: list[str] = []
    own, main = _own(config, question, problems), _main(config, problems)
    first = main or own
    fallbacks, broken = resolve_fallbacks(config, first) if first is not None else ((), ())
    found: dict[Identity, ModelChoice] = {}
    for choice in (own, main, *fallbacks):
        if choice is None:
            continue
        if question.task == "vision" and choice.facts.vision is False:
            problems.append(f"{choice.name} sees no images.")
        else:
            found.setdefault(identity(choice), choice)
    return list(found.values()), [*problems, *broken]


def _own(config: Configuration, question: Question, problems: list[str]) -> ModelChoice | None:
    given, source = question.settings, f"auxiliary.{question.task}"
    if not _names_a_model(given):
        return None
    try:
        return resolve_named(config, given.provider, given.model, given.base_url, source=source, values=given)
    except (AuthRequired, SettingsError) as problem:
        problems.append(f"{source} ({given.provider or ''}:{given.model or ''}) is not used. {problem.public}")
        return None


def _main(config: Configuration, problems: list[str]) -> ModelChoice | None:
    try:
        return resolve_model(config)
    except (AuthRequired, SettingsError) as problem:
        problems.append(problem.public)
        return None


def _names_a_model(given: AuxiliaryTask) -> bool:
    """Whether more is set than how long and how much: the session's model is asked over the session's connection."""
    named = (given.provider or "").strip().lower() not in {"", "auto"}
    place = given.model or given.base_url or given.api_mode or given.keys or given.key_env or given.headers
    return named or bool(place)
