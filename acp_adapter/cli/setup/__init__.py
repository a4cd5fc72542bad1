"""`hermes-acp setup`: the questions about provider, key and model, and the files that keep the answers."""
