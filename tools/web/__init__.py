"""The web: what may be asked of it, what comes back, and how a page becomes text for a model."""
