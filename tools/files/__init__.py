"""What the file tools stand on: reading, what the model has seen, and the question of a search."""
