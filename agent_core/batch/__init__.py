"""Many prompts, each a session of its own, side by side, with what came of them in files."""
