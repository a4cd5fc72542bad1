"""A web browser as tools use it: the port, its settings, and how pages are told."""
