"""Secrets in text: found by their shape, by the name before them, or because they are our own; and taken out."""
