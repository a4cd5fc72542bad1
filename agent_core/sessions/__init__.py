"""Conversations and where they are kept."""
