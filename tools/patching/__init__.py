"""Changing text by replacements and by patches in the V4A format: where a change belongs, and what becomes of it."""
