"""Programs that call tools: their start, and the calls that they make."""
