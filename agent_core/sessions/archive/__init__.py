"""Stored sessions as a whole: found, listed, copied, deleted."""
