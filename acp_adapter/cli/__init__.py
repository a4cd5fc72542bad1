"""The subcommands that a person types."""

SUBCOMMANDS = ("demo", "models", "prompt")
