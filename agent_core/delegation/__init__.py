"""Sub-agents: agents that work for another one, in its session, and report to it."""
