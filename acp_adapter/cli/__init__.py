"""The subcommands that a person types, and what each is for."""

SUBCOMMANDS = {
    "batch": "run many prompts at once",
    "chat": "talk to the agent in this terminal",
    "demo": "watch it find, fix and test a bug, without a model",
    "doctor": "say what is wrong, and what to do about it",
    "inspect": "make a page of a recording",
    "mcp": "MCP servers: list, test, sign in",
    "models": "list the models of a provider, or of this machine",
    "permissions": "what you have allowed for good, and taking it back",
    "plugins": "which there are, and which may run",
    "prompt": "run one prompt, for scripts too",
    "sessions": "list, show, search, export and delete what was said",
    "setup": "choose the model, and add the agent to editors",
    "usage": "what was used, and what it cost",
}
_FOLDERS = frozenset({"doctor", "inspect", "sessions", "setup"})


def module_of(subcommand: str) -> str:
    """The module whose `main` is `hermes-acp SUBCOMMAND`."""
    return f"acp_adapter.cli.{subcommand}.main" if subcommand in _FOLDERS else f"acp_adapter.cli.{subcommand}"
