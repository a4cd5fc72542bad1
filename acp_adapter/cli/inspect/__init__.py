"""The parts of `hermes-acp inspect`."""
