"""The tool calls of one answer: which run beside each other, how they run, and the calls that they make in turn."""
