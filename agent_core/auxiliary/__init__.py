"""Side tasks of the agent's own, answered by a model in time or not at all."""
