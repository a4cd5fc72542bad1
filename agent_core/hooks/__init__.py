"""Hooks: what the user's plugins and commands do at certain points of a session."""
