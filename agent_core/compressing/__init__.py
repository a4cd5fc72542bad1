"""Compressing a session's history: when it is done, what becomes of it, and who is told."""
