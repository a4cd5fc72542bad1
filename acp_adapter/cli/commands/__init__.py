"""The subcommands' entries: each module's `main` is `hermes-acp NAME`."""
