"""Language servers of a session: asked what an edit broke."""
