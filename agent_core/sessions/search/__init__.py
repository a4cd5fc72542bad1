"""Finding what was said in any session, by words."""
