"""Plugins: code of the user's that adds tools, commands, hooks and more. See docs/plugins.md."""
