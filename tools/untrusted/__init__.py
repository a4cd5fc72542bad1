"""Text that others wrote: what in it looks like an attack on the agent, and how the model is told that it is data."""
