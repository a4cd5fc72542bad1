"""What an edit broke: the changed file's syntax, and what a language server says of it."""
