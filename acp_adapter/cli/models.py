"""`hermes-acp models`: the models of a provider with what is known of them, and the model servers on this machine."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

from acp_adapter.cli.console import in_columns
from acp_adapter.cli.main import add_profile, command_parser, home_of, say_failed
from acp_adapter.format import one_line
from agent_core.config import Configuration, load
from agent_core.errors import AuthRequired, SettingsError
from agent_core.providers.available_models import ModelLists, as_offered, list_key
from agent_core.providers.catalog import SERVICES, canonical
from agent_core.providers.choice import ModelChoice
from agent_core.providers.model_listing import (
    FoundServer,
    ListedModel,
    ModelListing,
    discover_local,
    known_listing,
    list_models,
)
from agent_core.providers.resolve import resolve_model, resolve_named

# The lists as plain text.

_HEADINGS = ("  model", "context", "in", "cached", "out")
_UNKNOWN = "-"
_LONGEST_LIST = 12


def model_table(models: Sequence[ListedModel], configured: str | None) -> str:
    """One model a line with what is known of it; the configured one has a star."""
    rows = [_HEADINGS, *(_row(model, "*" if model.id == configured else " ") for model in models)]
    return "".join(f"{line}\n" for line in in_columns(rows, right=range(1, len(_HEADINGS))))


def server_table(servers: Sequence[FoundServer]) -> str:
    """One server a line with the names of its models, as far as there is place."""
    rows = [(server.service, server.base_url, _names(server.models)) for server in servers]
    return "".join(f"  {line}\n" for line in in_columns(rows))


def ports_text(ports: Mapping[str, Sequence[int]]) -> str:
    """`ollama 11434, lmstudio 1234`."""
    return ", ".join(f"{name} {'/'.join(map(str, numbers))}" for name, numbers in ports.items())


def _row(model: ListedModel, mark: str) -> tuple[str, ...]:
    facts = model.facts
    prices = (facts.input_price, facts.cached_price, facts.output_price)
    window = _UNKNOWN if facts.context_length is None else f"{facts.context_length:,}"
    return f"{mark} {one_line(model.id)}", window, *map(_dollars, prices)


def _dollars(price: float | None) -> str:
    return _UNKNOWN if price is None else f"{price:.6f}".rstrip("0").rstrip(".")


def _names(models: Sequence[str]) -> str:
    if not models:
        return "no models yet"
    shown = [one_line(name) for name in models[:_LONGEST_LIST]]
    return ", ".join([*shown, *(["..."] if len(models) > _LONGEST_LIST else [])])


# The command.

_ANY_MODEL = "any"
_EPILOG = """\
prices are US dollars for a million tokens, in for the prompt, cached for what the server kept of it, out for the
answer; - is unknown. The model with the star is the configured one.

exit codes:
  0    something was found; with --try: the model was tried, whatever came of it
  1    nothing was found, the model could not be asked, you said no, or the settings cannot be used; stderr says why
  2    the command line was wrong, or --yes is missing where nobody can be asked

examples:
  hermes-acp models
  hermes-acp models --provider openrouter | grep coder
  hermes-acp models --local
  hermes-acp models --try ollama:qwen3:8b
"""


def main(argv: list[str]) -> int:
    """Run `hermes-acp models` with the arguments `argv`; the result is the exit code."""
    parser = _parser()
    options = parser.parse_args(argv)
    if options.local and options.try_model:
        parser.error("--try asks one model, --local lists servers: give one of them")
    if (options.yes or options.json) and not options.try_model:
        parser.error("--yes and --json go with --try")
    home = home_of(options)
    if options.local:
        ports = {service.name: service.ports for service in SERVICES.values() if service.ports}
        return show_servers(ports, str(home.config_file))
    if options.try_model:
        from acp_adapter.cli.model_probes import try_model  # noqa: PLC0415 - loads the agent

        return try_model(options, load(home))
    return _listed(options.provider, load(home))


def show_servers(ports: Mapping[str, Sequence[int]], config_file: str) -> int:
    """Tell which model servers answer on these ports of this machine; the result is the exit code."""
    found = discover_local(ports)
    if not found:
        return say_failed(
            "models",
            f"No model server answers on this machine's usual ports ({ports_text(ports)}).\n"
            "Next: start one; for one on another port set model.provider: custom and its model.base_url in "
            f"{config_file}.",
        )
    print(f"Model servers on this machine:\n\n{server_table(found)}")
    first = found[0]
    address = f", model.base_url: {first.base_url}" if first.service == "custom" else ""
    print(f"Next: to use one, set model.provider: {first.service}{address} and model.default: NAME in {config_file}.")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = command_parser(
        "models",
        "List the models of the configured provider, or of another one: as its server tells them, else "
        "those that are known without asking.",
        _EPILOG,
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--provider", metavar="NAME", help="whose models (default: the configured provider)")
    which.add_argument("--local", action="store_true", help="look for model servers on this machine instead")
    add_profile(parser, "whose settings count")
    trying = parser.add_argument_group("trying a model")
    trying.add_argument(
        "--try", dest="try_model", metavar="MODEL", help="see with ten short tasks whether it can use tools"
    )
    trying.add_argument("--yes", action="store_true", help="do not ask before tokens are spent")
    trying.add_argument("--json", action="store_true", help="the outcome as JSON")
    return parser


def _listed(provider: str | None, config: Configuration) -> int:
    try:
        choice = _choice(config, provider)
    except AuthRequired as problem:
        name = _named(config, provider)
        if not name:
            raise
        return _show(known_listing(name, problem.public), name, name, config)
    listing = list_models(choice)
    if listing.source == "live":  # it is what editors offer from now on
        ModelLists(config.home).learned({list_key(choice.provider, choice.base_url): as_offered(listing.models)})
    return _show(listing, choice.provider, str(choice.endpoint), config)


def _choice(config: Configuration, provider: str | None) -> ModelChoice:
    try:
        return resolve_named(config, provider, None, source="command line")
    except AuthRequired:
        if not _named(config, provider):
            raise
    # Perhaps only the model is missing, and that is what this list is for.
    return resolve_named(config, provider, _ANY_MODEL, source="command line")


def _named(config: Configuration, provider: str | None) -> str:
    """The provider that the command line, the environment or the settings name; '' if none does."""
    return canonical(provider or config.environ.get("HERMES_PROVIDER") or config.settings.model.provider or "")


def _configured(config: Configuration, provider: str) -> str | None:
    try:
        choice = resolve_model(config)
    except (AuthRequired, SettingsError):
        return None
    return choice.model if choice.provider == provider else None


def _show(listing: ModelListing, provider: str, whose: str, config: Configuration) -> int:
    if not listing.models:
        return say_failed(
            "models", listing.problem or f"{whose} has no models. Load one into it, or choose another provider."
        )
    if listing.problem:
        say_failed("models", listing.problem)
    configured = _configured(config, provider)
    count = f"{len(listing.models)} model{'' if len(listing.models) == 1 else 's'}"
    print(f"{whose}: {count}{'' if listing.source == 'live' else ' known without asking'}\n")
    print(model_table(listing.models, configured))
    if configured and configured not in {model.id for model in listing.models}:
        print(f"The configured model, {configured}, is not among them.")
    print(
        f"Next: to use one, set model.provider: {provider} and model.default: NAME in {config.home.config_file}; "
        f'to try one: hermes-acp prompt --provider {provider} --model NAME "Hello".'
    )
    return 0
