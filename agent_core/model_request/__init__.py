"""Model request."""
