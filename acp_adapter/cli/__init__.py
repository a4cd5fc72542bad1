"""The subcommands that a person types."""

SUBCOMMANDS = ("demo", "doctor", "models", "prompt", "sessions", "setup")
