"""Editors' own settings: where they are, and how the agent is entered in them."""
