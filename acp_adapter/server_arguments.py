"""The server's command line. Without arguments, the usual case, nothing is parsed and nothing is loaded for it."""

from __future__ import annotations

from acp_adapter.cli import SUBCOMMANDS
from acp_adapter.launch import SERVE
from acp_adapter.version import __version__
from tools.light_dataclass import dataclass

_DESCRIPTION = """\
A coding agent. Without a command it is the server, which an editor starts: it speaks the Agent Client Protocol over
stdin and stdout. Begin with `hermes-acp setup`."""


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
    if arguments in ([], [SERVE]):
        return ServerOptions()
    import argparse  # noqa: PLC0415

    parser = argparse.ArgumentParser(
        "hermes-acp",
        usage="hermes-acp [options]\n       hermes-acp COMMAND [options]",
        description=_DESCRIPTION,
        epilog=_commands(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"hermes-acp {__version__}")
    parser.add_argument("--model", metavar="NAME", help="the model to ask, as its server knows it")
    parser.add_argument("--provider", metavar="NAME", help="who serves it; see docs/models.md")
    parser.add_argument("--base-url", metavar="URL", help="the model server's address, where it is not known")
    parser.add_argument("--offline", action="store_true", help="use the embedded stand-in for a model")
    parser.add_argument("--profile", metavar="NAME", help="use ~/.hermes/profiles/NAME as the home directory")
    parser.add_argument("--verbose", action="store_true", help="log to stderr too")
    parser.add_argument("--record", metavar="FILE", help="keep what goes over the wire in this file, without secrets")
    parser.add_argument(SERVE, nargs="?", choices=[SERVE], help=argparse.SUPPRESS)
    if not arguments[0].startswith("-") and arguments[0] != SERVE:
        parser.error(f"there is no command {arguments[0]!r}; the commands are: {', '.join(SUBCOMMANDS)}")
    found = parser.parse_args(arguments)
    if found.offline:
        if found.model or found.provider or found.base_url:
            parser.error("--offline goes without --model, --provider and --base-url")
        found.model = found.provider = "offline"
    return ServerOptions(found.model, found.provider, found.base_url, found.profile, found.verbose, found.record)


def _commands() -> str:
    lines = [f"  {name:<12} {purpose}" for name, purpose in SUBCOMMANDS.items()]
    lines.append(f"  {SERVE:<12} the server, as without a command: what many clients call")
    return "\n".join(["commands:", *lines, "", "`hermes-acp COMMAND --help` has the options of each."])
