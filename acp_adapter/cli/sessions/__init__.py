"""The parts of `hermes-acp sessions`."""
