"""Reads shell text: a grammar finds the statements, and the rest is expanded as bash would."""

from __future__ import annotations

UNKNOWN = "\ufffc"
"""Stands in a text for each part that only the shell can know."""
