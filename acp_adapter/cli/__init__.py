"""The subcommands that a person types."""

SUBCOMMANDS = (
    "batch",
    "chat",
    "demo",
    "doctor",
    "inspect",
    "mcp",
    "models",
    "permissions",
    "plugins",
    "prompt",
    "sessions",
    "setup",
    "usage",
)
