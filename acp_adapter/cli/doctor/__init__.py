"""`hermes-acp doctor`: the checks of an installation and its settings, their report, and what `--fix` mends."""
