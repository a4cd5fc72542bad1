"""The subcommands that a person types."""

SUBCOMMANDS = ("batch", "demo", "doctor", "mcp", "models", "permissions", "plugins", "prompt", "sessions", "setup")
