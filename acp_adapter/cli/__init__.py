"""The subcommands that a person types."""
