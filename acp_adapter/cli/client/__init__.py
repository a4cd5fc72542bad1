"""The client that drives an agent over its real stdio, for `prompt`, `chat` and `demo`."""
