"""The sign for what only the shell can know."""

from __future__ import annotations

UNKNOWN = "\ufffc"
"""Stands in a text for each part that only the shell can know."""
