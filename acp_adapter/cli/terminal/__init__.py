"""How things are drawn for a terminal."""
