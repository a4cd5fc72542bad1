"""The subcommands that a person types."""

SUBCOMMANDS = ("demo", "doctor", "models", "permissions", "prompt", "sessions", "setup")
