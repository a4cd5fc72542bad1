"""Turns taken back with the files that they changed, and brought again."""
