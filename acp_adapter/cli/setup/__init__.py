"""The parts of `hermes-acp setup`."""
