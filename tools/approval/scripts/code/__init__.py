"""Scripts of languages that have no parser here: told apart into names, texts and marks, and judged by tables."""
