"""Scripts of Python, read by its own parser."""
