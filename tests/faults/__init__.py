"""Faults of the world around the agent: what its user sees then, and what is still true afterwards."""
