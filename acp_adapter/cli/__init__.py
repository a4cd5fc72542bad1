"""The subcommands that a person types."""

SUBCOMMANDS = ("batch", "demo", "doctor", "models", "permissions", "prompt", "sessions", "setup")
