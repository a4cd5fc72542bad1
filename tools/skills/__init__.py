"""Skills as the tools see them: the port to whoever keeps them, and how one is changed."""
