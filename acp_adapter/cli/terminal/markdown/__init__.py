"""Markdown as it comes, piece after piece, as lines for a terminal; nothing that was written is ever drawn again."""
