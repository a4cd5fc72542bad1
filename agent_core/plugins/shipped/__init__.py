"""Plugins that come with this program: each is loaded only when `terminal.backend` names it."""
