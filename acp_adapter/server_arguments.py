"""The server's command line. Without arguments, the usual case, nothing is parsed and nothing is loaded for it."""

from __future__ import annotations

from acp_adapter.cli import SUBCOMMANDS
from acp_adapter.version import __version__
from tools.light_dataclass import dataclass

_DESCRIPTION = """\
The ACP coding agent. An editor starts it and speaks the Agent Client Protocol over stdin and stdout.
For people: `hermes-acp setup` chooses the model, `hermes-acp demo` shows it at work,
`hermes-acp prompt "…"` runs one prompt, `hermes-acp models` lists the models that a provider has."""


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """What the command line chose."""

    model: str | None = None
    provider: str | None = None
    base_url: str | None = None
    profile: str | None = None
    verbose: bool = False
    record: str | None = None


def parse_arguments(arguments: list[str]) -> ServerOptions:
    """The options in `arguments`; wrong ones end the process with a usage message on stderr."""
    if not arguments:
        return ServerOptions()
    import argparse  # noqa: PLC0415

    parser = argparse.ArgumentParser("hermes-acp", description=_DESCRIPTION, allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"hermes-acp {__version__}")
    parser.add_argument("--model", help="the model to ask, as its server knows it")
    parser.add_argument("--provider", help="who serves it: openai, openrouter, custom, offline")
    parser.add_argument("--base-url", help="the address of an OpenAI-compatible server")
    parser.add_argument("--offline", action="store_true", help="use the embedded stand-in for a model")
    parser.add_argument("--profile", help="use ~/.hermes/profiles/NAME as the home directory")
    parser.add_argument("--verbose", action="store_true", help="log to stderr too")
    parser.add_argument("--record", metavar="FILE", help="keep what goes over the wire in this file, without secrets")
    if not arguments[0].startswith("-"):
        parser.error(f"there is no command {arguments[0]!r}; the commands are: {', '.join(SUBCOMMANDS)}")
    found = parser.parse_args(arguments)
    if found.offline:
        if found.model or found.provider or found.base_url:
            parser.error("--offline goes without --model, --provider and --base-url")
        found.model = found.provider = "offline"
    return ServerOptions(found.model, found.provider, found.base_url, found.profile, found.verbose, found.record)
