"""What a command would change, and what it has changed."""
