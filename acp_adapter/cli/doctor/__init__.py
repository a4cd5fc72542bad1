"""The parts of `hermes-acp doctor`."""
