"""Programs that call tools: what they are given, and the port to who runs them."""
